/** The slice of the routes that a run calls: their health, and what failover has done. */
import type { RouteMedia } from '../message';
import type { ModelPrice } from '../budget/spend';
import type { ThoughtReplay } from '../failure';
import type { FailoverReason } from '../limits';
import type { CountersSlice } from '../run/account';

/** One model at one provider: what fails over, cools down and is probed. */
export interface RouteConfig {
  /** Name of a provider that the worker was given, such as `anthropic`. */
  readonly provider: string;
  readonly model: string;
  /** `text` for models without native tool calls. */
  readonly toolProtocol: 'native' | 'text';
  readonly maxOutputTokens: number;
  readonly windowTokens: number;
  /** Only with `end-run`: what this route refuses goes to no other provider. */
  readonly onRefusedRequest?: 'end-run';
  /** Replaces the limit of the same name. */
  readonly thinkingMs?: number;
  /** What the model takes beside text, with the most bytes of one file; absent: unknown, so that all is sent. */
  readonly media?: RouteMedia;
  /** Absent if nobody knows what the model costs. */
  readonly price?: ModelPrice;
}

/** Health record of one route (R-FAIL-3). */
export interface RouteHealth {
  readonly status: 'healthy' | 'degraded' | 'down';
  readonly errorCount: number;
  readonly lastError?: string;
  readonly lastErrorReason?: FailoverReason;
  readonly lastSuccessAtMs?: number;
  /** Milliseconds since the epoch; 0 = not cooling. */
  readonly cooldownUntilMs: number;
  /** Milliseconds since the epoch from which one prober may try the route again. */
  readonly probeFromMs: number;
}

/** Health by route name; a route without a record is healthy. */
export interface ProviderHealthState {
  readonly routes: { readonly [route: string]: RouteHealth };
}

/** A provider's refusal of the request itself, which says nothing about what another provider would do with it. */
export interface RefusedRequest {
  readonly provider: string;
  readonly iteration: number;
  /** Iterations in a row in which it refused. */
  readonly times: number;
  /** Of the failure, at most 500 characters. */
  readonly message: string;
}

/** The slice that failover owns. */
export interface FailoverSlice {
  readonly health: ProviderHealthState;
  /** Reasons for which this iteration moved to another route, bounded. */
  readonly failedOver: readonly string[];
  /** The latest refusal of each provider that refused a request of this run. */
  readonly refusedRequests?: readonly RefusedRequest[];
  /** Milliseconds that the run has waited for cooling routes. */
  readonly providerWaitMs: number;
  /** How thoughts go back to routes that refused them, by route name; absent if none did. */
  readonly thoughtReplay?: { readonly [route: string]: ThoughtReplay };
  /** Routes that refused to enforce the form of a reply; absent if none did. */
  readonly unstructured?: readonly string[];
  /** Identity of what the last reply's model did not get of the conversation's media, with its route: told once. */
  readonly mediaLeftOut?: string;
  /** Place of the last called route in the chain. */
  readonly lastRouteIndex?: number;
}

/** Nothing is known, and nothing was called. */
export const initialFailover: FailoverSlice = {
  health: { routes: {} },
  failedOver: [],
  providerWaitMs: 0,
};

/** Iterations in a row in which a provider refuses before the run asks it no more: it refuses something that stays in the conversation (ADR 0045). */
const lastingRefusals = 2;

/** Tells the routes whose provider refused this iteration's request, or is not asked again in this run. */
export function hasRefused({
  refusedRequests = [],
  counters,
}: FailoverSlice & CountersSlice): (route: RouteConfig) => boolean {
  const out = refusedRequests.filter(
    ({ iteration, times }) => iteration === counters.iterations || times >= lastingRefusals,
  );
  return (route) => out.some(({ provider }) => provider === route.provider);
}

/** Reasons that are kept of one iteration. */
const keptReasons = 8;

/** Notes that the iteration moves to another route, for this reason. */
export function noteFailover<State extends FailoverSlice>(state: State, reason: string): State {
  return { ...state, failedOver: [...state.failedOver, reason].slice(-keptReasons) };
}
