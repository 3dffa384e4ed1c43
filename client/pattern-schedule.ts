/** The Temporal Schedule that draws patterns from the corpus. */
import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { extractPatternsWorkflow, patternScheduleId } from '../workflows/contract';

/** What the schedule is to be. */
export interface PatternScheduleOptions {
  /** Queue of workers that have the corpus's store. */
  readonly taskQueue: string;
  /** Milliseconds between two extractions. Default an hour (ADR 0027). */
  readonly everyMs?: number;
}

/** What was made of the schedule. */
export interface PatternSchedule {
  readonly scheduleId: string;
  readonly everyMs: number;
  readonly created: boolean;
}

/** Milliseconds between two extractions: an hour (ADR 0027). */
const defaultEveryMs = 3_600_000;

/**
 * Creates the schedule, or gives the present one this interval.
 *
 * Contract: idempotent; one schedule per task queue. A paused one stays paused.
 */
export async function schedulePatterns(
  { schedule }: Pick<Client, 'schedule'>,
  { taskQueue, everyMs = defaultEveryMs }: PatternScheduleOptions,
): Promise<PatternSchedule> {
  const scheduleId = patternScheduleId(taskQueue);
  const spec = { intervals: [{ every: everyMs }] };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: extractPatternsWorkflow,
    workflowId: scheduleId,
    taskQueue,
    args: [],
  };
  try {
    await schedule.create({
      scheduleId,
      spec,
      action,
      // Missed ones are of no use: each extraction reads the whole corpus.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    });
    return { scheduleId, everyMs, created: true };
  } catch (thrown) {
    if (!(thrown instanceof ScheduleAlreadyRunning)) throw thrown;
  }
  await schedule.getHandle(scheduleId).update(({ policies, state }) => ({
    spec,
    action,
    policies,
    state,
  }));
  return { scheduleId, everyMs, created: false };
}
