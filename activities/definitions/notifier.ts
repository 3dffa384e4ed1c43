/** How people are notified that a run waits for one of them: pluggable, at least once, never blocking the run. */
import type { PersonNotice } from '../../workflows/core/notifications/ports';

/** What a notifier delivers. Every text is sanitized and bounded, and may hold what a model or tool wrote: never markup. */
export type Notification = PersonNotice & {
  /** The same for every repeat of the same notification. */
  readonly id: string;
  /** The run: its workflow id. */
  readonly runId: string;
  readonly namespace: string;
  /** Command line that answers. */
  readonly answerWith: string;
  /** Command line that shows the arguments whole, where `arguments` has a part of them. */
  readonly showWith?: string;
  /** The run in Temporal's Web UI, where its address is configured. */
  readonly link?: string;
};

/** Delivers notifications through one channel. */
export interface Notifier {
  /** Unique among a worker's notifiers; shown in timelines. */
  readonly name: string;
  /**
   * Delivers a notification.
   *
   * Contract: stops when `signal` aborts; may be called again with the same id.
   * Errors: `NotifierError`; anything else counts as transient.
   */
  notify(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** A notification that could not be delivered. */
export class NotifierError extends Error {
  /** Retrying cannot help. */
  readonly permanent: boolean;
  /** Milliseconds that the receiver asks to wait before the next try. */
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
