/** The one error of the client: what went wrong, as a code to switch on and a sentence to show. */
import { shortened } from '../workflows/core/shortened';

/** What a caller can do something about. */
export type ClientErrorCode =
  /** Temporal does not answer at the address, or not in time; or the client's store does not. */
  | 'unreachable'
  /** The caller gave something that cannot work; nothing was sent. */
  | 'invalid-input'
  /** The namespace lacks what `holdfast setup` makes. */
  | 'setup-needed'
  /** Two copies, or an unsupported version, of Temporal's SDK are loaded. */
  | 'sdk-mismatch'
  /** Worker and client have different data converters, or none that reads a history. */
  | 'converter-mismatch'
  /** The worker that answered has no agent of this name. */
  | 'agent-unknown'
  | 'run-exists'
  /** An idempotency key was used for another start. */
  | 'key-reused'
  | 'schedule-exists'
  /** A run of the thread is in progress: wait for its end, or say it to that run. */
  | 'thread-busy'
  /** The run ended before it had a transcript, so nothing can continue it. */
  | 'no-transcript'
  | 'run-not-found'
  /** The caller stopped waiting for the end; the run goes on. */
  | 'still-running'
  /** The run has ended, so it takes no more messages. */
  | 'run-ended'
  /** The run refused what a person sent: nothing waits for it, or the action is another one. */
  | 'refused'
  /** Nobody works on the run's task queue. */
  | 'no-worker'
  /** The run's output does not match the caller's schema. */
  | 'output-mismatch';

/** Thrown by the whole client. Its message names the thing, its value and the remedy. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;

  /** @internal */
  constructor(code: ClientErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ClientError';
    this.code = code;
  }
}

/** The message of anything that was thrown, on one line of at most 400 characters. */
export function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return shortened(text.replace(/\s+/g, ' ').trim(), 400);
}
