/** Time limits of work that is also stopped from outside. */

/** A signal that aborts when time is up, or with another signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether time was up first. */
  readonly isOver: () => boolean;
  /** Contract: called when the work has ended, however it ended. */
  readonly end: () => void;
}

/**
 * Begins a time limit of `limitMs` milliseconds. `reason` makes the abort's reason if time is up; default: a `TimeoutError`.
 *
 * Instead of `AbortSignal.any` and `AbortSignal.timeout`, which keep what they made until the limit has passed.
 */
export function beginDeadline(
  limitMs: number,
  stopped: AbortSignal,
  reason: () => unknown = () => new DOMException('time is up', 'TimeoutError'),
): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = !controller.signal.aborted;
    controller.abort(reason());
  }, limitMs);
  const stop = (): void => {
    controller.abort(stopped.reason);
  };
  if (stopped.aborted) stop();
  else stopped.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    isOver: () => isOver,
    end: () => {
      clearTimeout(timer);
      stopped.removeEventListener('abort', stop);
    },
  };
}
