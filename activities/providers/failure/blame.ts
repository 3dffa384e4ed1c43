/** What the message of a failure blames, and what a person can do: mostly the reason decides; some answers say more. */
import type { FailoverReason } from '../../../workflows/core/limits';
import type { ErrorEvidence } from './error-evidence';
import { addressText, disabledText, regionText } from './failure-codes';
import { messagesOf } from './failure-reason';

/** The middle and the end of a message. */
export interface Blame {
  /** Follows the name of the route. */
  readonly headline: string;
  readonly remedy: string;
}

/** By reason, where nothing else is known. */
export const blames: Readonly<Record<FailoverReason, Blame>> = {
  auth: {
    headline: 'refused the credentials',
    remedy: 'Check the API key and its permissions for this provider.',
  },
  rate_limit: {
    headline: 'is at its rate limit',
    remedy: 'It clears with time; raise the limit at the vendor if it happens often.',
  },
  billing: {
    headline: 'has no credit left on this account',
    remedy: 'Add credit or raise the spending limit at the vendor.',
  },
  timeout: {
    headline: 'did not answer in time',
    remedy:
      'It often clears by itself; raise firstByteMs, betweenBytesMs or thinkingMs if the model thinks longer.',
  },
  overloaded: {
    headline: 'is overloaded or failing',
    remedy: 'It clears with time; more routes in the chain make waits rarer.',
  },
  model_not_found: {
    headline: 'does not have this model',
    remedy: 'Check the model name in the chain and the base URL.',
  },
  format: {
    headline: 'refused the request as malformed',
    remedy:
      'The request must change, or another vendor must take it; report it with the request id if the transcript is sound.',
  },
  network: {
    headline: 'could not be reached, or the connection broke',
    remedy: 'Check the base URL, DNS and proxy if it does not clear by itself.',
  },
  context_overflow: {
    headline: 'says that the request is too long',
    remedy: 'The transcript must shrink, or maxOutputTokens.',
  },
  content_filter: {
    headline: 'blocked the content',
    remedy: 'The content must change, or another vendor must answer.',
  },
  unknown: { headline: 'failed for an unknown reason', remedy: 'See the vendor status page.' },
};

interface KnownBlame extends Blame {
  readonly reasons: readonly FailoverReason[];
  readonly fits: (evidence: ErrorEvidence, says: (text: RegExp) => boolean) => boolean;
}

/** Answers whose reason alone would blame the wrong thing; the first that fits. Source: test/providers/fixtures/vendor-refusals.jsonl. */
const knownBlames: readonly KnownBlame[] = [
  {
    headline: 'redirects to another address',
    remedy:
      'The key and the conversation follow no redirect. Set the base URL to the address that answers, if you trust it.',
    reasons: ['network', 'model_not_found'],
    fits: ({ status = 0 }) => status >= 300 && status < 400,
  },
  {
    headline: 'was not reached: a proxy, a firewall or a login page answered',
    remedy:
      'Check the base URL, and that proxy and firewall let this worker reach the vendor; the vendor may not have seen the request.',
    reasons: ['auth', 'network', 'format', 'unknown', 'model_not_found'],
    fits: ({ isHtml }) => isHtml,
  },
  {
    headline: 'is not available in this country or region',
    remedy:
      'Neither the key nor the model is wrong: use a worker or an address in a region that the vendor serves, or another provider.',
    reasons: ['auth', 'model_not_found', 'format'],
    fits: ({ status, bodies }, says) =>
      status === 451 ||
      bodies.some(({ codes }) => codes.includes('unsupported_country_region_territory')) ||
      says(regionText),
  },
  {
    headline: 'does not take requests from the network of this worker',
    remedy:
      "The key is not wrong: add the worker's outgoing address to the allow-list at the vendor, or send from an allowed network.",
    reasons: ['auth'],
    fits: ({ bodies }, says) =>
      bodies.some(({ codes }) => codes.includes('ip_not_authorized')) || says(addressText),
  },
  {
    headline: 'has disabled this account',
    remedy: "A new key does not help: see the account's status at the vendor, or ask its support.",
    reasons: ['auth'],
    fits: (_evidence, says) => says(disabledText),
  },
  {
    headline: 'refused the key at this address',
    remedy: 'Check that the API key and the base URL are of the same resource and region.',
    reasons: ['auth'],
    fits: (_evidence, says) => says(/wrong api endpoint|correct regional api endpoint/i),
  },
  {
    headline: 'has no endpoint that the privacy settings of this account allow',
    remedy: 'Change these settings at the vendor, or use another model.',
    reasons: ['model_not_found'],
    fits: (_evidence, says) => says(/data policy|guardrail restrictions/i),
  },
  {
    headline: 'does not let this account use the model',
    remedy: 'Ask for access to the model at the vendor, or use another model.',
    reasons: ['auth', 'model_not_found'],
    fits: (_evidence, says) =>
      says(
        /organization must be verified|access to (?:the )?model|is blocked at the (?:organi[sz]ation|project) level|terms acceptance|model access is denied/i,
      ),
  },
  {
    headline: 'has nothing at this address',
    remedy:
      'Check the base URL, such as a missing or doubled /v1, and any proxy on the way; the answer names no model.',
    reasons: ['network'],
    fits: ({ status }) => status === 404 || status === 405 || status === 410,
  },
  {
    headline: 'is behind a network that wants a login',
    remedy: 'Log this machine in to its network, or use another one.',
    reasons: ['network'],
    fits: ({ status }) => status === 511,
  },
];

/** What to blame. Contract: pure and total. */
export function blameOf(reason: FailoverReason, evidence: ErrorEvidence): Blame {
  const messages = messagesOf(evidence);
  const says = (text: RegExp): boolean => messages.some((message) => text.test(message));
  const known = knownBlames.find(
    ({ reasons, fits }) => reasons.includes(reason) && fits(evidence, says),
  );
  return known ?? blames[reason];
}
