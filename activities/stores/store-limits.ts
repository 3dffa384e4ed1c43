/** How much a store accepts, and how long it waits. */

/** The limits of `openStore`. */
export const defaultStoreLimits = {
  /** Bytes of one blob, 256 MiB (ADR 0018). */
  maxBlobBytes: 256 * 1024 * 1024,
  /** Bytes of one transcript node's JSON, 64 MiB: two images of 20 MB as base64 (ADR 0018). */
  maxNodeBytes: 64 * 1024 * 1024,
  /** Milliseconds to wait for a lock or a connection before `store_unavailable` (ADR 0018). */
  waitMs: 10_000,
  /** Milliseconds that one statement may take on Postgres (ADR 0018). */
  statementTimeoutMs: 30_000,
  /** Connections to Postgres per store (pg's own default). */
  maxConnections: 10,
};

/** Limits of one open store. */
export type StoreLimits = Readonly<typeof defaultStoreLimits>;

/** Bytes of a tool's outcome. */
export const maxOutcomeBytes = 64 * 1024;
