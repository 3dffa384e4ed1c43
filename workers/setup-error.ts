/** The one error for what a person must fix on this machine before anything can run. */
import { isNativeError } from 'node:util/types';
import { UserError } from '../activities/lifecycle/user-error';

/**
 * A fault in the set-up: a variable, a missing program, a server that does not answer.
 *
 * Contract: the message names the thing, its value (secrets redacted) and the remedy, and is fit to be printed
 * without a stack.
 */
export class SetupError extends UserError {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SetupError';
  }
}

/** Something that must run beside this process does not answer: it may later, with nothing changed. */
export class UnreachableError extends SetupError {}

/** The message of anything that was thrown, on one line of at most 400 characters. */
export function reasonOf(thrown: unknown): string {
  const text = isNativeError(thrown) ? thrown.message : String(thrown);
  return text.replace(/\s+/g, ' ').trim().slice(0, 400);
}

/** The `code` of a system or database error, such as `ENOENT`. */
export function errorCodeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
