/** Waits while every route of the chain cools down. */
import { infraPolicies } from '../errors/failure-policy';
import type { CountersSlice } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { fail } from '../run/move';
import { startWait } from '../run/waiting';
import type { PhaseSlice } from '../run/phases';
import { routeName } from './provider-health';
import type { FailoverSlice } from './state';
import { shortened } from '../shortened';

type WaitingState = FailoverSlice & SnapshotSlice & PhaseSlice & CountersSlice;

function routeReasons(state: WaitingState): string {
  const { chain } = prepared(state).snapshot;
  return chain
    .map((route) => {
      const health = state.health.routes[routeName(route)];
      return `${routeName(route)}: ${health?.lastErrorReason ?? 'unknown'} (${health?.lastError ?? 'no error recorded'})`;
    })
    .join('; ');
}

/** The reason of the first route, which is what a short label has room for. */
function labelOfRoutes(state: WaitingState): string {
  const [first, ...more] = prepared(state).snapshot.chain.map(routeName);
  const reason = state.health.routes[first ?? '']?.lastErrorReason ?? 'cooldown';
  return more.length === 0 ? `${reason} at ${first}` : `${reason}, and ${more.length} routes more`;
}

/** A durable timer until the first route is free, where waiting can cure it and the limit allows it; else the run fails (R-FAIL-8). */
export function waitForProviders<State extends WaitingState>(
  state: State,
  untilMs: number,
  atMs: number,
): Move<State> {
  const { chain, limits } = prepared(state).snapshot;
  const delayMs = Math.max(untilMs - atMs, 1);
  const curable = chain.some((route) => {
    const reason = state.health.routes[routeName(route)]?.lastErrorReason;
    return reason !== undefined && infraPolicies[reason].healsByWaiting;
  });
  const providerWaitMs = state.providerWaitMs + delayMs;
  const reasons = routeReasons(state);
  if (curable && providerWaitMs <= limits.maxProviderWaitMs)
    return startWait({ ...state, providerWaitMs }, atMs, {
      on: 'provider',
      reason: shortened(reasons, 400),
      label: labelOfRoutes(state),
      delayMs,
      then: 'call-model',
    });
  const why = curable
    ? `waiting longer than limits.maxProviderWaitMs (${limits.maxProviderWaitMs} ms) is not allowed`
    : 'waiting cannot cure it';
  const message = `No provider of the chain can answer, and ${why}. ${reasons}`;
  return fail(
    state,
    { reason: 'chain_exhausted', message },
    { kind: 'infra', code: 'chain_exhausted', message: shortened(message, 500) },
  );
}
