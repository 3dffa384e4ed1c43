/** Turns whatever a model call threw into one InfraError: classified, short, with a remedy, and without secrets. */
import type { FailoverReason } from '../../../workflows/core/limits';
import type { InfraError } from '../../../workflows/core/failure';
import { defined } from '../../../workflows/core/json';
import { failureMessageChars } from '../../../workflows/core/limits';
import { InfraException } from '../../lifecycle/infra-exception';
import { withoutSecrets } from '../../untrusted/known-secrets';
import { stripHidden } from '../../../workflows/core/secrets/hidden-characters';
import { redactionMark } from '../../../workflows/core/secrets/own-secret-rules';
import { gatherEvidence, type ErrorEvidence, type SeenAnswer } from './error-evidence';
import { failureReason, hasDailyQuotaId, hasSpentQuota, isDailyQuota } from './failure-reason';
import { overflowNumbers } from './overflow-numbers';
import { refusedThoughts } from './refused-thoughts';
import { retryDelayMs } from './retry-after';
import { shortened } from '../request/well-formed';

/** Who failed, and what the message must not contain. */
export interface FailureContext {
  /** `provider/model`, or the provider's name alone. */
  readonly route: string;
  /** The key that was sent; never part of a message. */
  readonly apiKey?: string;
  /** Default: now. */
  readonly nowMs?: number;
}

/** Characters of the vendor's own text in a message. */
const vendorWordsChars = 240;

/** Least cooldown of a daily quota, in milliseconds: no vendor refills one sooner, and an hourly try is cheap (ADR 0004). */
const dailyQuotaCooldownMs = 3_600_000;

const headline: Readonly<Record<FailoverReason, string>> = {
  auth: 'refused the credentials',
  rate_limit: 'is at its rate limit',
  billing: 'has no credit left on this account',
  timeout: 'did not answer in time',
  overloaded: 'is overloaded or failing',
  model_not_found: 'does not have this model',
  format: 'refused the request as malformed',
  network: 'could not be reached, or the connection broke',
  context_overflow: 'says that the request is too long',
  content_filter: 'blocked the content',
  unknown: 'failed for an unknown reason',
};

const remedy: Readonly<Record<FailoverReason, string>> = {
  auth: 'Check the API key and its permissions for this provider.',
  rate_limit: 'It clears with time; raise the limit at the vendor if it happens often.',
  billing: 'Add credit or raise the spending limit at the vendor.',
  timeout:
    'It often clears by itself; raise firstByteMs, betweenBytesMs or thinkingMs if the model thinks longer.',
  overloaded: 'It clears with time; more routes in the chain make waits rarer.',
  model_not_found: 'Check the model name in the chain and the base URL.',
  format: 'The request must change; report it with the request id if the transcript is sound.',
  network: 'Check the base URL, DNS and proxy if it does not clear by itself.',
  context_overflow: 'The transcript must shrink, or maxOutputTokens.',
  content_filter: 'The content must change, or another vendor must answer.',
  unknown: 'See the vendor status page.',
};

const waitingHelps: ReadonlySet<FailoverReason> = new Set<FailoverReason>([
  'rate_limit',
  'billing',
  'timeout',
  'overloaded',
  'network',
  'unknown',
]);

/**
 * Classifies any thrown value, with what the adapter observed of the response.
 *
 * Contract: never throws; a failure that was classified before is returned unchanged; the message has at most 500 characters, and no key,
 * header or body.
 */
export function providerFailure(
  thrown: unknown,
  context: FailureContext,
  seen: SeenAnswer = {},
): InfraError {
  const evidence = gatherEvidence(thrown, seen);
  if (evidence.known !== undefined) return evidence.known.failure;
  const thoughts = refusedThoughts(evidence);
  const reason = thoughts === undefined ? failureReason(evidence) : 'format';
  const isTooLong = reason === 'context_overflow';
  return {
    kind: 'infra',
    code: reason,
    message: failureMessage(reason, context, evidence),
    route: context.route,
    ...defined({
      retryAfterMs: waitingHelps.has(reason) ? cooldownMs(evidence, reason, context) : undefined,
      overflow: isTooLong ? overflowNumbers(textsOf(evidence)) : undefined,
      status: evidence.status,
      thoughts,
    }),
    ...(refusesRetry(evidence, reason) ? { refusesRetry: true } : {}),
  };
}

/** The same as an exception, whose cause is kept for the worker's log. */
export function providerException(
  thrown: unknown,
  context: FailureContext,
  seen: SeenAnswer = {},
): InfraException {
  if (thrown instanceof InfraException) return thrown;
  return new InfraException(providerFailure(thrown, context, seen), { cause: thrown });
}

/** An exception for what the adapter itself found wrong with a response. */
export function adapterException(
  reason: FailoverReason,
  found: string,
  context: FailureContext,
): InfraException {
  const message = `${context.route} ${headline[reason]}: ${found}. ${remedy[reason]}`;
  return new InfraException({ code: reason, message: bounded(message), route: context.route });
}

/** A vendor says so, or its quota is used up. Source: R-STREAM-1. */
function refusesRetry(evidence: ErrorEvidence, reason: FailoverReason): boolean {
  const isSpent = reason === 'rate_limit' && hasSpentQuota(evidence);
  return isSpent || evidence.header('x-should-retry') === 'false';
}

function textsOf({ bodies, chain }: ErrorEvidence): readonly string[] {
  return [...bodies, ...chain].map(({ message }) => message);
}

function cooldownMs(
  evidence: ErrorEvidence,
  reason: FailoverReason,
  context: FailureContext,
): number | undefined {
  const bodies = evidence.bodies.map((body) => body.raw);
  const nowMs = context.nowMs ?? Date.now();
  const statedMs = retryDelayMs(evidence.header, bodies, textsOf(evidence), nowMs);
  if (reason !== 'rate_limit' || !isDailyQuota(evidence)) return statedMs;
  if (statedMs !== undefined && !hasDailyQuotaId(evidence)) return statedMs;
  return Math.max(statedMs ?? 0, dailyQuotaCooldownMs);
}

function failureMessage(
  reason: FailoverReason,
  context: FailureContext,
  evidence: ErrorEvidence,
): string {
  if (evidence.isFromProxy && reason === 'auth') return proxyMessage(context, evidence.status);
  const code = evidence.bodies.flatMap((body) => body.codes).find((each) => !/^\d+$/.test(each));
  const facts = [
    evidence.status === undefined ? undefined : `HTTP ${evidence.status}`,
    code === undefined ? evidence.chain.map((link) => link.code).find(Boolean) : code,
  ].filter((fact) => fact !== undefined);
  const inBrackets = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
  const said = vendorWords(evidence, context.apiKey);
  const quoted = said === '' ? '' : `: ${said}`;
  const text = clean(`${context.route} ${headline[reason]}${inBrackets}`, context.apiKey);
  return bounded(`${text}${quoted}${/[.!?]$/.test(quoted) ? '' : '.'} ${remedy[reason]}`);
}

/** The proxy refused credentials, not the vendor. */
function proxyMessage({ route }: FailureContext, status = 407): string {
  const why = status === 407 ? 'requires a login' : 'does not let the request pass';
  return bounded(
    `The proxy for ${route} ${why} (HTTP ${status}); the vendor never saw the request. Give this worker the proxy's login, or exclude the provider's host from the proxy.`,
  );
}

function vendorWords(evidence: ErrorEvidence, apiKey: string | undefined): string {
  if (evidence.isHtml) return 'the response was a web page, not the API';
  const bodyWords = evidence.bodies.map((body) => body.message).find((message) => message !== '');
  if (bodyWords !== undefined) return shortened(clean(bodyWords, apiKey), vendorWordsChars);
  if (evidence.chain.some((link) => link.name === 'SyntaxError')) {
    return 'a piece of the stream was not readable';
  }
  const messages = evidence.chain.map((link) => link.message).filter((message) => message !== '');
  return shortened(clean([...new Set(messages)].join(': '), apiKey), vendorWordsChars);
}

/** Vendors echo keys: complete, truncated, masked, and anything else that was sent in their place. */
function clean(text: string, apiKey: string | undefined): string {
  // Before its lines are joined: keys are recognized by them.
  const oneLine = withoutSecrets(stripHidden(text))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  const withoutKey =
    apiKey === undefined || apiKey.length < 4 ? oneLine : oneLine.replaceAll(apiKey, redactionMark);
  return withoutSecrets(
    withoutKey
      .replace(
        /(api[- ]?key(?: provided)?:\s*)(?!\[redacted\])(.+?)(?=\.\s|\.?$)/gi,
        `$1${redactionMark}`,
      )
      .replace(/(?<![^\s"'`])[^\s"'`]*?\*{3}[^\s"'`]*(?<![,.])/g, redactionMark),
  );
}

function bounded(message: string): string {
  return shortened(message, failureMessageChars);
}
