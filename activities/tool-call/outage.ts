/** Whether a text says that a service is down or throttles. Such results are not evidence of a loop (ADR 0019, ADR 0030). */

import { connectionCodesIn, statusesIn } from '../providers/failure/failure-codes';

/** Words of services and clients, in lower case. `_` and `-` count as blanks. */
const outagePhrases: readonly string[] = [
  'connection refused',
  'connection reset',
  'connection timed out',
  'failed to connect',
  'could not connect',
  "couldn't connect",
  'connection closed',
  'connection lost',
  'fetch failed',
  'network error',
  'other side closed',
  'premature close',
  'socket hang up',
  'timed out',
  'service unavailable',
  'temporarily unavailable',
  'bad gateway',
  'too many requests',
  'rate limited',
  'rate limit exceeded',
  'overloaded',
];

/** Statuses of a service that throttles or is not there; 500 is what many answer to wrong parameters too. */
const downStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504, 529]);

/** Whether a text says that a service failed or was not reached: by a code, a status, or words. Never throws. */
export function saysServiceFailed(text: string): boolean {
  if (connectionCodesIn(text).length > 0) return true;
  const plain = text.toLowerCase().replace(/[_-]/g, ' ');
  if (outagePhrases.some((phrase) => plain.includes(phrase))) return true;
  return statusesIn(plain).some((status) => downStatuses.has(status));
}

/** The same, or what the caller may also have caused: a time limit, another status of a server's failure. Never throws. */
export function mentionsOutage(text: string): boolean {
  if (saysServiceFailed(text) || /time[ _-]?out|internal[ _-]server[ _-]error/i.test(text))
    return true;
  return statusesIn(text.replace(/[_-]/g, ' ')).some((status) => status >= 500 && status <= 599);
}

/** Statuses that count without a word before them; any other number may be a line of a file. */
const bareStatuses: ReadonlySet<number> = new Set([...downStatuses, 500]);

/** Whether an output is nothing but such a status: `HTTP 503 …`, `503 Service Unavailable`, `{"status":503,…}`. */
export function isStatusOfOutage(output: string): boolean {
  const head =
    /^\s*(?:(?:http\/?[\d.]*|error:?|status:?) )?(\d{3})\b(?! \w*(?:ms|bytes|lines|items))/i;
  const field = /^\s*\{[^{}]{0,200}"(?:status|statusCode|status_code|code)":\s*(\d{3})\b/;
  const status = (head.exec(output) ?? field.exec(output))?.[1];
  return bareStatuses.has(Number(status));
}
