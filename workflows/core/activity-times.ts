/** Beside its result, every long activity says how long it waited. */

/** Time that an activity did not work. */
export interface ActivityTimes {
  /** Milliseconds that its last attempt waited in the task queue, if that was long; not active time. */
  readonly queuedMs?: number;
  /** Milliseconds that this attempt worked, by a monotonic clock; given with `queuedMs`, as its bound. */
  readonly tookMs?: number;
}
