/** Stream recovery: whether a failed attempt of a model call is retried on the same route, when, and with which nudge. */
import { noteProvenance } from '../model-call/next-request';
import type { InfraError } from '../failure';
import { infraPolicy } from '../errors/failure-policy';
import type { Limits } from '../limits';
import { inertTags } from '../secrets/inert-tags';

/** What is done about a failed attempt. */
export type RetryDecision =
  | { readonly type: 'retry'; readonly delayMs: number }
  /** Failover takes over. */
  | { readonly type: 'give-up' };

/** A vendor's wait above this many milliseconds becomes the route's cooldown instead of a retry's delay (ADR 0004). */
export const longestRetryDelayMs = 30_000;

/**
 * Decides about the `failuresBefore + 1`th failure of one model call on one route.
 *
 * Contract: a stop by the guard or by a person is no failure and never gets here (R-STREAM-5). Only failures of the provider count; a worker's death does not. There is no retry if the vendor refuses one.
 * Source: R-STREAM-1, R-STREAM-2, R-STREAM-3.
 */
export function decideRetry(
  failure: InfraError,
  failuresBefore: number,
  timing: Pick<Limits, 'streamRetries' | 'streamRetryBaseMs'>,
): RetryDecision {
  const mayRetry = infraPolicy(failure).transient && failure.refusesRetry !== true;
  if (!mayRetry || failuresBefore >= timing.streamRetries) return { type: 'give-up' };
  const backoffMs = timing.streamRetryBaseMs * 2 ** failuresBefore;
  const delayMs = Math.max(backoffMs, failure.retryAfterMs ?? 0);
  return delayMs > Math.max(longestRetryDelayMs, backoffMs)
    ? { type: 'give-up' }
    : { type: 'retry', delayMs };
}

/** Characters of a cut reply that a nudge repeats. */
const partialChars = 1_000;

/** The nudge of a retry: what broke, and the part of the reply that had arrived. Sent once, never stored. */
export function retryNudge(code: string, partialText: string): string {
  if (partialText === '')
    return `${noteProvenance}\nThe previous request got no complete reply (${code}). Nothing was run or kept. Reply to it now.`;
  const what = `Your previous reply did not arrive whole (${code}). Nothing of it was run or kept. Reply again.`;
  return `${noteProvenance}\n${what}\nUntil then this had arrived:\n${inertTags(partialText.slice(-partialChars))}`;
}
