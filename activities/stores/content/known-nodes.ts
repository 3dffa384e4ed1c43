/** The transcript nodes that this process has verified already, so that a load costs what is new since the last one. */
import type { Head, Message } from '../../../workflows/core/message';
import type { NodeRow } from '../sql/content-rows';

/** A verified node, with the nodes before it. */
export interface KnownNode {
  readonly parent: KnownNode | undefined;
  /** Frozen, so that nobody who loads them changes what a later load gives. */
  readonly messages: readonly Message[];
  /** Bytes of the node's JSON text, nearly. */
  readonly bytes: number;
  /** When this process began to write it, by `performance.now()`; undefined if another one has. */
  readonly writtenAtMs: number | undefined;
  /** Number of the load that asked for it last; as a part of a longer transcript, it may have been needed later. */
  usedAt: number;
  /** The messages up to this node, oldest first, since it was loaded and until the next node of the conversation is. */
  transcript: readonly Message[] | undefined;
}

/** Bytes of JSON that are remembered by default: about 30 conversations of 2,000 messages with 1 KB results (ADR 0050). */
const usualMostBytes = 64 * 1024 * 1024;

/** Share of the bound that is left after it was reached. */
const keptShare = 0.75;

/** Makes everything within a JSON value unchangeable. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const field of Object.values(value)) frozen(field);
  return Object.freeze(value);
}

/**
 * Verified nodes by name, which forks of a conversation share.
 *
 * Contract: a node is known only together with all nodes before it, and is forgotten together with all behind it. What is known
 * stays right, as a name stands for one content; whether the database still has it, only the database says.
 */
export class KnownNodes {
  readonly #nodes = new Map<Head, KnownNode>();
  #bytes = 0;
  #loads = 0;

  constructor(private readonly mostBytes = usualMostBytes) {}

  get(head: Head): KnownNode | undefined {
    return this.#nodes.get(head);
  }

  has(head: Head): boolean {
    return this.#nodes.has(head);
  }

  /** Whether a node could be added: it is not known, and all nodes before it are. */
  mayAdd({ hash, parent }: NodeRow): boolean {
    return !this.has(hash) && (parent === undefined || this.has(parent));
  }

  /** Adds a verified node. Contract: `mayAdd`; `messages` are those of its text, and become frozen. */
  add(
    { hash, parent, messages: json }: NodeRow,
    messages: readonly Message[],
    writtenAtMs?: number,
  ): KnownNode {
    const before = parent === undefined ? undefined : this.#nodes.get(parent);
    const node: KnownNode = {
      parent: before,
      messages: frozen(messages),
      bytes: json.length,
      writtenAtMs,
      usedAt: this.#loads,
      transcript: undefined,
    };
    this.#nodes.set(hash, node);
    this.#bytes += node.bytes;
    return node;
  }

  /** The messages up to a node, oldest first. What was not needed for longest is forgotten above the bound. */
  transcript(head: KnownNode): readonly Message[] {
    this.#loads += 1;
    head.usedAt = this.#loads;
    if (this.#bytes > this.mostBytes) this.#forget();
    if (head.transcript !== undefined) return head.transcript;
    const newestFirst: (readonly Message[])[] = [];
    let at: KnownNode | undefined = head;
    for (; at !== undefined && at.transcript === undefined; at = at.parent)
      newestFirst.push(at.messages);
    head.transcript = Object.freeze((at?.transcript ?? []).concat(...newestFirst.reverse()));
    // One list for each conversation, not one for each of its nodes.
    if (at !== undefined) at.transcript = undefined;
    return head.transcript;
  }

  #forget(): void {
    // Newest first: a node is added after those before it.
    for (const { parent, usedAt } of [...this.#nodes.values()].reverse())
      if (parent !== undefined && parent.usedAt < usedAt) parent.usedAt = usedAt;
    const oldestFirst = [...this.#nodes.values()].sort((left, right) => left.usedAt - right.usedAt);
    let left = this.#bytes;
    let until = -1;
    for (const node of oldestFirst) {
      if (left <= this.mostBytes * keptShare && node.usedAt > until) break;
      left -= node.bytes;
      until = node.usedAt;
    }
    for (const [hash, node] of this.#nodes)
      if (node.usedAt <= until) {
        this.#nodes.delete(hash);
        this.#bytes -= node.bytes;
      }
  }
}
