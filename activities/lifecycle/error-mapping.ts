/** The only place that turns a failure into an ApplicationFailure: the type is the code, the details are the failure. */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { InfraError } from '../../workflows/core/failure';
import { failureMessageChars } from '../../workflows/core/limits';
import { InfraException } from './infra-exception';
import { sanitizeText } from '../untrusted/sanitizer';

/** When Temporal retries a failed activity; absent if the core decides. */
export interface RetryAdvice {
  readonly delayMs: number;
}

/**
 * Makes the failure that crosses the activity boundary.
 *
 * Contract: no vendor object, stack or cause crosses; the message is sanitized and at most 500 characters.
 */
export function applicationFailure(failure: InfraError, retry?: RetryAdvice): ApplicationFailure {
  const message = sanitizeText(failure.message, { maxChars: failureMessageChars });
  const crossing = ApplicationFailure.create({
    message,
    type: failure.code,
    details: [{ ...failure, message }],
    nonRetryable: retry === undefined,
    ...(retry === undefined ? {} : { nextRetryDelay: retry.delayMs }),
  });
  crossing.stack = '';
  return crossing;
}

/** Failures of one worker that another worker may not have. */
const handedOver: ReadonlySet<InfraError['code']> = new Set([
  'store_mismatch',
  'worker_mismatch',
  'worker_lost',
]);

/** Milliseconds until another worker may take a task that this worker cannot run (ADR 0008). */
const handOverDelayMs = 1_000;

/** When a call that waits for other calls of its tenant asks again. */
function capDelayMs({ code, retryAfterMs }: InfraError): number | undefined {
  return code === 'tenant_cap' ? retryAfterMs : undefined;
}

/** Turns anything thrown in an activity into the failure that crosses its boundary. */
export function boundaryFailure(thrown: unknown): ApplicationFailure | CancelledFailure {
  if (thrown instanceof ApplicationFailure || thrown instanceof CancelledFailure) return thrown;
  if (thrown instanceof InfraException) {
    const { failure } = thrown;
    const delayMs = handedOver.has(failure.code) ? handOverDelayMs : capDelayMs(failure);
    return applicationFailure(failure, delayMs === undefined ? undefined : { delayMs });
  }
  const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return applicationFailure({
    kind: 'infra',
    code: 'tool_infrastructure',
    message: `An activity failed unexpectedly: ${text}`,
  });
}
