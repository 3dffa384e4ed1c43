/** What the core does when a model call failed for good: fail over, wait, or end the run with the cause. */
import { budgetText, exhausted } from '../budget/budget';
import { skipsRoute } from '../context/gate';
import { onContextOverflow } from '../context/overflow';
import type { FailoverReason, InfraError } from '../failure';
import { failoverReason, infraPolicy } from '../errors/failure-policy';
import type { Moment } from '../run/loop';
import { issueModelCall, prepared, startWait } from '../run/loop';
import { invariant } from '../invariant';
import { decideRoute, recordRouteFailure, routeName } from './provider-health';
import { endFailed } from '../run/end';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';
import { andThen, appendLine, count, publish, step } from '../run/step';

/** First wait for a store in milliseconds, doubled each time up to `maxStoreWaitMs` (ADR 0008). */
const firstStoreWaitMs = 2_000;
const maxStoreWaitMs = 60_000;

/** The next store wait after one of `beforeMs` milliseconds that did not help. */
export function nextStoreWaitMs(beforeMs: number | undefined): number {
  return beforeMs === undefined ? firstStoreWaitMs : Math.min(beforeMs * 2, maxStoreWaitMs);
}

/** When a paused call looks for the store again, and what the next wait of the same outage doubles. */
interface StoreLook {
  readonly untilMs: number;
  readonly storeWaitMs: number;
}

/** The next look of a call that the store paused: siblings of one outage look together, and it counts once. */
export function nextStoreLook({ phase, storeWaitMs }: RunState, atMs: number): StoreLook {
  const calls = phase.type === 'running-tools' ? phase.calls : [];
  const pauses = calls.flatMap(({ status }) => (status.type === 'paused' ? [status.untilMs] : []));
  const untilMs = pauses.find((dueMs) => dueMs > atMs);
  if (untilMs !== undefined && storeWaitMs !== undefined) return { untilMs, storeWaitMs };
  const waitMs = nextStoreWaitMs(storeWaitMs);
  return { untilMs: atMs + waitMs, storeWaitMs: waitMs };
}

/** Notes a failure where people look for it. */
export function recordInfraError(state: RunState, failure: InfraError, atMs: number): Step {
  const line = `${failure.route ?? failure.code}: ${failure.message}`;
  const noted: RunState = {
    ...state,
    lastError: `${failure.code}: ${failure.message}`,
    didNotWork: appendLine(state.didNotWork, line.slice(0, 300)),
  };
  return step(noted, publish(noted, atMs, { type: 'ErrorEvent', failure }));
}

/** Ends the run with the cause that people must mend. */
export function endInfra(state: RunState, failure: InfraError, atMs: number): Step {
  if (failure.code === 'budget_exhausted') {
    const stop = exhausted(state, `${failure.message}; it has ${budgetText(state)}`);
    return endFailed(state, atMs, stop.reason, stop.message, failure);
  }
  const reason =
    failure.code === 'context_overflow' || failure.code === 'content_filter'
      ? failure.code
      : 'infra';
  return endFailed(state, atMs, reason, `System error: ${failure.message}`, failure);
}

/** Answers the event `model-call-failed` of the call in flight. */
export function onModelCallFailed(
  state: RunState,
  routeIndex: number,
  failure: InfraError,
  moment: Moment,
): Step {
  const { atMs } = moment;
  if (failure.spared === true) return failOver(state, routeIndex, failure, atMs);
  return andThen(recordInfraError(state, failure, atMs), (noted) => {
    if (failure.code === 'format' && noted.next.maxOutputTokens !== undefined)
      return callWithUsualOutput(noted, atMs);
    switch (infraPolicy(failure).action) {
      case 'shrink':
        return hasRules(noted, 2)
          ? onContextOverflow(noted, routeIndex, failure, atMs)
          : endInfra(noted, failure, atMs);
      case 'fail-run':
        return endInfra(noted, failure, atMs);
      case 'wait-for-store':
        return startWait(noted, atMs, {
          on: 'store',
          reason: failure.message,
          delayMs: nextStoreWaitMs(noted.storeWaitMs),
          then: 'call-model',
        });
      case 'fail-over':
        return failOver(noted, routeIndex, failure, atMs);
    }
  });
}

/** The vendor may have refused the larger limit that the core asked for after a cut reply: ask with the usual one. */
function callWithUsualOutput(state: RunState, atMs: number): Step {
  const { maxOutputTokens: _refused, ...next } = state.next;
  return issueModelCall({ ...state, next }, atMs);
}

function failOver(state: RunState, routeIndex: number, failure: InfraError, atMs: number): Step {
  const { snapshot } = prepared(state);
  const route = snapshot.chain[routeIndex];
  const reason: FailoverReason | undefined = failoverReason(failure);
  invariant(
    route !== undefined && reason !== undefined,
    'a provider failure has a route and a reason',
  );
  const from = routeName(route);
  const health = recordRouteFailure(state.health, from, failure, reason, snapshot.limits, atMs);
  const cooled: RunState = {
    ...state,
    health,
    failedOver:
      failure.spared === true ? state.failedOver : [...state.failedOver, reason].slice(-8),
  };
  if ((health.routes[from]?.cooldownUntilMs ?? 0) <= atMs) return endInfra(cooled, failure, atMs);
  const decision = decideRoute(health, snapshot.chain, atMs, skipsRoute(cooled));
  if (decision.type === 'wait') return issueModelCall(cooled, atMs);
  const next = snapshot.chain[decision.routeIndex];
  invariant(next !== undefined, 'a decided route is in the chain');
  const counted = count(cooled, { failovers: cooled.counters.failovers + 1 });
  const announced = step(
    counted,
    publish(counted, atMs, { type: 'FailoverEvent', from, to: routeName(next), reason }),
  );
  return andThen(announced, (after) => issueModelCall(after, atMs));
}

/** Answers the event `run-preparation-failed`. */
export function onPreparationFailed(state: RunState, failure: InfraError, atMs: number): Step {
  return andThen(recordInfraError(state, failure, atMs), (noted) =>
    infraPolicy(failure).action === 'wait-for-store'
      ? startWait(noted, atMs, {
          on: 'store',
          reason: failure.message,
          delayMs: nextStoreWaitMs(noted.storeWaitMs),
          then: 'prepare',
        })
      : endInfra(noted, failure, atMs),
  );
}
