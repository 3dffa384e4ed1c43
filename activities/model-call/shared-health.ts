/** Provider health shared by all runs: reads the store before a call and reports after it. */
import { Context } from '@temporalio/activity';
import type { FailoverReason, Limits } from '../../workflows/core/limits';
import type { InfraError } from '../../workflows/core/failure';
import {
  failoverReason,
  infraPolicies,
  infraPolicy,
} from '../../workflows/core/errors/failure-policy';
import { cooldownAfter } from '../../workflows/core/failover/provider-health';
import { interruption } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import { afterSuccess, believed } from '../stores/content/health-record';
import type { SharedHealth, Store } from '../stores/store';

/** A call on a route, for the health that all runs share. */
export interface RouteCall {
  readonly route: string;
  /** Stable over attempts and workers. */
  readonly holder: string;
  readonly limits: Limits;
  readonly startedAtMs: number;
}

/** A reading of a store's clock, and when it was made by this process's monotonic clock. */
interface ClockReading {
  readonly nowMs: number;
  readonly readAtMs: number;
}

const readings = new WeakMap<Pick<Store, 'now'>, ClockReading>();

/** Milliseconds for which a reading serves: it may be late by so much where the whole machine was paused meanwhile. */
const readingMs = 10_000;

async function readClock(store: Pick<Store, 'now'>): Promise<ClockReading> {
  const known = readings.get(store);
  if (known !== undefined && performance.now() - known.readAtMs < readingMs) return known;
  const reading = { nowMs: await store.now(), readAtMs: performance.now() };
  readings.set(store, reading);
  return reading;
}

/**
 * The clock that all workers share: the store's, or the Temporal server's if that is ahead, as where it skips time. A machine's
 * own clock may be wrong by years, and one such worker would decide for all (ADR 0047).
 *
 * Errors: `store_unavailable`.
 */
export async function sharedClock(store: Pick<Store, 'now'>): Promise<() => number> {
  const { currentAttemptScheduledTimestampMs } = Context.current().info;
  const { nowMs, readAtMs } = await readClock(store);
  const passedMs = performance.now() - readAtMs;
  const aheadMs = Math.max(currentAttemptScheduledTimestampMs - (nowMs + passedMs), 0);
  return () => Math.round(nowMs + aheadMs + performance.now() - readAtMs);
}

/** Leave for a call. */
export interface Admission {
  /** It is the one call that tries a recovering route for all runs. */
  readonly isProbe: boolean;
  /** What all runs knew of the route before; undefined without reports. */
  readonly health: SharedHealth | undefined;
}

function routeUnavailable(call: RouteCall, health: SharedHealth, untilMs: number): InfraException {
  const reason: FailoverReason = health.lastErrorReason ?? 'unknown';
  return new InfraException({
    code: reason,
    message: `${call.route} is cooling down after another run's failure (${reason}): ${health.lastError ?? 'no message'}`,
    route: call.route,
    retryAfterMs: Math.max(untilMs - call.startedAtMs, 1),
    spared: true,
  });
}

/**
 * Milliseconds after a failure that only people can fix until one run tries the route for all: people who fixed the key or the
 * account must not wait for the end of the cooldown, and a worker with a wrong key must not stop all runs that long (ADR 0017).
 */
const fixedProbeMs = 5_000;

/** When this run may use the route again: a failure that only people can fix cools the route down as if it had failed here. */
function returnAtMs({ lastErrorReason, cooldownUntilMs }: SharedHealth, probeMs: number): number {
  const heals = lastErrorReason === undefined || infraPolicies[lastErrorReason].healsByWaiting;
  return heals ? probeMs : cooldownUntilMs;
}

async function admitCall(store: Store, call: RouteCall): Promise<Admission> {
  const { startedAtMs } = call;
  const [stored] = await store.readHealth([call.route]);
  const health = stored && believed(stored, startedAtMs);
  if (health === undefined || health.cooldownUntilMs === 0)
    return { isProbe: false, health: stored };
  if (startedAtMs < health.probeFromMs)
    throw routeUnavailable(call, health, returnAtMs(health, health.probeFromMs));
  const untilMs = startedAtMs + call.limits.probeLeaseMs;
  const isProber = await store.acquireProbe({
    route: call.route,
    holder: call.holder,
    atMs: startedAtMs,
    untilMs,
  });
  if (isProber) return { isProbe: true, health: stored };
  throw routeUnavailable(call, health, returnAtMs(health, health.probe?.untilMs ?? untilMs));
}

/** Shared health is optional: if the store is unavailable, the report is dropped, and the run keeps its reply or failure. */
async function reportIfPossible(report: Promise<unknown>): Promise<void> {
  try {
    await report;
  } catch (thrown) {
    if (thrown instanceof InfraException && thrown.failure.code === 'store_unavailable') return;
    throw thrown;
  }
}

/**
 * Runs a call, if its route admits it. A probe that ends without a report, since it was cancelled, could not be paid or failed
 * for a reason of the run's own, gives its lease back; one whose worker shuts down keeps it for the next worker.
 *
 * Errors: those of `work`; `InfraException` with the reason of the route's last failure and `spared`, if the route is cooling
 * or another run is probing it, and no request was sent then.
 */
export async function admitted<Result>(
  store: Store,
  call: RouteCall,
  work: (admission: Admission) => Promise<Result>,
): Promise<Result> {
  const admission = await admitCall(store, call);
  try {
    return await work(admission);
  } finally {
    const goesOn = interruption() instanceof InfraException;
    if (admission.isProbe && !goesOn) await reportIfPossible(store.releaseProbe(call));
  }
}

/** Reports a failure that moves a run to its next route. */
export async function reportFailedCall(
  store: Store,
  call: RouteCall,
  failure: InfraError,
  atMs: number,
): Promise<void> {
  const reason = failoverReason(failure);
  if (reason === undefined || infraPolicy(failure).action !== 'fail-over') return;
  const cooldown = cooldownAfter(reason, failure, call.limits, atMs);
  const soonest = atMs + Math.max(fixedProbeMs, failure.retryAfterMs ?? 0);
  const report = store.reportFailure({
    route: call.route,
    reason,
    message: failure.message,
    status: cooldown.cooldownUntilMs > 0 ? 'down' : 'degraded',
    ...cooldown,
    ...(infraPolicies[reason].healsByWaiting
      ? {}
      : { probeFromMs: Math.min(cooldown.probeFromMs, soonest) }),
    holder: call.holder,
    atMs,
  });
  await reportIfPossible(report);
}

/** Reports that a route answers, unless that is no news: a failure that came meanwhile is younger than the call, and stays. */
export async function reportAnsweredCall(
  store: Store,
  call: RouteCall,
  { isProbe, health }: Admission,
  atMs: number,
): Promise<void> {
  const { route, startedAtMs, holder } = call;
  const success = { route, startedAtMs, holder, atMs };
  const isNews = isProbe || health === undefined || afterSuccess(health, success) !== health;
  if (isNews) await reportIfPossible(store.reportSuccess(success));
}
