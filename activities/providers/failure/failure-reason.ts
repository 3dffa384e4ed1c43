/** Classifies a failure: the one reason that decides cooldown and failover. */
import type { FailoverReason } from '../../../workflows/core/limits';
import type { ErrorEvidence, VendorErrorBody } from './error-evidence';
import {
  addressText,
  codeWords,
  connectionCodesIn,
  disabledText,
  fieldCode,
  filterWords,
  forbiddenCodes,
  formatWords,
  imageText,
  limitSentence,
  missingCodes,
  moneyWords,
  networkCodes,
  networkText,
  overflowWords,
  regionText,
  spentQuota,
  statusesIn,
  timeoutCodes,
  troubleWords,
  type ReasonWords,
} from './failure-codes';

/**
 * Why the provider could not answer. Order of trust: what the vendor says about money, length, and filters; the innermost
 * vendor code; a sentence that only one failure uses; the status; the cause chain's codes, as fields or in its texts; general
 * words; a status in a text. `model` is the one that was asked for.
 *
 * Contract: pure and total. Source: R-FAIL-1, R-FAIL-2. Money and capacity count under any status, and a request that alone
 * exceeds a limit is not a rate limit.
 */
export function failureReason(evidence: ErrorEvidence, model?: string): FailoverReason {
  return (
    explicitReason(evidence) ??
    reasonByCode(evidence) ??
    reasonBySentence(evidence) ??
    reasonOfMissing(evidence, model) ??
    reasonByStatus(evidence.status) ??
    reasonByCause(evidence) ??
    reasonByWords(evidence) ??
    reasonByStatus(namedStatus(evidence)) ??
    'unknown'
  );
}

/** What the vendor, and the error itself, say. */
export function messagesOf(evidence: ErrorEvidence): readonly string[] {
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

function reasonByCode(evidence: ErrorEvidence): FailoverReason | undefined {
  for (const body of evidence.bodies) {
    const found = codeWords.find((known) => hasCode([body], known));
    if (found !== undefined) return saysMore(body, found) ? undefined : found.reason;
  }
  return undefined;
}

/** A code that only repeats the 403, beside a sentence about capacity or a quota. */
function saysMore({ codes, message }: VendorErrorBody, found: ReasonWords): boolean {
  const overloaded = codeWords.find(({ reason }) => reason === 'overloaded')?.text;
  return (
    codes.every((code) => forbiddenCodes.has(code) || !found.codes.has(code)) &&
    (limitSentence.test(message) || overloaded?.test(message) === true)
  );
}

/** Sentences that are believed under a status that says something else, or nothing. */
function reasonBySentence(evidence: ErrorEvidence): FailoverReason | undefined {
  const messages = messagesOf(evidence);
  const says = (text: RegExp): boolean => messages.some((message) => text.test(message));
  if (says(formatWords.text) || says(imageText)) return 'format';
  const { status } = evidence;
  if (status === undefined) return undefined;
  const found = codeWords.find(({ reason, text }) => isBelievable(reason, status) && says(text));
  if (found !== undefined && !(isAboutField(evidence) && found.reason === 'overloaded'))
    return found.reason;
  if (status >= 500 || status === 429) return undefined;
  if ([regionText, addressText, disabledText].some(says)) return 'auth';
  return says(limitSentence) && !isAboutField(evidence) ? 'rate_limit' : undefined;
}

/** A vendor reports its capacity under any status; a missing model or a bad key is the vendor's word only below 500. */
function isBelievable(reason: FailoverReason, status: number): boolean {
  if (reason === 'overloaded') return true;
  return (reason === 'model_not_found' || reason === 'auth') && status < 500 && status !== 429;
}

function isAboutField({ bodies }: ErrorEvidence): boolean {
  return bodies.some(({ codes }) => codes.some((code) => fieldCode.test(code)));
}

/** Statuses that say that an address leads elsewhere or nowhere, or takes no POST. */
export const missingStatuses: ReadonlySet<number> = new Set([
  301, 302, 303, 307, 308, 404, 405, 410,
]);

/**
 * What is missing: the model if the answer names it, else the address, which a wrong base URL or a proxy explains better and
 * which is asked again soon. Source: R-FAIL-1, ADR 0045.
 */
function reasonOfMissing(
  evidence: ErrorEvidence,
  model: string | undefined,
): FailoverReason | undefined {
  const { status, bodies } = evidence;
  const isMissing =
    status === undefined
      ? bodies.some(({ codes }) => codes.some((code) => missingCodes.has(code)))
      : missingStatuses.has(status);
  if (!isMissing) return undefined;
  const named = messagesOf(evidence).some(
    (message) =>
      /\b(?:models?|deployment|engine)\b/i.test(message) ||
      (model !== undefined && model !== '' && message.includes(model)),
  );
  return named ? 'model_not_found' : 'network';
}

const statusReasons: readonly (readonly [FailoverReason, ReadonlySet<number>])[] = [
  ['auth', new Set([401, 403, 407, 451])],
  ['format', new Set([400, 415, 422])],
  ['timeout', new Set([408, 504, 522, 524, 598])],
  ['overloaded', new Set([409])],
  ['rate_limit', new Set([429])],
  ['network', new Set([499, 511, 521, 523, 525, 526, 530])],
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
  return isBroken || evidence.isHtml ? 'network' : undefined;
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
