/** The rows of a store as a sweep sees them: what differs between SQLite and Postgres, and nothing else. */
import type { ContentHash } from '../../../workflows/core/message';

/** One row of a table of content. */
export interface AgedRow {
  readonly hash: ContentHash;
  /** When it was last written, or written again by somebody who found it there; milliseconds since the epoch. */
  readonly touchedMs: number;
  readonly bytes: number;
}

/** A transcript node without its messages. */
export interface AgedNode extends AgedRow {
  readonly parent: ContentHash | undefined;
}

/** A row with the text that may name other rows: a blob's manifest, a tool's intent and outcome. */
export interface AgedText extends AgedRow {
  readonly text: string;
}

/** Tables whose rows no other row needs to be complete but by name. */
export type SweptTable = 'blobs' | 'chunks' | 'tool_executions';

/**
 * One database under a sweep.
 *
 * Contract: a delete looks at the age again in its own transaction: a row that was touched meanwhile stays. Pages are in
 * order of the hash; `after` is the last hash of the page before.
 * Errors: `store_unavailable`.
 */
export interface GarbageRows {
  /** Gives an age to rows that a release without ages wrote. */
  adopt(nowMs: number): Promise<void>;
  nodes(after: string, limit: number): Promise<readonly AgedNode[]>;
  messages(hashes: readonly ContentHash[]): Promise<readonly string[]>;
  blobs(after: string, limit: number): Promise<readonly AgedText[]>;
  chunks(after: string, limit: number): Promise<readonly AgedRow[]>;
  tools(after: string, limit: number): Promise<readonly AgedText[]>;
  /**
   * Deletes nodes that were last touched before `beforeMs` and that no node which stays has as its parent. Returns those
   * deleted. Contract: children come before their parents.
   */
  deleteNodes(hashes: readonly ContentHash[], beforeMs: number): Promise<readonly ContentHash[]>;
  /** Deletes rows that were last touched before `beforeMs`; returns those deleted. */
  deleteRows(
    table: SweptTable,
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]>;
}
