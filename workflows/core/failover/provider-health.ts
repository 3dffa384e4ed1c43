/** Health of each route of the chain: cooldown by reason, the next route, the earliest time one can be tried again. */
import type { FailoverReason, Limits } from '../limits';
import type { InfraError } from '../failure';
import type { RouteConfig, ProviderHealthState, RouteHealth } from './state';

/** `provider/model`, the name of a route in health, events and search attributes. */
export function routeName(route: Pick<RouteConfig, 'provider' | 'model'>): string {
  return `${route.provider}/${route.model}`;
}

const healthy: RouteHealth = {
  status: 'healthy',
  errorCount: 0,
  cooldownUntilMs: 0,
  probeFromMs: 0,
};

/** When a route that failed may be tried again. */
export interface Cooldown {
  readonly cooldownUntilMs: number;
  readonly probeFromMs: number;
}

/**
 * How long a route cools down after a failure.
 *
 * Source: R-FAIL-1, R-FAIL-5, R-FAIL-6. A short cooldown is probed at half of it: at its start the probe would be an
 * immediate retry (ADR 0017).
 */
export function cooldownAfter(
  reason: FailoverReason,
  failure: Pick<InfraError, 'retryAfterMs' | 'spared'>,
  limits: Pick<Limits, 'cooldownMs' | 'probeLeadMs'>,
  atMs: number,
): Cooldown {
  const requestedMs = failure.retryAfterMs ?? 0;
  if (failure.spared === true)
    return { cooldownUntilMs: atMs + requestedMs, probeFromMs: atMs + requestedMs };
  const cooldownMs = Math.max(limits.cooldownMs[reason], requestedMs);
  const leadMs = Math.min(limits.probeLeadMs, Math.floor(cooldownMs / 2));
  return {
    cooldownUntilMs: cooldownMs > 0 ? atMs + cooldownMs : 0,
    probeFromMs: cooldownMs > 0 ? atMs + Math.max(cooldownMs - leadMs, requestedMs) : 0,
  };
}

/** Records a success: the route is healthy again. */
export function recordRouteSuccess(
  state: ProviderHealthState,
  route: string,
  atMs: number,
): ProviderHealthState {
  return { routes: { ...state.routes, [route]: { ...healthy, lastSuccessAtMs: atMs } } };
}

/**
 * Records a failure and starts the reason's cooldown; a longer Retry-After wins.
 *
 * Source: R-FAIL-1, R-FAIL-6.
 */
export function recordRouteFailure(
  state: ProviderHealthState,
  route: string,
  failure: InfraError,
  reason: FailoverReason,
  limits: Limits,
  atMs: number,
): ProviderHealthState {
  const before = state.routes[route] ?? healthy;
  const cooldown = cooldownAfter(reason, failure, limits, atMs);
  const errorCount = before.errorCount + 1;
  const record: RouteHealth = {
    ...before,
    status: cooldown.cooldownUntilMs > 0 ? 'down' : 'degraded',
    errorCount,
    lastError: failure.message,
    lastErrorReason: reason,
    cooldownUntilMs: Math.max(before.cooldownUntilMs, cooldown.cooldownUntilMs),
    probeFromMs: Math.max(before.probeFromMs, cooldown.probeFromMs),
  };
  return { routes: { ...state.routes, [route]: record } };
}

/** What to do about the chain now. */
export type RouteDecision =
  | { readonly type: 'use'; readonly routeIndex: number }
  | { readonly type: 'wait'; readonly untilMs: number };

/** True for a route that failed and has not answered since: it is tried by one prober at a time. */
export function isRecovering(state: ProviderHealthState, route: string): boolean {
  return (state.routes[route]?.cooldownUntilMs ?? 0) > 0;
}

/** First route of the chain that may be tried, else the earliest time that one may. If every route would be skipped, none is. */
export function decideRoute(
  state: ProviderHealthState,
  chain: readonly RouteConfig[],
  atMs: number,
  skips: (route: RouteConfig) => boolean = () => false,
): RouteDecision {
  const passesOver = chain.every(skips) ? () => false : skips;
  const triedFromMs = chain.map((route) =>
    passesOver(route) ? Infinity : (state.routes[routeName(route)]?.probeFromMs ?? 0),
  );
  const routeIndex = triedFromMs.findIndex((untilMs) => untilMs <= atMs);
  if (routeIndex >= 0) return { type: 'use', routeIndex };
  return { type: 'wait', untilMs: Math.min(...triedFromMs) };
}
