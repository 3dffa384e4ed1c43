/** Counts the workers that calls lost: those whose attempts never reported their end. */
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

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
