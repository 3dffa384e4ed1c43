/** Loads transcripts: reads, verifies and parses only the nodes that this process does not know yet. */
import type { Head, Message } from '../../../workflows/core/message';
import { nodeHash } from '../content-hash';
import { freshMs, type ContentRows, type NodeRow } from '../sql/content-rows';
import { storeCorrupt } from '../store-errors';
import { KnownNodes, type KnownNode } from './known-nodes';
import { parseMessages } from './message-shape';

/**
 * Rows of the first read of an unknown transcript. What another worker has added since the last load of this one is mostly fewer;
 * beyond them the rest is read at once.
 */
const rowsAtFirst = 16;

/** The transcripts of one database. */
export class Transcripts {
  readonly #known = new KnownNodes();
  readonly #rows: Pick<ContentRows, 'selectChain'>;
  readonly #label: string;

  /** `label` is the store's, for errors. */
  constructor(rows: Pick<ContentRows, 'selectChain'>, label: string) {
    this.#rows = rows;
    this.#label = label;
  }

  /** Takes note of a node that is in the database now; `writtenAtMs` is when this process began to add it, if it was this one. */
  stored(row: NodeRow, writtenAtMs?: number): void {
    // Read back from its text, so that this worker sees what any other one loads.
    const messages = this.#known.mayAdd(row) ? parseMessages(row.messages) : undefined;
    if (messages !== undefined) this.#known.add(row, messages, writtenAtMs);
  }

  /** Whether this process has written the node so recently that its row is still fresh after the longest wait for a lock. */
  isFresh(head: Head): boolean {
    const writtenAtMs = this.#known.get(head)?.writtenAtMs;
    return writtenAtMs !== undefined && performance.now() - writtenAtMs < freshMs / 2;
  }

  /**
   * All messages from the first node to `head`, oldest first; frozen, and the same objects at each load.
   *
   * Errors: `store_corrupt` if a node is missing or does not fit its name.
   */
  async load(head: Head): Promise<readonly Message[]> {
    const known = this.#known.get(head) ?? (await this.#learn(head));
    return this.#known.transcript(known);
  }

  async #learn(head: Head): Promise<KnownNode> {
    const rows = new Map<Head, NodeRow>();
    const newestFirst: { readonly row: NodeRow; readonly messages: readonly Message[] }[] = [];
    let most = rowsAtFirst;
    for (let at: Head | undefined = head; at !== undefined && !this.#known.has(at);) {
      if (!rows.has(at)) {
        for (const row of await this.#rows.selectChain(at, most)) rows.set(row.hash, row);
        most = Number.MAX_SAFE_INTEGER;
      }
      const row = rows.get(at);
      if (row === undefined) throw this.#missing(at);
      newestFirst.push({ row, messages: this.verified(row, at) });
      at = row.parent;
    }
    let learned = this.#known.get(head);
    for (const { row, messages } of newestFirst.reverse()) learned = this.#known.add(row, messages);
    if (learned === undefined) throw this.#missing(head);
    return learned;
  }

  #missing(hash: Head): Error {
    return storeCorrupt(this.#label, `transcript node ${hash} is missing`);
  }

  /**
   * The messages of a row.
   *
   * Errors: `store_corrupt` if the row is not the one that `expected` names, or holds no messages.
   */
  verified(row: NodeRow, expected: Head): readonly Message[] {
    const { hash, parent, messages: json } = row;
    if (hash !== expected || nodeHash(parent, json) !== hash)
      throw storeCorrupt(this.#label, `the content of transcript node ${expected} was changed`);
    const messages = parseMessages(json);
    if (messages !== undefined) return messages;
    const reason = `transcript node ${hash} holds no messages that this version knows`;
    throw storeCorrupt(this.#label, reason);
  }
}
