/** The range of each limit and of each threshold of compaction. */
import { z } from 'zod';
import type { CompactionConfig } from '../../../workflows/core/context/compaction-thresholds';
import { defaultCompaction } from '../../../workflows/core/context/compaction-thresholds';
import type { Limits } from '../../../workflows/core/limits';
import { cooldownRange, defaultLimits, limitRanges } from '../../../workflows/core/limits';
import { checkOptions } from '../../lifecycle/check-options';

const within = ([least, most]: readonly [number, number]): z.ZodType<number> =>
  z.number().int().min(least).max(most);

/** A time limit that a timer enforces, in milliseconds. */
export const timer = within(limitRanges.thinkingMs);

const limitsSchema = z.strictObject({
  ...Object.fromEntries(Object.entries(limitRanges).map(([name, range]) => [name, within(range)])),
  // Every reason has a cooldown.
  cooldownMs: z.record(z.enum(Object.keys(defaultLimits.cooldownMs)), within(cooldownRange)),
});

/**
 * Returns the limits if every one is in range.
 *
 * Errors: `UserError` that names who set it, the limit, the value and the allowed range.
 */
export function checkLimits(where: string, limits: Limits): Limits {
  const remedy = `Known limits: ${Object.keys(defaultLimits).join(', ')}.`;
  checkOptions(where, 'limits', limitsSchema, limits, remedy);
  return limits;
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
