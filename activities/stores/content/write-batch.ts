/** Writes that become durable together. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ContentHash, Head, Message } from '../../../workflows/core/message';
import { canonicalJson, contentHash, isContentHash, maxJsonDepth, nodeHash } from '../content-hash';
import type { BlobRow, ContentRows, NodeRow, ToolRow } from '../sql/content-rows';
import type { StoreBatch } from '../store';
import { payloadTooDeep, payloadTooLarge, storeCorrupt } from '../store-errors';
import { maxOutcomeBytes, type StoreLimits } from '../store-limits';
import { chunkBytes, chunksPerBatch, cutBlob, manifestText, type Chunk } from './blob-manifest';
import type { RecentBlobs } from './recent-blobs';
import { outcomeSum } from './tool-records';
import type { Transcripts } from './transcripts';

/** What a batch needs of its store. */
export interface BatchPlace {
  readonly label: string;
  readonly rows: ContentRows;
  readonly limits: StoreLimits;
  readonly transcripts: Transcripts;
  readonly recent: RecentBlobs;
  /** The outcome in a row. Errors: `store_corrupt` if it was changed, or holds none. */
  readonly outcomeIn: (key: string, row: ToolRow | undefined) => string;
}

/**
 * A `StoreBatch`. Nodes, blobs of one chunk and an outcome wait for the end; a larger blob is written at once, so that a batch
 * holds little.
 */
export class WriteBatch implements StoreBatch {
  readonly #place: BatchPlace;
  readonly #nodes: NodeRow[] = [];
  readonly #chunks: Chunk[] = [];
  readonly #blobs: (BlobRow & { readonly bytes: Buffer })[] = [];

  constructor(place: BatchPlace) {
    this.#place = place;
  }

  appendNode(parent: Head | undefined, messages: readonly Message[]): Promise<Head> {
    return settled(() => {
      const { label, limits } = this.#place;
      const json = messagesJson(messages, limits.maxNodeBytes);
      if (parent !== undefined && !isContentHash(parent))
        throw storeCorrupt(label, `"${parent.slice(0, 60)}" names no content`);
      const hash = nodeHash(parent, json);
      this.#nodes.push({ hash, parent, messages: json });
      return hash;
    });
  }

  async loadTranscript(head: Head): Promise<readonly Message[]> {
    const row = this.#nodes.find(({ hash }) => hash === head);
    if (row === undefined) return this.#place.transcripts.load(head);
    const before = row.parent === undefined ? [] : await this.loadTranscript(row.parent);
    return [...before, ...this.#place.transcripts.verified(row, head)];
  }

  async putBlob(content: Buffer | string): Promise<ContentHash> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const { rows, limits } = this.#place;
    if (bytes.length > limits.maxBlobBytes)
      throw payloadTooLarge('A blob', bytes.length, limits.maxBlobBytes);
    const chunks = await hashChunks(bytes);
    const chunkHashes = chunks.map((chunk) => chunk.hash);
    const manifest = manifestText({ totalBytes: bytes.length, chunkHashes });
    const hash = contentHash(manifest);
    if (bytes.length <= chunkBytes) {
      this.#chunks.push(...chunks);
      this.#blobs.push({ hash, manifest, bytes });
      return hash;
    }
    if (await rows.touchBlob(hash)) return hash;
    let last = 0;
    for (; last + chunksPerBatch < chunks.length; last += chunksPerBatch) {
      await rows.write({ chunks: chunks.slice(last, last + chunksPerBatch) });
      await nextTurn();
    }
    await rows.write({ chunks: chunks.slice(last), blobs: [{ hash, manifest }] });
    return hash;
  }

  async commit(): Promise<void> {
    await this.#write();
  }

  async finishTool(key: string, outcome: string): Promise<string> {
    const json = storableJson(outcome);
    const bytes = Buffer.byteLength(json);
    if (bytes > maxOutcomeBytes) throw payloadTooLarge('A tool outcome', bytes, maxOutcomeBytes);
    const keyHash = contentHash(key);
    const outcomeOf = { keyHash, outcome: json, outcomeSum: outcomeSum(key, json) };
    if (await this.#write(outcomeOf)) return json;
    const { rows, outcomeIn } = this.#place;
    return outcomeIn(key, await rows.selectTool(keyHash));
  }

  /** Whether the outcome is this one now. */
  async #write(
    outcome?: NonNullable<Parameters<ContentRows['write']>[0]['outcome']>,
  ): Promise<boolean> {
    const { label, rows, transcripts, recent } = this.#place;
    const nodes = this.#nodes.splice(0).map((node) => ({
      ...node,
      hasFreshParent: node.parent !== undefined && transcripts.isFresh(node.parent),
    }));
    const writtenAtMs = performance.now();
    const [chunks, blobs] = [this.#chunks.splice(0), this.#blobs.splice(0)];
    if (outcome === undefined && nodes.length + blobs.length === 0) return false;
    const written = await rows.write({ nodes, chunks, blobs, ...(outcome && { outcome }) });
    for (const { hash, bytes } of blobs) recent.add(hash, bytes);
    written.nodes.forEach((insertion, at) => {
      const node = nodes[at];
      if (node === undefined) return;
      if (insertion.type === 'present') transcripts.verified(insertion.row, node.hash);
      if (insertion.type === 'parent-missing')
        throw storeCorrupt(label, `transcript node ${String(node.parent)} is missing`);
      transcripts.stored(node, insertion.type === 'written' ? writtenAtMs : undefined);
    });
    return written.isFinished;
  }
}

/** The value of a function that may throw, as a promise. */
function settled<Value>(make: () => Value): Promise<Value> {
  return new Promise((resolve) => {
    resolve(make());
  });
}

function messagesJson(messages: readonly Message[], maxBytes: number): string {
  try {
    const json = canonicalJson(messages);
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) throw payloadTooLarge('A transcript node', bytes, maxBytes);
    return json;
  } catch (error) {
    if (error instanceof RangeError) throw payloadTooDeep('A transcript node', maxJsonDepth);
    throw error;
  }
}

async function hashChunks(bytes: Buffer): Promise<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  for (const piece of cutBlob(bytes)) {
    chunks.push({ hash: contentHash(piece), bytes: piece });
    if (chunks.length % chunksPerBatch === 0) await nextTurn();
  }
  return chunks;
}

/** Equal JSON, in which characters that a database's text column cannot store are escaped. */
function storableJson(json: string): string {
  return json
    .replaceAll('\0', '\\u0000')
    .replace(/[\uD800-\uDFFF]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}
