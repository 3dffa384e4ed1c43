/** What every activity does around its work: heartbeats, and telling a cancel from a worker's shutdown apart. */
import { cancellationDetails, Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ActivityTimes } from '../../workflows/core/activity-times';
import { boundaryFailure } from './error-mapping';
import { InfraException } from './infra-exception';

/** At least so many beats in the time that the server waits; the SDK sends at most one per 80 % of it. */
const beatsPerTimeout = 4;

/**
 * Most milliseconds between two beats. The worker's `heartbeatIntervalMs` decides which are sent; where the server does not send
 * cancels by itself, the answer to a beat is how a cancel arrives (ADR 0059).
 */
const beatMs = 1_500;

/** Milliseconds between two looks at the clock by the event loop. */
const turnMs = 250;

/** When this process's event loop last turned, since the first call. An idle process turns too. */
let turnedAtMs = performance.now();
let turning: NodeJS.Timeout | undefined;

/**
 * When the event loop last turned before now. A task that the server has given to this process waits while the loop is blocked,
 * and the server's time for a heartbeat already runs.
 */
function lastTurnMs(): number {
  if (turning === undefined) {
    turnedAtMs = performance.now();
    turning = setInterval(() => {
      turnedAtMs = performance.now();
    }, turnMs).unref();
  }
  return turnedAtMs;
}

/**
 * Runs an activity's work with heartbeats until it ends. A heartbeat says that the worker is alive, not that there is progress;
 * stalls have deadlines of their own (ADR 0007).
 *
 * `details` is read at each heartbeat and reaches the next attempt. `first`: `at-once` sends a heartbeat now; `later` leaves the
 * first heartbeat, which the SDK sends without delay, to the work, or to the first beat of the timer, unless the task has waited for
 * a quarter of the time that the server waits in this process. `work` gets a function that tells whether two heartbeats, or the task's arrival and the
 * first one, were further apart than the server waits, because this process was stopped or its event loop was blocked: the server
 * may then have given the attempt up, even if heartbeats continue. The clock is monotonic.
 * Errors: what the work throws, mapped by `error-mapping.ts`.
 */
export async function withHeartbeat<Result>(
  details: () => unknown,
  work: (isGivenUp: () => boolean) => Promise<Result>,
  first: 'at-once' | 'later' = 'at-once',
): Promise<Result> {
  const context = Context.current();
  const { heartbeatTimeoutMs: timeoutMs = 0, isLocal } = context.info;
  let beatAtMs = lastTurnMs();
  const hasWaited = timeoutMs > 0 && performance.now() - beatAtMs > timeoutMs / beatsPerTimeout;
  const isGivenUp = (): boolean => timeoutMs > 0 && performance.now() - beatAtMs >= timeoutMs;
  const beat = (): void => {
    if (!isGivenUp()) beatAtMs = performance.now();
    // The server knows nothing of a local activity.
    if (!isLocal) context.heartbeat(details());
  };
  if (first === 'at-once' || hasWaited) beat();
  const timer = setInterval(beat, Math.min((timeoutMs || Infinity) / beatsPerTimeout, beatMs));
  try {
    return await work(isGivenUp);
  } catch (thrown) {
    if (thrown instanceof CancelledFailure) throw thrown;
    throw boundaryFailure(interruption() ?? thrown);
  } finally {
    clearInterval(timer);
  }
}

/** Milliseconds in the task queue from which a wait is reported: more than two machines' clocks differ by. */
const reportedQueueMs = 5_000;

/**
 * Does an activity's work, and reports with its result how long the attempt waited in the task queue, if that was long:
 * no worker lived then, or none was free. That is measured with two machines' clocks, so the duration of the work, by a
 * monotonic one, goes with it, as a bound (ADR 0047).
 */
export async function withQueueTime<Result extends ActivityTimes>(
  clock: () => number,
  work: () => Promise<Result>,
): Promise<Result> {
  const queuedMs = clock() - Context.current().info.currentAttemptScheduledTimestampMs;
  const beganAtMs = performance.now();
  const result = await work();
  if (queuedMs < reportedQueueMs) return result;
  return { ...result, queuedMs, tookMs: Math.round(performance.now() - beganAtMs) };
}

/** Why this activity must stop; undefined if it need not. A cancel ends it; a worker's shutdown hands it to another worker. */
export function interruption(): CancelledFailure | InfraException | undefined {
  const cancellation = cancellationDetails();
  if (cancellation === undefined) return undefined;
  if (cancellation.workerShutdown)
    return new InfraException({
      code: 'worker_lost',
      message: 'The worker shut down; another worker takes over.',
    });
  return new CancelledFailure('CANCELLED');
}
