/** Repeats a step for a bounded time while its surroundings are down. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** First pause in milliseconds, doubled each time up to `longestPauseMs`. */
const firstPauseMs = 100;
const longestPauseMs = 2_000;

/**
 * Runs `step` until it succeeds, fails with something that `isDown` does not name, or `patienceMs` is over.
 *
 * Errors: the last failure of the step.
 */
export async function keepTrying<Result>(
  patienceMs: number,
  isDown: (thrown: unknown) => boolean,
  step: () => Promise<Result>,
): Promise<Result> {
  let pauseMs = firstPauseMs;
  // The time that failing steps take counts too: a store that answers nothing takes seconds to fail.
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
