/** The one error of the client: what went wrong, as a code to switch on and a sentence to show. */
import { shortened } from '../workflows/core/shortened';

/** What a caller can do something about, each with the HTTP status by which a web server says it. */
const statusCodes = {
  /** Temporal does not answer at the address, or not in time; or the client's store does not. */
  unreachable: 503,
  /** The caller gave something that cannot work; nothing was sent. */
  'invalid-input': 400,
  /** The namespace lacks what `holdfast setup` makes. */
  'setup-needed': 503,
  /** Two copies, or an unsupported version, of Temporal's SDK are loaded. */
  'sdk-mismatch': 500,
  /** Worker and client have different data converters, or none that reads a history. */
  'converter-mismatch': 500,
  /** The worker that answered has no agent of this name. */
  'agent-unknown': 422,
  'run-exists': 409,
  /** An idempotency key was used for another start. */
  'key-reused': 422,
  'schedule-exists': 409,
  /** A run of the thread is in progress: wait for its end, or say it to that run. */
  'thread-busy': 409,
  /** The run ended before it had a transcript, so nothing can continue it. */
  'no-transcript': 409,
  'run-not-found': 404,
  /** The caller stopped waiting for the end; the run goes on. */
  'still-running': 409,
  /** The run has ended, so it takes no more messages. */
  'run-ended': 409,
  /** The run refused what a person sent: nothing waits for it, or the action is another one. */
  refused: 409,
  /** Nobody works on the run's task queue. */
  'no-worker': 503,
  /** The run's output does not match the caller's schema. */
  'output-mismatch': 500,
} as const;

/** What a caller can do something about. */
export type ClientErrorCode = keyof typeof statusCodes;

/** Thrown by the whole client. Its message names the thing, its value and the remedy. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** The HTTP status for it, such as 404 for `run-not-found`; Fastify and Express answer with it by themselves. */
  readonly statusCode: number;

  /** @internal */
  constructor(code: ClientErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ClientError';
    this.code = code;
    this.statusCode = statusCodes[code];
  }
}

/** The message of anything that was thrown, on one line of at most 400 characters. */
export function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return shortened(text.replace(/\s+/g, ' ').trim(), 400);
}
