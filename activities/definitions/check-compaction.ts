/** Checks the thresholds of compaction that people give, before a run is spent on them. */
import { z } from 'zod';
import type { CompactionConfig } from '../../workflows/core/context/compaction-config';
import { defaultCompaction } from '../../workflows/core/context/compaction-config';
import { UserError } from '../lifecycle/user-error';

const compactionSchema = z.strictObject({
  warnShare: z.number().min(0.1).max(1),
  compactShare: z.number().min(0.2).max(1),
  keptTail: z.number().int().min(1).max(1_000),
  minMessages: z.number().int().min(2).max(10_000),
  stripChars: z.number().int().min(1).max(1_000_000),
  minShrinkShare: z.number().min(0.01).max(0.9),
  maxCompactions: z.number().int().min(1).max(20),
});

/**
 * Returns the thresholds if every one is in range, and the warning comes before the compaction.
 *
 * Errors: `UserError` that names who set it, the threshold, the value and the allowed range.
 */
export function checkCompaction(where: string, compaction: CompactionConfig): CompactionConfig {
  const parsed = compactionSchema.safeParse(compaction);
  const problems = parsed.success
    ? shareProblems(parsed.data)
    : parsed.error.issues.map((issue) => `compaction.${issue.path.join('.')}: ${issue.message}`);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new UserError(
    `${where}: ${problems.join('; ')}. Known thresholds: ${Object.keys(defaultCompaction).join(', ')}.`,
  );
}

function shareProblems({ warnShare, compactShare }: CompactionConfig): readonly string[] {
  return warnShare <= compactShare
    ? []
    : [`compaction.warnShare: ${warnShare} is above compaction.compactShare (${compactShare})`];
}
