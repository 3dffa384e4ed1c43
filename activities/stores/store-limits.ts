/** How much a store accepts and caches, and how long it waits. */

/** Limits of one open store. */
export interface StoreLimits {
  /** Bytes of one blob. Default 256 MiB (ADR 0018). */
  readonly maxBlobBytes: number;
  /** Bytes of one transcript node's JSON. Default 64 MiB: two images of 20 MB as base64 (ADR 0018). */
  readonly maxNodeBytes: number;
  /** Bytes of JSON of the transcript nodes kept in memory. Default 64 MiB (ADR 0018). */
  readonly cacheBytes: number;
  /** Milliseconds to wait for a lock or a connection before `store_unavailable`. Default 10,000 (ADR 0018). */
  readonly waitMs: number;
  /** Milliseconds that one statement may take on Postgres. Default 30,000 (ADR 0018). */
  readonly statementTimeoutMs: number;
  /** Connections to Postgres per store. Default 10 (pg's own). */
  readonly maxConnections: number;
}

/** The limits of `openStore`. */
export const defaultStoreLimits: StoreLimits = {
  maxBlobBytes: 256 * 1024 * 1024,
  maxNodeBytes: 64 * 1024 * 1024,
  cacheBytes: 64 * 1024 * 1024,
  waitMs: 10_000,
  statementTimeoutMs: 30_000,
  maxConnections: 10,
};

/** Bytes of a tool's outcome. */
export const maxOutcomeBytes = 64 * 1024;
