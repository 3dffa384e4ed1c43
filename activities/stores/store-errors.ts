/** The failures of a store, each with the thing, the reason and a remedy. */
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
  const remedy = 'Restore the store from a backup, or start the run again.';
  return failure('store_corrupt', `Store ${label} is corrupt: ${reason}. ${remedy}`, cause);
}

/** Another store, or another version of it, than the caller can use. */
export function storeMismatch(label: string, reason: string, remedy: string): InfraException {
  return failure('store_mismatch', `Store ${label} does not fit: ${reason}. ${remedy}`);
}

/** Messages that are nested too deeply. */
export function payloadTooDeep(what: string, maxDepth: number): InfraException {
  const message = `${what} is nested deeper than ${maxDepth} levels. Make it flatter.`;
  return failure('payload_too_large', message);
}

/** More bytes than the store's limits allow. */
export function payloadTooLarge(what: string, bytes: number, maxBytes: number): InfraException {
  const message = `${what} has ${bytes} bytes, more than ${maxBytes}. Make it smaller, or raise the limit where the store is opened.`;
  return failure('payload_too_large', message);
}

/** The store's address or permissions are wrong: a person must change the configuration. */
export function storeConfigInvalid(message: string, cause?: unknown): InfraException {
  return failure('config_invalid', message, cause);
}

/** Code and message of any thrown value, unchanged. */
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
