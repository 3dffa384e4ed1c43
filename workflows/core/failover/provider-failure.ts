/** What the core does about failures that the model never sees: records them, moves to another route, or ends the run. */
import { budgetText } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { failoverReason } from '../errors/failure-policy';
import type { InfraError } from '../failure';
import { forcedStop } from '../guard/hard-limits';
import type { ActiveTimeSlice } from '../guard/state';
import { invariant } from '../invariant';
import type { RouteConfig, FailoverSlice } from './state';
import type { AccountSlice } from '../run/account';
import { addFailureLine, count } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { fail, goTo, publish, stay } from '../run/move';
import { decideRoute, recordRouteFailure, routeName } from './provider-health';
import { noteFailover } from './state';

/** The state of a run that meets a failure. */
export type FailingState = AccountSlice & ActiveTimeSlice & BudgetSlice & SnapshotSlice;

/** Records a failure where people look for it. */
export function recordInfraError<State extends AccountSlice>(
  state: State,
  failure: InfraError,
): Move<State> {
  const noted: State = {
    ...addFailureLine(state, `${failure.route ?? failure.code}: ${failure.message}`),
    lastError: `${failure.code}: ${failure.message}`,
  };
  return stay(noted, publish({ type: 'ErrorEvent', failure }));
}

/** Ends the run with the cause that people must fix. */
export function failInfra<State extends FailingState>(
  state: State,
  failure: InfraError,
): Move<State> {
  const { code } = failure;
  if (code === 'budget_exhausted') {
    const what = `${failure.message}; it has ${budgetText(state)}`;
    return fail(state, forcedStop(state, 'guard_budget', what), failure);
  }
  const reason = code === 'context_overflow' || code === 'content_filter' ? code : 'infra';
  return fail(state, { reason, message: `System error: ${failure.message}` }, failure);
}

/** Cools the route down and uses the next one. `skips` is true for routes that cannot take the request. */
export function failOver<State extends FailingState & FailoverSlice>(
  state: State,
  routeIndex: number,
  failure: InfraError,
  skips: (route: RouteConfig) => boolean,
  atMs: number,
): Move<State> {
  const { chain, limits } = prepared(state).snapshot;
  const route = chain[routeIndex];
  const reason = failoverReason(failure);
  invariant(
    route !== undefined && reason !== undefined,
    'a provider failure has a route and a reason',
  );
  const from = routeName(route);
  const health = recordRouteFailure(state.health, from, failure, reason, limits, atMs);
  const noted = failure.spared === true ? state : noteFailover(state, reason);
  const cooled: State = { ...noted, health };
  if ((health.routes[from]?.cooldownUntilMs ?? 0) <= atMs) return failInfra(cooled, failure);
  const decision = decideRoute(health, chain, atMs, skips);
  const next = decision.type === 'wait' ? undefined : chain[decision.routeIndex];
  if (next === undefined) return goTo('call-model', cooled);
  const counted = count(cooled, { failovers: cooled.counters.failovers + 1 });
  const entry = publish({
    type: 'FailoverEvent',
    from,
    to: routeName(next),
    reason,
  });
  return goTo('call-model', counted, entry);
}
