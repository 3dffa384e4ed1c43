/**
 * One row per infrastructure code: what the core does about it, and whether Temporal may retry it. A stop by the guard or by a
 * person is no failure and has no row: it is never retried. Agent errors have their table in `../failure.ts`.
 */
import { defaultLimits } from '../limits';
import type { AgentErrorCode, InfraError, SystemFailureCode } from '../failure';
import type { FailoverReason } from '../limits';

/** How the core answers a failed model call. */
type InfraAction =
  /** Cool the route down and use the next one of the chain. */
  | 'fail-over'
  /** Ask another provider once, without a cooldown; else end the run with the cause. */
  | 'ask-next-provider'
  /** Wait for the store, then do the same again. */
  | 'wait-for-store'
  /** Ask for less: a shorter reply, a smaller conversation, a larger window. */
  | 'shrink'
  /** End the run with the cause. */
  | 'fail-run';

/** Policy of one infrastructure code. */
export interface InfraPolicy {
  readonly action: InfraAction;
  /** Temporal may retry it on the same route (R-STREAM-1). */
  readonly transient: boolean;
  /** Waiting can cure it. */
  readonly healsByWaiting: boolean;
}

const failOver = (transient: boolean, healsByWaiting: boolean): InfraPolicy => ({
  action: 'fail-over',
  transient,
  healsByWaiting,
});
const refusal: InfraPolicy = {
  action: 'ask-next-provider',
  transient: false,
  healsByWaiting: false,
};
const failRun: InfraPolicy = { action: 'fail-run', transient: false, healsByWaiting: false };

/** Policy of each infra error (R-STREAM-1, R-FAIL-1, R-TOOL-6). */
export const infraPolicies = {
  auth: failOver(false, false),
  billing: failOver(false, false),
  model_not_found: failOver(false, false),
  rate_limit: failOver(true, true),
  overloaded: failOver(true, true),
  timeout: failOver(true, true),
  network: failOver(true, true),
  unknown: failOver(false, true),
  format: refusal,
  context_overflow: { action: 'shrink', transient: false, healsByWaiting: false },
  content_filter: refusal,
  store_unavailable: { action: 'wait-for-store', transient: true, healsByWaiting: true },
  store_corrupt: failRun,
  store_mismatch: failRun,
  worker_mismatch: failRun,
  config_invalid: failRun,
  agent_unknown: failRun,
  workspace_missing: failRun,
  tool_infrastructure: failRun,
  guardrail_failed: { action: 'fail-run', transient: true, healsByWaiting: true },
  payload_too_large: failRun,
  worker_lost: failRun,
  chain_exhausted: failRun,
  budget_exhausted: failRun,
  tenant_cap: failRun,
} as const satisfies Record<FailoverReason | SystemFailureCode, InfraPolicy>;

/** The policy of a failure. */
export function infraPolicy(failure: InfraError): InfraPolicy {
  return infraPolicies[failure.code];
}

/** The failover reason of a failure of a provider; undefined for a failure of Holdfast's surroundings. */
export function failoverReason(failure: InfraError): FailoverReason | undefined {
  const { code } = failure;
  return isFailoverReason(code) ? code : undefined;
}

/** The cooldown table has a row for each failover reason, and for nothing else. */
function isFailoverReason(code: InfraError['code']): code is FailoverReason {
  return Object.hasOwn(defaultLimits.cooldownMs, code);
}

/** Errors after which a tool may have done its work. */
const maybeDone: readonly AgentErrorCode[] = ['tool_timeout', 'outcome_unknown'];

/** Whether a call that failed with this code may have taken effect. */
export function mayHaveTakenEffect(code: AgentErrorCode): boolean {
  return maybeDone.includes(code);
}
