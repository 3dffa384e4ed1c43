/** Keeps transcript nodes in memory. A node's name depends on its content, so an entry is never stale. */
import type { Head, Message } from '../../../workflows/core/message';

/** One verified node. */
export interface TranscriptNode {
  readonly hash: Head;
  readonly parent: Head | undefined;
  readonly messages: readonly Message[];
  /** Bytes of its JSON. */
  readonly bytes: number;
}

/** Evicts the least recently used nodes first; forks share their common nodes. */
export class TranscriptCache {
  /** In order of use, oldest first. */
  readonly #nodes = new Map<Head, TranscriptNode>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The nodes from `head` towards the first, newest first, up to the first that is missing. */
  newestFirst(head: Head): readonly TranscriptNode[] {
    const found: TranscriptNode[] = [];
    for (let at: Head | undefined = head; at !== undefined;) {
      const node = this.#nodes.get(at);
      if (node === undefined) break;
      found.push(node);
      at = node.parent;
    }
    return found;
  }

  /**
   * Marks nodes as used, adding those that are new.
   *
   * Contract: oldest node of the chain first, so that a chain that does not fit loses its beginning, and `newestFirst` still
   * finds its end.
   */
  use(nodes: Iterable<TranscriptNode>): void {
    for (const node of nodes) {
      if (this.#nodes.delete(node.hash)) this.#bytes -= node.bytes;
      this.#nodes.set(node.hash, node);
      this.#bytes += node.bytes;
      this.#evict();
    }
  }

  #evict(): void {
    for (const [hash, node] of this.#nodes) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#nodes.delete(hash);
      this.#bytes -= node.bytes;
    }
  }
}
