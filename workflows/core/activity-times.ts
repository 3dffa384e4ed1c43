/** Beside its result, every long activity says how long it waited. */

/** Time that an activity did not work. */
export interface ActivityTimes {
  /** Milliseconds that its last attempt waited in the task queue, if that was long; not active time. */
  readonly queuedMs?: number;
}
