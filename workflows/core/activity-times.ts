/** What every long activity reports about its time in the task queue. */

/** What every long activity reports with its result. */
export interface ActivityTimes {
  /** Milliseconds that its last attempt waited in the task queue, if that was long; not active time. */
  readonly queuedMs?: number;
}
