/** How people are told that a run waits for one of them: pluggable, at least once, never in a run's way. */
import type { PersonNotice } from '../../workflows/core/people/ports';

/** What a notifier delivers. Every text is sanitised and bounded, and may hold what a model or tool wrote: never markup. */
export interface Notification extends PersonNotice {
  /** The same for every repeat of the same notification. */
  readonly id: string;
  /** The run: its workflow id. */
  readonly runId: string;
  readonly namespace: string;
  /** Command line that answers. */
  readonly answerWith: string;
  /** The run in Temporal's Web UI, where its address is configured. */
  readonly link?: string;
}

/** Tells people by one way. */
export interface Notifier {
  /** Unique among a worker's notifiers; shown in timelines. */
  readonly name: string;
  /**
   * Delivers a notification.
   *
   * Contract: stops when `signal` aborts; may be called again with the same id.
   * Errors: `NotifierError`; anything else counts as one that may pass.
   */
  notify(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** A notification that could not be delivered. */
export class NotifierError extends Error {
  /** Trying again is of no use. */
  readonly permanent: boolean;
  /** Milliseconds that the receiver asks for before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { readonly permanent?: boolean; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.name = 'NotifierError';
    this.permanent = options.permanent ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}
