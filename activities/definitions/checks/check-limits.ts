/** The range of each limit and of each threshold of compaction. */
import { z } from 'zod';
import type { CompactionConfig } from '../../../workflows/core/context/compaction-thresholds';
import { defaultCompaction } from '../../../workflows/core/context/compaction-thresholds';
import type { FailoverReason, Limits } from '../../../workflows/core/limits';
import { defaultLimits } from '../../../workflows/core/limits';
import { checkOptions } from '../../lifecycle/check-options';

/** Longest time limit in milliseconds: 365 days. */
const maxMs = 365 * 86_400_000;
const duration = z.number().int().min(1).max(maxMs);

/** Longest delay of a Node timer in milliseconds, 24.8 days; a longer one fires at once. */
const maxTimerMs = 2_147_483_647;
/** A time limit that a timer enforces, in milliseconds. */
export const timer = z.number().int().min(1).max(maxTimerMs);
const rest = z.number().int().min(0).max(maxMs);
const count = z.number().int().min(1).max(10_000_000);

/** Every reason has a cooldown. */
const reasons = Object.keys(defaultLimits.cooldownMs) as FailoverReason[];

const limitsSchema = z.strictObject({
  maxIterations: count,
  maxEvents: count,
  maxToolCalls: z.number().int().min(0).max(10_000_000),
  maxSameCalls: z.number().int().min(2).max(16),
  maxEditsPerFile: count,
  maxActiveMs: duration,
  maxSubagentDepth: z.number().int().min(0).max(10),
  maxLostWorkers: z.number().int().min(1).max(100),
  streamRetries: z.number().int().min(0).max(20),
  streamRetryBaseMs: duration,
  firstByteMs: timer,
  betweenBytesMs: timer,
  thinkingMs: timer,
  modelCallTimeoutMs: timer,
  heartbeatTimeoutMs: timer.min(1_000),
  maxProviderWaitMs: rest,
  probeLeadMs: rest,
  probeLeaseMs: duration,
  recoveryPlanTimeoutMs: timer,
  cooldownMs: z.record(z.enum(reasons), rest),
});

/**
 * Returns the limits if every one is in range.
 *
 * Errors: `UserError` that names who set it, the limit, the value and the allowed range.
 */
export function checkLimits(where: string, limits: Limits): Limits {
  const remedy = `Known limits: ${Object.keys(defaultLimits).join(', ')}.`;
  return checkOptions(where, 'limits', limitsSchema, limits, remedy);
}

const compactionSchema = z
  .strictObject({
    warnShare: z.number().min(0.1).max(1),
    compactShare: z.number().min(0.2).max(1),
    keptTail: z.number().int().min(1).max(1_000),
    minMessages: z.number().int().min(2).max(10_000),
    stripChars: z.number().int().min(1).max(1_000_000),
    minShrinkShare: z.number().min(0.01).max(0.9),
    maxCompactions: z.number().int().min(1).max(20),
  })
  .check(({ value, issues }) => {
    const { warnShare, compactShare } = value;
    if (warnShare > compactShare)
      issues.push({
        code: 'custom',
        input: value,
        path: ['warnShare'],
        message: `${warnShare} is above compaction.compactShare (${compactShare})`,
      });
  });

/**
 * Returns the thresholds of compaction if every one is in range, and the warning comes before the compaction.
 *
 * Errors: as `checkLimits`.
 */
export function checkCompaction(where: string, compaction: CompactionConfig): CompactionConfig {
  const remedy = `Known thresholds: ${Object.keys(defaultCompaction).join(', ')}.`;
  return checkOptions(where, 'compaction', compactionSchema, compaction, remedy);
}
