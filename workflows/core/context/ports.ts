/** The activity `compact` as the core sees it. */
import type { ActivityTimes } from '../activity-times';
import type { Allowance, CallSpend } from '../budget/spend';
import type { InfraError } from '../failure';
import type { DefinitionReference, Head } from '../message';
import type { PendingResult, RuntimeResult } from '../tools/ports';
import type { CompactionTier, ContextBounds, ContextMeasure } from './measure';
import type { CountedContext, TokenFactors } from './token-factors';

/** Matters of a run that are open now. Every text is bounded. */
export interface OpenMatters {
  /** Head of the goal, word for word. */
  readonly goal: string;
  /** What waits for a person, in words. */
  readonly approvals: readonly string[];
  /** Errors that nothing has healed yet. */
  readonly errors: readonly string[];
}

/** Input of a compaction. */
export interface CompactInput extends DefinitionReference {
  readonly head: Head;
  readonly pendingResults?: readonly PendingResult[];
  readonly runtimeResults?: readonly RuntimeResult[];
  /** Place of the route that will be called: the request is measured as it would go there. */
  readonly routeIndex: number;
  readonly bounds: ContextBounds;
  readonly counted?: CountedContext;
  readonly tokenFactors?: TokenFactors;
  readonly tier: CompactionTier;
  /** Shortens the tool results and texts of the kept tail too, until the request fits. */
  readonly trimTail?: true;
  /** The request was measured or refused; otherwise a request that fits is left unchanged. */
  readonly isDue?: true;
  /** Who writes the summary: tiers 2 and 3. */
  readonly summary?: {
    readonly routeIndex: number;
    readonly windowTokens: number;
    readonly tokenFactors?: TokenFactors;
  };
  /** What every summary must hold: tiers 2 to 4. */
  readonly matters?: OpenMatters;
  /** What the summary may cost at most. */
  readonly allowance?: Allowance;
  /** Stable over attempts and workers. */
  readonly holder: string;
}

/** The result of a compaction. */
export interface CompactResult extends ActivityTimes {
  /** Transcript with pending results appended. */
  readonly headBefore: Head;
  /** The new transcript; equal to `headBefore` where nothing was changed. */
  readonly head: Head;
  readonly tier: CompactionTier;
  readonly trimmedTail?: true;
  /** The request fits: nothing was done. */
  readonly isNeedless?: true;
  readonly tokensBefore: number;
  readonly messagesBefore: number;
  /** The current request. */
  readonly measure: ContextMeasure;
  /** What the summary consumed; absent if no model was asked. */
  readonly spend?: CallSpend;
  /** No usable summary; nothing was changed. */
  readonly failure?: InfraError;
}
