/** What the core does about failures that the model never sees: records them, moves to another route, or ends the run. */
import { budgetText } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { failoverReason } from '../errors/failure-policy';
import type { InfraError } from '../failure';
import type { FailoverReason } from '../limits';
import { forcedStop } from '../guard/hard-limits';
import type { ActiveTimeSlice } from '../guard/state';
import { invariant } from '../invariant';
import type { RouteConfig, FailoverSlice, RefusedRequest } from './state';
import type { AccountSlice } from '../run/account';
import { addFailureLine, count } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, fail, goTo, publish, stay } from '../run/move';
import { decideRoute, recordRouteFailure, routeName } from './provider-health';
import { hasRefused, noteFailover } from './state';

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

/** Ends the run with the cause that people must fix, and what else they must know. */
export function failInfra<State extends FailingState>(
  state: State,
  failure: InfraError,
  besides = '',
): Move<State> {
  const { code } = failure;
  if (code === 'budget_exhausted') {
    const what = `${failure.message}; it has ${budgetText(state)}`;
    return fail(state, forcedStop(state, 'guard_budget', what), failure);
  }
  if (code === 'tenant_cap')
    return fail(state, forcedStop(state, 'guard_tenant_cap', failure.message), failure);
  const reason = code === 'context_overflow' || code === 'content_filter' ? code : 'infra';
  return fail(state, { reason, message: `System error: ${failure.message}${besides}` }, failure);
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
  return useNext(cooled, from, reason, skips, atMs);
}

/** Calls the next route, or waits for one. */
function useNext<State extends FailingState & FailoverSlice>(
  state: State,
  from: string,
  reason: FailoverReason,
  skips: (route: RouteConfig) => boolean,
  atMs: number,
): Move<State> {
  const { chain } = prepared(state).snapshot;
  const decision = decideRoute(state.health, chain, atMs, skips);
  const next = decision.type === 'wait' ? undefined : chain[decision.routeIndex];
  if (next === undefined) return goTo('call-model', state);
  const counted = count(state, { failovers: state.counters.failovers + 1 });
  return goTo(
    'call-model',
    counted,
    publish({ type: 'FailoverEvent', from, to: routeName(next), reason }),
  );
}

/**
 * Takes a provider's refusal of the request itself: another provider, not only another model of this one, is asked once. The
 * one that refused gets no cooldown: it is asked again in the next iteration, and no more if it refuses that too.
 *
 * Contract: at most one other provider per iteration, and none if the route forbids it (`onRefusedRequest`); else the run ends with
 * the messages of both. Source: R-FAIL-7, ADR 0045. `skipsOf` tells the routes that cannot take the request.
 */
export function askNextProvider<State extends FailingState & FailoverSlice>(
  before: State,
  routeIndex: number,
  failure: InfraError,
  skipsOf: (state: State) => (route: RouteConfig) => boolean,
  atMs: number,
): Move<State> {
  const { chain, limits } = prepared(before).snapshot;
  const route = chain[routeIndex];
  const reason = failoverReason(failure);
  invariant(route !== undefined && reason !== undefined, 'a refusal has a route and a reason');
  const name = routeName(route);
  const { iterations: iteration } = before.counters;
  const { provider } = route;
  const { refusedRequests = [] } = before;
  const earlier = refusedRequests.filter((each) => each.provider !== provider);
  const own = refusedRequests.find((each) => each.provider === provider);
  const times = own?.iteration === iteration - 1 ? own.times + 1 : 1;
  const refusal: RefusedRequest = { provider, iteration, times, message: failure.message };
  const refused: State = {
    ...before,
    refusedRequests: [...earlier, refusal],
    health: recordRouteFailure(before.health, name, failure, reason, limits, atMs),
  };
  const isFirst = earlier.every((each) => each.iteration !== iteration);
  const isLast = chain.every(hasRefused(refused));
  if (isFirst && !isLast && route.onRefusedRequest === undefined)
    return useNext(noteFailover(refused, reason), name, reason, skipsOf(refused), atMs);
  return failInfra(refused, failure, whyNobodyElse(route, earlier.at(-1)));
}

/** Takes a reply that the provider's content filter stopped: nothing of it counts. */
export function onFilteredReply<State extends FailingState & FailoverSlice>(
  state: State,
  skipsOf: (state: State) => (route: RouteConfig) => boolean,
  atMs: number,
): Move<State> {
  const routeIndex = state.lastRouteIndex ?? 0;
  const route = prepared(state).snapshot.chain[routeIndex];
  invariant(route !== undefined, 'a reply came from a route');
  const failure: InfraError = {
    kind: 'infra',
    code: 'content_filter',
    message: `${routeName(route)} stopped its reply by its content filter. Change the content, or let another provider answer.`,
    route: routeName(route),
  };
  return andThen(recordInfraError(state, failure), (noted) =>
    askNextProvider(noted, routeIndex, failure, skipsOf, atMs),
  );
}

/** Why no further provider is asked, as the end of a message. */
function whyNobodyElse(
  { onRefusedRequest }: RouteConfig,
  earlier: RefusedRequest | undefined,
): string {
  if (earlier !== undefined)
    return ` Another provider had refused as well, and no more are asked: ${earlier.message}`;
  return onRefusedRequest === undefined
    ? ' The chain has no route of another provider to ask; add one if another may take this request.'
    : " No other provider was asked: this route's onRefusedRequest is 'end-run'.";
}
