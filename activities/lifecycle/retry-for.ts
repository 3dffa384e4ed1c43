/** Retries one step of an activity for a while, in the activity itself. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** First pause in milliseconds, doubled each time up to `longestPauseMs`. */
const firstPauseMs = 100;
const longestPauseMs = 2_000;

/**
 * Retries `step` until it succeeds, fails with an error that is not `isDown`, or `patienceMs` is over.
 *
 * Errors: the last failure of the step.
 */
export async function retryFor<Result>(
  patienceMs: number,
  isDown: (thrown: unknown) => boolean,
  step: () => Promise<Result>,
): Promise<Result> {
  let pauseMs = firstPauseMs;
  // The time of failing steps counts too: an unreachable store takes seconds to fail.
  const endsAtMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await step();
    } catch (thrown) {
      if (!isDown(thrown) || performance.now() >= endsAtMs) throw thrown;
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }
}
