/** What a store must do: keep transcripts, blobs and tool outcomes outside of Temporal's history. */
import type { ContentHash, Head, Message } from '../workflows/core/message';

/** A tool execution that was begun: written before its effect, so that a crash leaves evidence. */
export interface ToolIntent {
  /** Idempotency key: stable over attempts, workers and segments. */
  readonly key: string;
  readonly tool: string;
  /** Digest of the exact input. */
  readonly inputDigest: ContentHash;
  readonly startedAtMs: number;
}

/** What is known of a tool execution. */
export type ToolRecord =
  | { readonly type: 'none' }
  | { readonly type: 'begun'; readonly intent: ToolIntent }
  | { readonly type: 'finished'; readonly intent: ToolIntent; readonly outcome: string };

/** Where a blob's bytes are cut when only a part is read. */
export interface BlobSlice {
  readonly bytes: Buffer;
  readonly totalBytes: number;
}

/**
 * Keeps what is too large for history.
 *
 * Contract: every write is idempotent (the same content or key twice is a no-op); nothing is ever changed in place;
 * content is checked against its hash on every load; a method resolves only after the write is durable.
 * Errors: throws `InfraException` with `store_unavailable` (down, locked too long), `store_corrupt` (hash mismatch,
 * missing node or blob: names the hash) or `payload_too_large`.
 */
export interface Store {
  /** Made when the store was first created, and kept in it: two workers share runs only if their ids are equal. */
  readonly id: string;
  /** For people: `sqlite:<file name>` or `postgres:<host>/<database>`, never a password. */
  readonly label: string;
  /** Appends one node; `parent` is undefined for the first. Returns `hash(parent, messages)`. */
  appendNode(parent: Head | undefined, messages: readonly Message[]): Promise<Head>;
  /** All messages from the first node to `head`, oldest first. */
  loadTranscript(head: Head): Promise<readonly Message[]>;
  putBlob(bytes: Buffer | string): Promise<ContentHash>;
  /** The whole blob. */
  getBlob(hash: ContentHash): Promise<Buffer>;
  /** `length` bytes from `offset`; shorter at the end. */
  readBlob(hash: ContentHash, offset: number, length: number): Promise<BlobSlice>;
  /** Records the intent unless the key is known; returns what was known before. */
  beginTool(intent: ToolIntent): Promise<ToolRecord>;
  /** Records the outcome (JSON text, at most 64 KB) of a begun execution; the first outcome stays. */
  finishTool(key: string, outcome: string): Promise<void>;
  getTool(key: string): Promise<ToolRecord>;
  /** Rejects with `store_unavailable` if the store cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}
