/** Turns whatever a model call threw into one InfraError: classified, short, with a remedy, and without secrets. */
import type { FailoverReason } from '../../../workflows/core/limits';
import type { InfraError } from '../../../workflows/core/failure';
import { defined } from '../../../workflows/core/json';
import { failureMessageChars } from '../../../workflows/core/limits';
import { InfraException } from '../../lifecycle/infra-exception';
import { withoutSecrets } from '../../untrusted/known-secrets';
import { stripHidden } from '../../../workflows/core/secrets/hidden-characters';
import { redactionMark } from '../../../workflows/core/secrets/own-secret-rules';
import { withoutAccountIds } from './account-ids';
import { blameOf, blames } from './blame';
import { gatherEvidence, type ErrorEvidence, type SeenAnswer } from './error-evidence';
import {
  failureReason,
  hasDailyQuotaId,
  hasSpentQuota,
  isDailyQuota,
  missingStatuses,
} from './failure-reason';
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

/** Characters of a web page's title in a message. */
const pageTitleChars = 60;

/** Least cooldown of a daily quota, in milliseconds: no vendor refills one sooner, and an hourly try is cheap (ADR 0004). */
const dailyQuotaCooldownMs = 3_600_000;

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
  const reason = thoughts === undefined ? failureReason(evidence, modelOf(context)) : 'format';
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
  const { headline, remedy } = blames[reason];
  const message = `${context.route} ${headline}: ${found}. ${remedy}`;
  return new InfraException({ code: reason, message: bounded(message), route: context.route });
}

/** The model of a route; a provider's name alone has none. */
function modelOf({ route }: FailureContext): string | undefined {
  const end = route.indexOf('/');
  return end < 0 ? undefined : route.slice(end + 1);
}

/** A vendor says so, its quota is used up, or the address is wrong. Source: R-STREAM-1. */
function refusesRetry(evidence: ErrorEvidence, reason: FailoverReason): boolean {
  const isSpent = reason === 'rate_limit' && hasSpentQuota(evidence);
  const isAddress = reason === 'network' && missingStatuses.has(evidence.status ?? 0);
  return isSpent || isAddress || evidence.header('x-should-retry') === 'false';
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
  const { headline, remedy } = blameOf(reason, evidence);
  const text = clean(`${context.route} ${headline}${inBrackets}`, context.apiKey);
  return bounded(`${text}${quoted}${/[.!?]$/.test(quoted) ? '' : '.'} ${remedy}`);
}

/** The proxy refused credentials, not the vendor. */
function proxyMessage({ route }: FailureContext, status = 407): string {
  const why = status === 403 ? 'does not let the request pass' : 'requires a login';
  return bounded(
    `The proxy for ${route} ${why} (HTTP ${status}); the vendor never saw the request. Give this worker the proxy's login, or exclude the provider's host from the proxy.`,
  );
}

function vendorWords(evidence: ErrorEvidence, apiKey: string | undefined): string {
  const shown = (text: string, chars: number): string =>
    shortened(withoutAccountIds(clean(text, apiKey)), chars);
  if (evidence.isHtml) {
    const title = shown(evidence.pageTitle, pageTitleChars);
    const named = title === '' ? '' : `, titled "${title}"`;
    return `the response was a web page, not the API${named}`;
  }
  const bodyWords = evidence.bodies.map((body) => body.message).find((message) => message !== '');
  if (bodyWords !== undefined) return shown(bodyWords, vendorWordsChars);
  if (evidence.chain.some((link) => link.name === 'SyntaxError')) {
    return 'a piece of the stream was not readable';
  }
  const messages = evidence.chain.map((link) => link.message).filter((message) => message !== '');
  return shown([...new Set(messages)].join(': '), vendorWordsChars);
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
