/** Classifies a failure: the one reason that decides cooldown and failover. */
import type { FailoverReason } from '../../../workflows/core/limits';
import type { ErrorEvidence, VendorErrorBody } from './error-evidence';
import {
  codeWords,
  connectionCodesIn,
  filterWords,
  formatWords,
  moneyWords,
  networkCodes,
  networkText,
  overflowWords,
  spentQuota,
  statusesIn,
  timeoutCodes,
  troubleWords,
  type ReasonWords,
} from './failure-codes';

/**
 * Why the provider could not answer. Order of trust: what the vendor says about money, length, and filters; the innermost
 * vendor code; a sentence that only one failure uses; the status; the cause chain's codes, as fields or in its texts; general
 * words; a status in a text.
 *
 * Contract: pure and total. Source: R-FAIL-1, R-FAIL-2. Money counts under any status, and a request that alone exceeds a
 * limit is not a rate limit.
 */
export function failureReason(evidence: ErrorEvidence): FailoverReason {
  return (
    explicitReason(evidence) ??
    reasonByCode(evidence.bodies) ??
    reasonBySentence(evidence) ??
    reasonByStatus(evidence.status) ??
    reasonByCause(evidence) ??
    reasonByWords(evidence) ??
    reasonByStatus(namedStatus(evidence)) ??
    'unknown'
  );
}

function messagesOf(evidence: ErrorEvidence): readonly string[] {
  const vendor = evidence.bodies.map((body) => body.message);
  return evidence.isHtml ? vendor : [...vendor, ...evidence.chain.map((link) => link.message)];
}

function hasCode(bodies: readonly VendorErrorBody[], known: ReasonWords): boolean {
  return bodies.some((body) => body.codes.some((code) => known.codes.has(code)));
}

/** Reasons that apply under any status or type. */
function explicitReason(evidence: ErrorEvidence): FailoverReason | undefined {
  const messages = messagesOf(evidence);
  const says = (known: ReasonWords): boolean =>
    hasCode(evidence.bodies, known) || messages.some((message) => known.text.test(message));
  if (evidence.status === 402 || says(moneyWords) || hasNoQuotaAtAll(evidence)) return 'billing';
  if (evidence.status === 413 || messages.some(exceedsLimitAlone) || says(overflowWords)) {
    return 'context_overflow';
  }
  return says(filterWords) ? 'content_filter' : undefined;
}

/**
 * Gemini says "check your plan and billing details" also for a limit per minute; there only a quota of zero is about money.
 * All others say it when the credit is used up.
 */
function hasNoQuotaAtAll(evidence: ErrorEvidence): boolean {
  const isGemini = evidence.bodies.some((body) => body.codes.includes('resource_exhausted'));
  return evidence.bodies.some((body) =>
    isGemini
      ? /\blimit: 0\b(?!\.)/.test(body.message)
      : /plan and billing details/i.test(body.message),
  );
}

/** `Limit 30000, Requested 41000`: waiting does not help. */
function exceedsLimitAlone(message: string): boolean {
  const numbers = /limit:? (\d+)\b.{0,60}\brequested:? (\d+)\b/i.exec(message);
  return numbers !== null && Number(numbers[2]) > Number(numbers[1]);
}

function reasonByCode(bodies: readonly VendorErrorBody[]): FailoverReason | undefined {
  for (const body of bodies) {
    const found = codeWords.find((known) => hasCode([body], known));
    if (found !== undefined) return found.reason;
  }
  return undefined;
}

/** Statuses under which vendors also report a missing model, a bad key or an overload. */
function reasonBySentence(evidence: ErrorEvidence): FailoverReason | undefined {
  const messages = messagesOf(evidence);
  if (messages.some((message) => formatWords.text.test(message))) return 'format';
  const believable = codeWords.filter(({ reason }) => isBelievable(reason, evidence.status));
  return believable.find((known) => messages.some((message) => known.text.test(message)))?.reason;
}

function isBelievable(reason: FailoverReason, status: number | undefined): boolean {
  if (status === undefined) return false;
  if (reason === 'overloaded') return status === 429 || status >= 500;
  return (reason === 'model_not_found' || reason === 'auth') && status < 500 && status !== 429;
}

const statusReasons: readonly (readonly [FailoverReason, ReadonlySet<number>])[] = [
  ['auth', new Set([401, 403, 407])],
  ['format', new Set([400, 405, 415, 422])],
  ['model_not_found', new Set([404, 410])],
  ['timeout', new Set([408, 504, 522, 524, 598])],
  ['overloaded', new Set([409])],
  ['rate_limit', new Set([429])],
  ['network', new Set([499, 521, 523, 525, 526, 530])],
];

/**
 * Source: R-FAIL-1. Both vendors' SDKs retry a 409, a lock on the vendor's side; any other
 * 5xx is the vendor's own failure.
 */
function reasonByStatus(status: number | undefined): FailoverReason | undefined {
  if (status === undefined) return undefined;
  const [reason] = statusReasons.find(([, statuses]) => statuses.has(status)) ?? [];
  return reason ?? (status >= 500 ? 'overloaded' : undefined);
}

/** Errors of a stream that is unreadable or contradicts itself. */
const brokenNames: ReadonlySet<string> = new Set(['SyntaxError', 'BrokenStream']);

function reasonByCause(evidence: ErrorEvidence): FailoverReason | undefined {
  const codes = evidence.chain.map((link) => link.code);
  const named = messagesOf(evidence).flatMap(connectionCodesIn);
  for (const known of [codes, named]) {
    if (known.some((code) => timeoutCodes.test(code))) return 'timeout';
    if (known.some((code) => networkCodes.test(code))) return 'network';
  }
  if (evidence.chain.some((link) => link.name === 'TimeoutError')) return 'timeout';
  if (evidence.chain.some((link) => /request timed out/i.test(link.message))) return 'timeout';
  const isBroken = evidence.chain.some(
    (link) => brokenNames.has(link.name) || networkText.test(link.message),
  );
  return isBroken ? 'network' : undefined;
}

/** The status in a text, or at its beginning, if no response was seen. */
function namedStatus(evidence: ErrorEvidence): number | undefined {
  const texts = messagesOf(evidence);
  const leading = texts.flatMap((text) => /^\s*([45]\d\d)(?!\S*\d)/.exec(text)?.[1] ?? []);
  return [...texts.flatMap(statusesIn), ...leading.map(Number)].find(
    (status) => status >= 400 && status <= 599,
  );
}

/** For errors without a status: events inside a 200 stream, errors of other layers. */
function reasonByWords(evidence: ErrorEvidence): FailoverReason | undefined {
  const messages = messagesOf(evidence);
  const found = codeWords.find((known) => messages.some((message) => known.text.test(message)));
  if (found !== undefined) return found.reason;
  const isTrouble =
    hasCode(evidence.bodies, troubleWords) ||
    messages.some((message) => troubleWords.text.test(message));
  if (isTrouble) return 'overloaded';
  return hasCode(evidence.bodies, formatWords) ? 'format' : undefined;
}

/** True if the exhausted bucket is a daily one, so that waiting a minute does not help. */
export function isDailyQuota(evidence: ErrorEvidence): boolean {
  return (
    hasDailyQuotaId(evidence) ||
    messagesOf(evidence).some((message) =>
      /per[-_ ]day|\b[RT]PD\b|daily (?:quota|limit|request)/i.test(message),
    )
  );
}

/** True if a quota's id names the day (Gemini); the delay beside it is for the minute. */
export function hasDailyQuotaId(evidence: ErrorEvidence): boolean {
  return evidence.bodies.some((body) => body.codes.some((code) => code.includes('perday')));
}

/** True if a quota is used up: the same route is not asked again before its cooldown ends. */
export function hasSpentQuota(evidence: ErrorEvidence): boolean {
  return messagesOf(evidence).some((message) => spentQuota.test(message));
}
