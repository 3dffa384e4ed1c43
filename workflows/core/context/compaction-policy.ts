/** Which tier of compaction comes when, and what follows if none helps: one pure decision, described in docs/context.md. */
import type { CompactionConfig } from './compaction-thresholds';
import type { CompactionTier, ContextBounds, ContextMeasure, DoneCompaction } from './measure';
import { fitsBounds } from './measure';

/** All that the decision depends on. */
export interface CompactionFacts {
  readonly measure: ContextMeasure;
  readonly bounds: ContextBounds;
  /** The same with the least reserve for the reply. */
  readonly leastBounds: ContextBounds;
  readonly config: CompactionConfig;
  /** Compactions since the last reply of the model, oldest first. */
  readonly done: readonly DoneCompaction[];
  /** Some route may be asked for a summary. */
  readonly canSummarize: boolean;
  /** The vendor refused the request: it must become smaller, regardless of the measure. */
  readonly refused: boolean;
  /** A route of the chain that takes the request unchanged. */
  readonly largerRoute?: number;
}

/** What is done about a request. */
export type CompactionDecision =
  /** Tier 0: it fits. */
  | { readonly type: 'send' }
  | { readonly type: 'compact'; readonly tier: CompactionTier; readonly trimTail: boolean }
  /** It fits where less is kept free for the reply. */
  | { readonly type: 'lower-reserve' }
  | { readonly type: 'use-larger-window'; readonly routeIndex: number }
  /** Nothing makes it fit. */
  | { readonly type: 'stop' };

/** Share of the limit below which the oldest half's summary leaves enough room to continue (ADR 0024). */
const roomyShare = 0.8;

/** Tokens that a summary will hold at most, as a share of the limit (ADR 0024). */
export const summaryShare = 0.15;

/** Share of the tokens that a compaction took away. */
function shrunkShare(done: DoneCompaction): number {
  return done.tokensBefore > 0 ? 1 - done.tokensAfter / done.tokensBefore : 0;
}

/**
 * Decides what is done about the next request.
 *
 * Contract: pure and total; after at most `maxCompactions` compactions it says something else. The mildest tier that can help
 * comes first: 1 where stripping frees the set share, then 3 where the oldest half's summary leaves room, else 2; 4 where no
 * route can summarize. The last compaction of all is kept for shortening the tail's tool results.
 * Source: R-CTX-6, R-CTX-7; case compaction-01; ADR 0024.
 */
export function decideCompaction(facts: CompactionFacts): CompactionDecision {
  const { measure, bounds, done, config, refused, largerRoute } = facts;
  const last = done.at(-1);
  const fits = fitsBounds(measure, bounds) && !refused;
  const shrankTooLittle = last !== undefined && shrunkShare(last) < config.minShrinkShare;
  if (fits && !shrankTooLittle) return { type: 'send' };
  const tier = done.length < config.maxCompactions - 1 ? decideTier(facts) : undefined;
  if (tier !== undefined) return { type: 'compact', tier, trimTail: false };
  if (fits) return { type: 'send' };
  const isLowered = facts.leastBounds.reserveTokens >= bounds.reserveTokens;
  if (!isLowered && fitsBounds(measure, facts.leastBounds)) return { type: 'lower-reserve' };
  if (mayTrimTail(facts)) return { type: 'compact', tier: 1, trimTail: true };
  if (largerRoute !== undefined) return { type: 'use-larger-window', routeIndex: largerRoute };
  return { type: 'stop' };
}

/**
 * The mildest tier that was not tried since the last reply and can free the set share; undefined where none is left.
 *
 * Contract: pure and total; no summary of fewer than `minMessages` messages.
 */
export function decideTier(facts: CompactionFacts): CompactionTier | undefined {
  const { measure, config, done } = facts;
  const stripsEnough = measure.strippableTokens >= config.minShrinkShare * measure.tokens;
  const lightens = measure.strippableTokens > 0 || measure.images > 0;
  if (done.length === 0 && (stripsEnough || (lightens && isOverBytes(facts)))) return 1;
  return done.some(({ tier }) => tier === 2 || tier === 4) ? undefined : decideSummary(facts);
}

/** Bytes and images have a limit of their own: what frees few tokens may free them. */
function isOverBytes({ measure, bounds }: CompactionFacts): boolean {
  return measure.over !== undefined || measure.bytes > (bounds.maxBytes ?? Infinity);
}

function decideSummary(facts: CompactionFacts): CompactionTier | undefined {
  const { measure, bounds, config, done, canSummarize } = facts;
  const isWorth = (tokens: number): boolean => tokens >= config.minShrinkShare * measure.tokens;
  const oldTokens = measure.tokens - measure.fixedTokens - measure.tailTokens;
  if (measure.messages < config.minMessages || oldTokens <= 0) return undefined;
  const summaryTokens = Math.min(summaryShare * bounds.compactTokens, oldTokens / 2);
  if (!isWorth(oldTokens - summaryTokens) && !isOverBytes(facts)) return undefined;
  if (!canSummarize) return 4;
  const afterHalf = measure.tokens - oldTokens / 2 + summaryTokens;
  const isRoomy = afterHalf <= roomyShare * bounds.compactTokens && isWorth(oldTokens / 4);
  return isRoomy && !done.some(({ tier }) => tier === 3) ? 3 : 2;
}

function mayTrimTail({ measure, bounds, config, done }: CompactionFacts): boolean {
  if (done.length >= config.maxCompactions || done.some((each) => each.trimmedTail)) return false;
  return measure.tailTokens > 0 && measure.fixedTokens < bounds.windowTokens;
}
