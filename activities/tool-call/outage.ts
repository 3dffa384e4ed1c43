/** Whether a text says that a service is down or throttles. Such results are not evidence of a loop (ADR 0019, ADR 0030). */

/** Codes of the system and of HTTP clients for a service that was not reached. */
const outageCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/** Words of services and clients, in lower case. `_` and `-` count as blanks. */
const outagePhrases: readonly string[] = [
  'connection refused',
  'connection reset',
  'connection timed out',
  'failed to connect',
  'could not connect',
  "couldn't connect",
  'socket hang up',
  'timed out',
  'timeout',
  'time out',
  'service unavailable',
  'temporarily unavailable',
  'bad gateway',
  'internal server error',
  'too many requests',
  'rate limited',
  'rate limit exceeded',
  'overloaded',
];

/** A status behind a word that says that it is one: `HTTP/1.1 503`, `"status":503`, `status code 429`. */
const namedStatus = /\b(?:http(?:\/[\d.]+)?|status(?: ?code)?|code|error)[\s:=/"']{0,4}(\d{3})\b/gi;

function isOutageStatus(status: number): boolean {
  return status === 429 || (status >= 500 && status <= 599);
}

/** Whether a text has the code, the status or the words of an outage. Never throws. */
export function mentionsOutage(text: string): boolean {
  const codes = text.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? [];
  if (codes.some((code) => outageCodes.has(code) || code.startsWith('UND_ERR_'))) return true;
  const plain = text.toLowerCase().replace(/[_-]/g, ' ');
  if (outagePhrases.some((phrase) => plain.includes(phrase))) return true;
  return [...plain.matchAll(namedStatus)].some(([, status]) => isOutageStatus(Number(status)));
}

/** Statuses that count without a word before them; any other number may be a line of a file. */
const bareStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);

/** Whether an output is nothing but such a status: `HTTP 503 …`, `503 Service Unavailable`, `{"status":503,…}`. */
export function isStatusOfOutage(output: string): boolean {
  const head =
    /^\s*(?:(?:http\/?[\d.]*|error:?|status:?) )?(\d{3})\b(?! \w*(?:ms|bytes|lines|items))/i;
  const field = /^\s*\{[^{}]{0,200}"(?:status|statusCode|status_code|code)":\s*(\d{3})\b/;
  const status = (head.exec(output) ?? field.exec(output))?.[1];
  return bareStatuses.has(Number(status));
}
