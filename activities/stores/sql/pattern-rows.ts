/** The rows that a database keeps for learning: what differs between SQLite and Postgres, and nothing else. */
import type { ContentHash } from '../../../workflows/core/message';

/** A record as it is kept. The sum finds a changed byte. */
export interface RecordRow {
  /** Canonical JSON. */
  readonly record: string;
  readonly recordSum: ContentHash;
}

/** An observation as it is kept. */
export interface ObservationRow extends RecordRow {
  readonly keyHash: ContentHash;
  readonly tenant: string;
  readonly atMs: number;
}

/** A pattern as it is kept. */
export interface PatternRow extends RecordRow {
  readonly id: string;
  readonly tenant: string;
  /** Hash of tool and kind of error. */
  readonly cluster: ContentHash;
}

/** What a change makes of a pattern's row; undefined leaves it as it is. */
export interface PatternChange {
  readonly row: PatternRow | undefined;
}

/**
 * The tables of learning in one database.
 *
 * Contract: as `RowEngine`.
 */
export interface PatternRows {
  /** Adds rows whose keys are new, then removes the oldest of each of their tenants beyond `keep`. */
  insertObservations(rows: readonly ObservationRow[], keep: number): Promise<void>;
  /** Newest first. */
  selectObservations(tenant: string): Promise<readonly RecordRow[]>;
  selectTenants(): Promise<readonly string[]>;
  /** Ordered by id. */
  selectPatterns(tenant?: string, cluster?: ContentHash): Promise<readonly RecordRow[]>;
  selectPattern(id: string): Promise<RecordRow | undefined>;
  /** Replaces a row by what `update` makes of it, while nobody else can; `update` may run twice, its last answer counts. */
  updatePattern<T extends PatternChange>(
    id: string,
    update: (known: RecordRow | undefined) => T,
  ): Promise<T>;
  selectKnowledge(digest: string): Promise<RecordRow | undefined>;
  insertKnowledge(digest: string, row: RecordRow): Promise<void>;
}
