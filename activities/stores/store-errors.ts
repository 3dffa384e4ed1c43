/** The failures of a store, each with thing, value and remedy. */
import { failureMessageChars } from '../../workflows/core/limits';
import { InfraException } from '../lifecycle/infra-exception';

/** The store cannot be reached or written now; the same call may succeed later. */
export function storeUnavailable(
  label: string,
  reason: string,
  remedy: string,
  cause?: unknown,
): InfraException {
  const message = `Store ${label} is unavailable: ${reason}. ${remedy}`;
  return failure('store_unavailable', message, cause);
}

/** Content is missing or is not what its name says. */
export function storeCorrupt(label: string, reason: string, cause?: unknown): InfraException {
  const remedy = 'Restore the store from a backup, or start the run anew.';
  return failure('store_corrupt', `Store ${label} is corrupt: ${reason}. ${remedy}`, cause);
}

/** This is not the store, or not the version of it, that the caller can work with. */
export function storeMismatch(label: string, reason: string, remedy: string): InfraException {
  return failure('store_mismatch', `Store ${label} does not fit: ${reason}. ${remedy}`);
}

/** Messages that no text of bearable shape can carry. */
export function payloadTooDeep(what: string, maxDepth: number): InfraException {
  const message = `${what} is nested deeper than ${maxDepth} levels. Make it flatter.`;
  return failure('payload_too_large', message);
}

/** More bytes than the store was opened for. */
export function payloadTooLarge(what: string, bytes: number, maxBytes: number): InfraException {
  const message = `${what} has ${bytes} bytes, more than ${maxBytes}. Make it smaller, or raise the limit where the store is opened.`;
  return failure('payload_too_large', message);
}

/** The store's address or its rights are wrong: a person must change the configuration. */
export function storeConfigInvalid(message: string, cause?: unknown): InfraException {
  return failure('config_invalid', message, cause);
}

/** Code and message of any error, unchanged. */
export function describeError(error: unknown): { readonly code: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  return { code, message: message === '' ? code : message };
}

function failure(
  code: InfraException['failure']['code'],
  message: string,
  cause?: unknown,
): InfraException {
  const bounded = message.slice(0, failureMessageChars);
  return new InfraException({ code, message: bounded }, cause === undefined ? {} : { cause });
}
