/** Reads the failure of an activity as plain data. The activity has classified it; here nothing is guessed. */
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TimeoutFailure,
} from '@temporalio/common';
import type { CallSpend } from './core/budget/spend';
import { addSpend } from './core/budget/spend';
import type { InfraError } from './core/failure';
import { defined } from './core/json';
import { infraPolicies } from './core/errors/failure-policy';
import { failureMessageChars } from './core/limits';
import { shortened } from './core/shortened';

function isInfraError(value: unknown): value is InfraError {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, code, message } = value as { kind?: unknown; code?: unknown; message?: unknown };
  return (
    kind === 'infra' &&
    typeof code === 'string' &&
    Object.hasOwn(infraPolicies, code) &&
    typeof message === 'string'
  );
}

function infra(code: InfraError['code'], message: string): InfraError {
  return { kind: 'infra', code, message: shortened(message, failureMessageChars) };
}

interface HeardSpend {
  readonly spend: CallSpend;
  /** Of the request in flight. */
  readonly open?: CallSpend;
}

function isHeardSpend(details: unknown): details is HeardSpend {
  return typeof details === 'object' && details !== null && 'spend' in details;
}

/** What an activity had consumed at its last heartbeat, as model calls report it. */
function lastHeardSpend(details: unknown): Pick<InfraError, 'spend' | 'spendUnknown'> {
  if (!isHeardSpend(details)) return { spendUnknown: true };
  const { spend, open } = details;
  return open === undefined ? { spend, spendUnknown: true } : { spend: addSpend(spend, open) };
}

/**
 * The failure that an activity ended with.
 *
 * `timedOut` is the code for an activity that ran out of time or lost its workers for good.
 */
export function failureFromActivity(
  thrown: unknown,
  timedOut: 'timeout' | 'tool_infrastructure' | 'worker_lost',
): InfraError {
  const cause = thrown instanceof ActivityFailure ? thrown.cause : thrown;
  if (cause instanceof ApplicationFailure) {
    const [details] = cause.details ?? [];
    if (isInfraError(details)) return details;
    // Its worker lacks a key. Another one may have it, and this one gets it with its next start: the run waits, as for a store.
    if (cause.type === 'EncryptionKeyError') return infra('store_unavailable', cause.message);
    return infra(
      timedOut === 'timeout' ? 'unknown' : 'tool_infrastructure',
      `An activity failed in a way that it did not classify: ${cause.message}`,
    );
  }
  if (cause instanceof CancelledFailure) {
    const cancelled = infra('worker_lost', 'The activity was cancelled.');
    const [details] = cause.details;
    // Temporal itself reports an activity that was not running: earlier attempts may have run, and their heartbeats are gone.
    if (!isInfraError(details))
      return details === undefined ? cancelled : { ...cancelled, spendUnknown: true };
    const { spend, spendUnknown } = details;
    return { ...cancelled, ...defined({ spend, spendUnknown }) };
  }
  if (cause instanceof TimeoutFailure)
    return {
      ...infra(
        timedOut,
        `The activity ran into its ${cause.timeoutType} limit: its worker died or it took too long. Look at the workers, or raise the limit.`,
      ),
      ...lastHeardSpend(cause.lastHeartbeatDetails),
    };
  return infra('worker_lost', cause instanceof Error ? cause.message : String(cause));
}
