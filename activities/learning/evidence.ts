/** Trust in a pattern: a lower confidence bound of successes and failures, weighed by age, and the status that follows. */
import type {
  Evidence,
  Pattern,
  PatternStatus,
  PatternUse,
} from '../stores/patterns/pattern-shape';

/** Standard score of a one-sided confidence of 90 % (ADR 0027). */
const z = 1.2816;

/** Milliseconds in which evidence loses half its weight: 30 days (ADR 0027). */
const halfLifeMs = 30 * 86_400_000;

/** Lower bound from which a pattern is used: three successes and no failure (ADR 0027). */
const activeBound = 0.6;

/** Lower bound below which an active pattern is out of use (R-LEARN-3). */
const restBound = 0.5;

/** Failures among the last `judgedUses` uses that demote a pattern, whatever its record (ADR 0027). */
const demotingFailures = 2;
const judgedUses = 3;

/** Uses remembered one by one. */
const keptUses = 5;

/** No evidence. */
export function noEvidence(atMs: number): Evidence {
  return { successes: 0, failures: 0, atMs };
}

/** Weight of something that happened `ageMs` ago. */
export function weightAt(ageMs: number): number {
  return 0.5 ** (Math.max(ageMs, 0) / halfLifeMs);
}

/** Evidence as it weighs at a later moment. */
function aged({ successes, failures, atMs }: Evidence, nowMs: number): Evidence {
  const weight = weightAt(nowMs - atMs);
  return { successes: successes * weight, failures: failures * weight, atMs: nowMs };
}

/**
 * Lower bound of the rate of success: Wilson's score interval, which stays honest for few trials.
 *
 * Source: E. B. Wilson, Probable Inference, 1927; ADR 0027.
 */
export function lowerBound({ successes, failures }: Omit<Evidence, 'atMs'>): number {
  const trials = successes + failures;
  if (trials <= 0) return 0;
  const rate = successes / trials;
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  return Math.max((rate + z ** 2 / (2 * trials) - spread) / (1 + z ** 2 / trials), 0);
}

/** Current confidence that a pattern helps, from 0 to 1. */
export function trustIn(pattern: Pick<Pattern, 'observed' | 'used'>, nowMs: number): number {
  const observed = aged(pattern.observed, nowMs);
  const used = aged(pattern.used, nowMs);
  return lowerBound({
    successes: observed.successes + used.successes,
    failures: observed.failures + used.failures,
  });
}

function failedLately(lastUses: readonly PatternUse[]): boolean {
  const failures = lastUses.slice(-judgedUses).filter(({ helped }) => !helped).length;
  return failures >= demotingFailures;
}

function nextStatus(pattern: Pattern, nowMs: number): PatternStatus {
  const { status, lastUses } = pattern;
  if (status === 'disabled' || status === 'demoted') return status;
  if (failedLately(lastUses)) return 'demoted';
  const trust = trustIn(pattern, nowMs);
  if (status === 'active') return trust < restBound ? 'candidate' : 'active';
  return trust >= activeBound ? 'active' : 'candidate';
}

/** The pattern with the status that its evidence gives it now. */
export function judged(pattern: Pattern, nowMs: number): Pattern {
  const status = nextStatus(pattern, nowMs);
  return status === pattern.status ? pattern : { ...pattern, status, statusAtMs: nowMs };
}

/** The pattern after a run used it; the same if that use is counted already. */
export function afterUse(pattern: Pattern, use: PatternUse, atMs: number): Pattern {
  if (pattern.lastUses.some(({ key }) => key === use.key)) return pattern;
  const { helped } = use;
  // Runs report their uses in any order.
  const nowMs = Math.max(atMs, pattern.used.atMs);
  const used = aged(pattern.used, nowMs);
  const counted: Pattern = {
    ...pattern,
    used: {
      ...used,
      successes: used.successes + (helped ? 1 : 0),
      failures: used.failures + (helped ? 0 : 1),
    },
    lastUses: [...pattern.lastUses, use].slice(-keptUses),
    lastUsedAtMs: nowMs,
  };
  return judged(counted, nowMs);
}

/** Gives a demoted pattern another chance; its earlier uses no longer count. */
export function rehabilitated(pattern: Pattern, nowMs: number): Pattern {
  const fresh: Pattern = {
    ...pattern,
    used: noEvidence(nowMs),
    lastUses: [],
    status: 'candidate',
    statusAtMs: nowMs,
  };
  return judged(fresh, nowMs);
}
