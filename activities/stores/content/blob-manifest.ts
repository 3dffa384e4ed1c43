/**
 * Cuts blobs into chunks and names a blob by the list of its chunks' hashes,
 * so that any part of it can be verified without reading the rest.
 */
import type { ContentHash } from '../../../workflows/core/message';
import { contentHash, isContentHash } from '../content-hash';

/** Bytes of every chunk except the last. Every blob's name depends on it: never change it (ADR 0018). */
export const chunkBytes = 256 * 1024;

/** Chunks that are written or read together: 4 MiB, so that the event loop is never blocked for long (ADR 0018). */
export const chunksPerBatch = 16;

/** A piece of a blob with its own hash; equal pieces are stored once. */
export interface Chunk {
  readonly hash: ContentHash;
  readonly bytes: Buffer;
}

/** What a blob consists of. */
export interface BlobManifest {
  readonly totalBytes: number;
  readonly chunkHashes: readonly ContentHash[];
}

/** The pieces of a blob, in order, without copying them. */
export function* cutBlob(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    yield bytes.subarray(start, start + chunkBytes);
  }
}

/** The text whose hash is the blob's name. */
export function manifestText(manifest: BlobManifest): string {
  return [`blob ${manifest.totalBytes}`, ...manifest.chunkHashes].join('\n');
}

/** The manifest in a text; undefined if the text does not hash to `hash` or is malformed. */
export function parseManifest(hash: ContentHash, text: string): BlobManifest | undefined {
  if (contentHash(text) !== hash) return undefined;
  const [first = '', ...chunkHashes] = text.split('\n');
  const totalBytes = Number(/^blob (\d{1,15})$/.exec(first)?.[1]);
  if (Math.ceil(totalBytes / chunkBytes) !== chunkHashes.length) return undefined;
  return chunkHashes.every(isContentHash) ? { totalBytes, chunkHashes } : undefined;
}
