/** How reports and probes change a route's shared health. */
import { z } from 'zod';
import { failureMessageChars } from '../../../workflows/core/limits';
import { defined } from '../../../workflows/core/json';
import { valueIn, type RecordRow } from '../sql/record-row';
import type { ProbeRequest, RouteFailure, RouteSuccess, SharedHealth } from '../store';
import { shortened } from '../../../workflows/core/shortened';

/** Milliseconds by which `lastSuccessAtMs` of a healthy route may be late, as each model call of a fleet reports a success. */
const successLagMs = 10_000;

/**
 * Milliseconds by which a report may lie in the future: two readings of the shared clock differ by how long an activity waited
 * in its queue (ADR 0047). A lease may end so much later than one that begins now.
 */
const believableMs = 300_000;

/** The record, unless a clock that was wrong made it: the route would cool down until that time comes. Then it is as new. */
export function believed(known: SharedHealth, atMs: number): SharedHealth {
  const { lastFailureAtMs = 0, lastSuccessAtMs = 0 } = known;
  const isOfFuture = Math.max(lastFailureAtMs, lastSuccessAtMs) > atMs + believableMs;
  return isOfFuture ? initialHealth(known.route) : known;
}

/** Health of a route without reports. */
export function initialHealth(route: string): SharedHealth {
  return { route, status: 'healthy', errorCount: 0, cooldownUntilMs: 0, probeFromMs: 0 };
}

/** Counts a failure: the longest cooldown wins, and the last report describes the route. */
export function afterFailure(stored: SharedHealth, failure: RouteFailure): SharedHealth {
  const known = believed(stored, failure.atMs);
  return {
    ...withoutProbeOf(known, failure.holder),
    status: failure.status,
    errorCount: known.errorCount + 1,
    lastErrorReason: failure.reason,
    lastError: shortened(failure.message, failureMessageChars),
    lastFailureAtMs: Math.max(known.lastFailureAtMs ?? failure.atMs, failure.atMs),
    cooldownUntilMs: Math.max(known.cooldownUntilMs, failure.cooldownUntilMs),
    probeFromMs: Math.max(known.probeFromMs, failure.probeFromMs),
  };
}

/** Clears the record, unless the success began before the last failure. */
export function afterSuccess(stored: SharedHealth, success: RouteSuccess): SharedHealth {
  const known = believed(stored, success.atMs);
  const { lastFailureAtMs, lastSuccessAtMs = success.atMs } = known;
  if (lastFailureAtMs !== undefined && success.startedAtMs < lastFailureAtMs) {
    return withoutProbeOf(known, success.holder);
  }
  const isNews =
    known.status !== 'healthy' ||
    known.probe !== undefined ||
    known.lastSuccessAtMs === undefined ||
    success.atMs >= known.lastSuccessAtMs + successLagMs;
  if (!isNews) return known;
  return {
    ...initialHealth(known.route),
    ...defined({ lastFailureAtMs }),
    lastSuccessAtMs: Math.max(lastSuccessAtMs, success.atMs),
  };
}

/** Grants the lease if it is free and probing may begin, or if the caller holds it. */
export function afterProbeRequest(stored: SharedHealth, request: ProbeRequest): SharedHealth {
  const { holder, atMs, untilMs } = request;
  const known = believed(stored, atMs);
  const leasedUntilMs = known.probe?.untilMs ?? 0;
  const isFree = leasedUntilMs <= atMs || leasedUntilMs > untilMs + believableMs;
  const isGranted = holdsProbe(known, request) || (isFree && known.probeFromMs <= atMs);
  return isGranted ? { ...known, probe: { holder, untilMs } } : known;
}

/** True while the caller holds the lease. */
export function holdsProbe({ probe }: SharedHealth, request: ProbeRequest): boolean {
  return probe?.holder === request.holder && probe.untilMs > request.atMs;
}

/** The record without the lease of `holder`, if it holds it. */
export function withoutProbeOf(known: SharedHealth, holder: string | undefined): SharedHealth {
  if (holder === undefined || known.probe?.holder !== holder) return known;
  const { probe: _ended, ...rest } = known;
  return rest;
}

/** The record in a row; undefined if none, or if it is not what was written for `route`. */
export function healthIn(row: RecordRow | undefined, route: string): SharedHealth | undefined {
  const health = anyHealthIn(row);
  return health?.route === route ? health : undefined;
}

/** The health in a row, whatever route it is of; undefined for a damaged one. */
export function anyHealthIn(row: RecordRow | undefined): SharedHealth | undefined {
  return valueIn(row, isHealth);
}

const healthShape = z.object({
  route: z.string(),
  status: z.string(),
  errorCount: z.number(),
  cooldownUntilMs: z.number(),
  probeFromMs: z.number(),
});

function isHealth(value: unknown): value is SharedHealth {
  return healthShape.safeParse(value).success;
}
