/** Small blobs that this process has just written: the model call after a tool call reads its result here, not in the database. */
import type { ContentHash } from '../../../workflows/core/message';

/** Bytes of the largest blob that is kept: a result that the model reads, never a whole output (ADR 0066). */
const mostBytesEach = 64 * 1024;
/** Bytes that are kept in all: the results of some thousand calls of 1 KB (ADR 0066). */
const mostBytes = 8 * 1024 * 1024;

/**
 * Blobs by name; the oldest go first.
 *
 * Contract: what is here is in the database, or was until a sweep. As a name stands for one content, it stays right.
 */
export class RecentBlobs {
  readonly #blobs = new Map<ContentHash, Buffer>();
  #bytes = 0;

  /** A copy, which the caller may change. */
  get(hash: ContentHash): Buffer | undefined {
    const known = this.#blobs.get(hash);
    return known && Buffer.from(known);
  }

  /** Contract: the bytes have this name, are durable, and nobody changes them. */
  add(hash: ContentHash, bytes: Buffer): void {
    if (bytes.length > mostBytesEach || this.#blobs.has(hash)) return;
    this.#blobs.set(hash, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#blobs) {
      if (this.#bytes <= mostBytes) return;
      this.#blobs.delete(oldest);
      this.#bytes -= length;
    }
  }
}
