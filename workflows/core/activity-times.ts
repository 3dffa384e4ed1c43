/** What every long activity reports about its time in the task queue. */

/** What every long activity tells beside its result. */
export interface ActivityTimes {
  /** Milliseconds that its last attempt stood in the task queue, where that was long: none of the run's active time. */
  readonly queuedMs?: number;
}
