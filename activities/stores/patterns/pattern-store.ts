/** The part of a store that learning uses. */
import type { Observation, Pattern } from './pattern-shape';

/** Which patterns are asked for; an absent field means any. */
export interface PatternFilter {
  readonly tenant?: string;
  readonly tool?: string;
  readonly errorFingerprint?: string;
}

/**
 * Keeps what runs learn.
 *
 * Contract: everything is scoped by tenant and bounded per tenant, the oldest goes first; text is sanitized on its way in;
 * a record that was damaged counts as none. Writes are atomic and harmless when repeated.
 * Errors: `store_unavailable`.
 */
export interface PatternStore {
  /** Records observations whose keys are new. */
  recordObservations(observations: readonly Observation[]): Promise<void>;
  /** A tenant's observations, newest first. */
  observations(tenant: string): Promise<readonly Observation[]>;
  /** Tenants that have observations. */
  tenants(): Promise<readonly string[]>;
  /** Patterns that fit, oldest first. */
  patterns(filter?: PatternFilter): Promise<readonly Pattern[]>;
  pattern(id: string): Promise<Pattern | undefined>;
  /**
   * Replaces a pattern by the result of `change`, exclusively; undefined leaves it unchanged. `change` may run
   * twice, its last answer counts. Returns the pattern after it.
   */
  updatePattern(
    id: string,
    change: (known: Pattern | undefined) => Pattern | undefined,
  ): Promise<Pattern | undefined>;
}
