/** The Temporal Schedule that extracts patterns from observations. */
import type { Client, ScheduleOptionsStartWorkflowAction } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { extractPatternsWorkflow, patternScheduleId } from '../workflows/contract';
import { defined } from '../workflows/core/json';
import { asClientError } from './temporal-failure';

/** What the schedule is to be. */
interface PatternScheduleOptions {
  /** Task queue of workers that have the store with the observations. */
  readonly taskQueue: string;
  /** Milliseconds between two extractions. Default: what a present schedule has, else an hour (ADR 0027). */
  readonly everyMs?: number;
  /** Of the server, named in errors. */
  readonly address: string;
}

/** What was made of the schedule. */
interface PatternSchedule {
  readonly scheduleId: string;
  readonly taskQueue: string;
  /** Milliseconds between two extractions; absent if a person gave the schedule times of another kind. */
  readonly everyMs?: number;
  readonly paused: boolean;
  readonly created: boolean;
}

type Action = ScheduleOptionsStartWorkflowAction<() => Promise<unknown>>;

/** Milliseconds between two extractions: an hour (ADR 0027). */
const defaultEveryMs = 3_600_000;

/**
 * Creates the schedule; of an existing one only the interval changes, if one is given.
 *
 * Contract: idempotent; one schedule per task queue. A paused one stays paused.
 * Errors: `unreachable` also where the caller may not create schedules; what else Temporal says.
 */
export async function schedulePatterns(
  { schedule, options: { namespace } }: Pick<Client, 'schedule' | 'options'>,
  { taskQueue, everyMs, address }: PatternScheduleOptions,
): Promise<PatternSchedule> {
  const scheduleId = patternScheduleId(taskQueue);
  const action = extractionOn(taskQueue);
  try {
    const created = await schedule
      .create({
        scheduleId,
        spec: { intervals: [{ every: everyMs ?? defaultEveryMs }] },
        action,
        // Missed extractions need no catch-up: each one reads all observations.
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
      })
      .then(() => true, isThere);
    const handle = schedule.getHandle(scheduleId);
    if (!created && everyMs !== undefined)
      await handle.update(({ policies, state }) => ({
        spec: { intervals: [{ every: everyMs }] },
        action,
        policies,
        state,
      }));
    const { spec, state } = await handle.describe();
    const every = spec.intervals?.[0]?.every;
    return { scheduleId, taskQueue, ...defined({ everyMs: every }), paused: state.paused, created };
  } catch (thrown) {
    throw asClientError(thrown, { address, namespace });
  }
}

/** False for the refusal of a schedule that exists. */
function isThere(thrown: unknown): false {
  if (thrown instanceof ScheduleAlreadyRunning) return false;
  throw thrown;
}

function extractionOn(taskQueue: string): Action {
  return {
    type: 'startWorkflow',
    workflowType: extractPatternsWorkflow,
    workflowId: patternScheduleId(taskQueue),
    taskQueue,
    args: [],
  };
}

/** `schedule of learned patterns: holdfast-extract-patterns-holdfast created, every 60 min`. */
export function scheduleText({ scheduleId, everyMs, created, paused }: PatternSchedule): string {
  const every = everyMs === undefined ? '' : `, every ${everyMs / 60_000} min`;
  return `schedule of learned patterns: ${scheduleId} ${created ? 'created' : 'is there'}${every}${paused ? ', paused' : ''}`;
}
