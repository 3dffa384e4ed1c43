/** Counts by the meter of Temporal's SDK: what workflows report, and the workers that calls lost. */
import type { MetricCounter, MetricMeter } from '@temporalio/common';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { CounterName } from './workflow/counters';
import { counters as meanings } from './workflow/counters';
import type { CountRecord } from './workflow/step-report';

/** Where a workflow runs. */
interface Place {
  readonly namespace: string;
  readonly taskQueue: string;
}

/**
 * Milliseconds after which what was counted goes to the meter. Each call of the meter crosses into the SDK's native part, and
 * most counts of a second have the same tags.
 */
const gatheringMs = 1_000;

/** Counts of workflows. */
export interface WorkflowCounts {
  add(place: Place, counts: readonly CountRecord[]): void;
  /** Gives the meter what was counted so far. */
  flush(): void;
}

/** Makes what counts what workflows report; `meter` is the runtime's, so each count gets the SDK's usual labels here. */
export function workflowCounts(meter: MetricMeter): WorkflowCounts {
  const counters = new Map<CounterName, MetricCounter>();
  const gathered = new Map<string, CountRecord>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { name, value, tags } of gathered.values()) {
      const counter = counters.get(name) ?? meter.createCounter(name, '', meanings[name]);
      counters.set(name, counter);
      counter.add(value, tags);
    }
    gathered.clear();
  }

  return {
    add: ({ namespace, taskQueue }, counts) => {
      for (const { name, value, tags } of counts) {
        const key = JSON.stringify([name, namespace, taskQueue, tags]);
        const known = gathered.get(key);
        gathered.set(key, {
          name,
          value: value + (known?.value ?? 0),
          tags: known?.tags ?? { namespace, task_queue: taskQueue, ...tags },
        });
      }
      timer ??= setTimeout(flush, gatheringMs).unref();
    },
    flush,
  };
}

/** Activities whose heartbeats say how many attempts ended by themselves. */
const counting: ReadonlySet<string> = new Set(['callModel', 'compact', 'planRecovery', 'runTool']);

/** Attempts before this one that ended by themselves, as the last heartbeat says. */
function endedAttempts(details: unknown): number {
  if (typeof details !== 'object' || details === null || !('endedAttempts' in details)) return 0;
  return typeof details.endedAttempts === 'number' ? details.endedAttempts : 0;
}

/** Whether another attempt will follow, which then knows of the same lost workers. */
function isRetried(thrown: unknown): boolean {
  return !(thrown instanceof ApplicationFailure && thrown.nonRetryable === true);
}

/** Counts with the last attempt of each call, so that none counts twice. */
export const lostWorkers: ActivityInterceptorsFactory = ({ info, metricMeter }) => {
  const { activityType, attempt } = info;
  if (attempt === 1 || !counting.has(activityType)) return {};
  const lost = Math.max(attempt - 1 - endedAttempts(info.heartbeatDetails), 0);
  const count = (): void => {
    if (lost === 0) return;
    metricMeter
      .createCounter('agent_lost_workers', '', 'Workers that died, or were stuck, during a call')
      .add(lost, { activity: activityType });
  };
  return {
    inbound: {
      execute: async (input, next) => {
        try {
          const result = await next(input);
          count();
          return result;
        } catch (thrown) {
          if (!isRetried(thrown)) count();
          throw thrown;
        }
      },
    },
  };
};
