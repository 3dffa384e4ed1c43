/** Health of each route of the chain: cooldown by reason, the next route, the earliest time one can be tried again. */
import type { FailoverReason, InfraError } from './failure';
import type { Limits } from './limits';
import type { RouteConfig } from './ports';

/** Health record of one route (seed 001). */
export interface RouteHealth {
  readonly status: 'healthy' | 'degraded' | 'down';
  readonly errorCount: number;
  readonly lastError?: string;
  readonly lastErrorReason?: FailoverReason;
  readonly lastSuccessAtMs?: number;
  /** Milliseconds since the epoch; 0 = not cooling. */
  readonly cooldownUntilMs: number;
}

/** Health by route name; a route without a record is healthy. */
export interface ProviderHealthState {
  readonly routes: { readonly [route: string]: RouteHealth };
}

/** Nothing known yet. */
export const initialProviderHealth: ProviderHealthState = { routes: {} };

/** `provider/model`, the name of a route in health, events and search attributes. */
export function routeName(route: Pick<RouteConfig, 'provider' | 'model'>): string {
  return `${route.provider}/${route.model}`;
}

const healthy: RouteHealth = { status: 'healthy', errorCount: 0, cooldownUntilMs: 0 };

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
 * Source: seed 001, cooldowns; DESIGN, Layer 1.
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
  const restMs = Math.max(limits.cooldownMs[reason], failure.retryAfterMs ?? 0);
  const errorCount = before.errorCount + 1;
  const record: RouteHealth = {
    ...before,
    status: restMs > 0 ? 'down' : 'degraded',
    errorCount,
    lastError: failure.message,
    lastErrorReason: reason,
    cooldownUntilMs: Math.max(before.cooldownUntilMs, restMs > 0 ? atMs + restMs : 0),
  };
  return { routes: { ...state.routes, [route]: record } };
}

/** What to do about the chain now. */
export type RouteDecision =
  | { readonly type: 'use'; readonly routeIndex: number }
  | { readonly type: 'wait'; readonly untilMs: number };

/** First route of the chain that is not cooling, else the earliest time that one may be tried again. */
export function decideRoute(
  state: ProviderHealthState,
  chain: readonly RouteConfig[],
  atMs: number,
): RouteDecision {
  const restUntil = chain.map((route) => state.routes[routeName(route)]?.cooldownUntilMs ?? 0);
  const routeIndex = restUntil.findIndex((untilMs) => untilMs <= atMs);
  if (routeIndex >= 0) return { type: 'use', routeIndex };
  return { type: 'wait', untilMs: Math.min(...restUntil) };
}
