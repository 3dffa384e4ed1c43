/** Tells failures after which nobody knows whether a request took effect from those that happened before it was sent. */

/** Codes of system and client errors with which a connection ends after the request may have been taken. */
const middleCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Links of a chain of causes that are read (R-FAIL-2). */
const maxCauses = 5;

/**
 * Whether a thrown error says that a connection was lost, or timed out, in the middle of a request.
 *
 * Contract: total; reads `code` and `cause` only.
 */
export function isLostInTheMiddle(thrown: unknown): boolean {
  let link: unknown = thrown;
  for (let depth = 0; depth < maxCauses && typeof link === 'object' && link !== null; depth++) {
    const { code, cause } = link as { code?: unknown; cause?: unknown };
    if (typeof code === 'string' && middleCodes.has(code)) return true;
    link = cause;
  }
  return false;
}
