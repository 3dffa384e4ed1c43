/** The rows that a database keeps for the store: what differs between SQLite and Postgres, and nothing else. */
import type { ContentHash, Head } from '../../../workflows/core/message';
import type { Chunk } from '../content/blob-manifest';

/** A transcript node as it is kept. */
export interface NodeRow {
  readonly hash: Head;
  readonly parent: Head | undefined;
  /** Canonical JSON. */
  readonly messages: string;
}

/** A tool execution as it is kept. Sums find a changed byte. */
export interface ToolRow {
  /** Canonical JSON of the intent. */
  readonly intent: string;
  readonly intentSum: ContentHash;
  /** Undefined until it is finished. */
  readonly outcome: string | undefined;
  readonly outcomeSum: string | undefined;
}

/** A route's health as it is kept. The sum finds a changed byte. */
export interface HealthRow {
  /** Canonical JSON. */
  readonly record: string;
  readonly recordSum: ContentHash;
}

/** What an update makes of a row; undefined leaves it as it is. */
export interface HealthUpdate {
  readonly row: HealthRow | undefined;
}

/** What became of an attempt to add a node. */
export type NodeInsertion =
  | { readonly type: 'inserted' }
  | { readonly type: 'present'; readonly row: NodeRow }
  | { readonly type: 'parent-missing' };

/**
 * One database.
 *
 * Contract: every write is one transaction, durable when it resolves, and harmless when repeated;
 * a write that finds its row present leaves it as it is, but for its age. Of both, `updateHealth` is the exception.
 * Errors: `store_unavailable`; `store_corrupt` where the database itself finds its file damaged.
 */
export interface RowEngine {
  readonly id: string;
  readonly label: string;
  insertNode(row: NodeRow): Promise<NodeInsertion>;
  /** The rows from `head` to the first node, in any order; ends at a missing parent. */
  selectChain(head: Head): Promise<readonly NodeRow[]>;
  /** Adds chunks, and with the last of them the manifest that makes the blob visible. */
  insertBlobRows(chunks: readonly Chunk[], blob?: BlobRow): Promise<void>;
  /** Makes a blob that is there as young as one that is written now; false if it is not there. */
  touchBlob(hash: ContentHash): Promise<boolean>;
  selectManifest(hash: ContentHash): Promise<string | undefined>;
  selectChunks(hashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, Buffer>>;
  /** Undefined if the row was added by this call, else the row that was there. */
  insertTool(keyHash: ContentHash, row: ToolRow): Promise<ToolRow | undefined>;
  /** Sets the outcome unless there is one; false if there is no such row. */
  finishTool(keyHash: ContentHash, outcome: string, outcomeSum: ContentHash): Promise<boolean>;
  selectTool(keyHash: ContentHash): Promise<ToolRow | undefined>;
  selectHealth(routeHashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, HealthRow>>;
  /** Replaces a row by what `update` makes of it, while nobody else can; `update` may run twice, its last answer counts. */
  updateHealth<T extends HealthUpdate>(
    routeHash: ContentHash,
    update: (known: HealthRow | undefined) => T,
  ): Promise<T>;
  /** Writes a row, to see whether writing works. */
  touch(): Promise<void>;
  close(): Promise<void>;
}

/** A blob as it is kept. */
export interface BlobRow {
  readonly hash: ContentHash;
  readonly manifest: string;
}
