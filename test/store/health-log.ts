/** Shared health as a log of what was reported, from which everything is derived anew: what the stores are compared with. */
import type {
  HealthStore,
  ProbeRequest,
  RouteFailure,
  RouteSuccess,
  SharedHealth,
} from '../../activities/stores/store';

interface Log {
  /** All failures ever. */
  readonly failures: RouteFailure[];
  /** Those that no success has cleared. */
  readonly open: RouteFailure[];
  readonly successes: number[];
  readonly leases: ProbeRequest[];
}

/** The latest of some times; undefined of none. */
function latest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.max(...times);
}

/** A store of health that keeps nothing but the log. */
export class HealthLog implements HealthStore {
  readonly #logs = new Map<string, Log>();

  readHealth(routes: readonly string[]): Promise<readonly SharedHealth[]> {
    return Promise.resolve(routes.filter((route) => this.#logs.has(route)).map(this.#derive));
  }

  reportFailure(failure: RouteFailure): Promise<SharedHealth> {
    const log = this.#log(failure.route);
    log.failures.push(failure);
    log.open.push(failure);
    endLease(log, failure.holder);
    return Promise.resolve(this.#derive(failure.route));
  }

  reportSuccess({ route, startedAtMs, holder, atMs }: RouteSuccess): Promise<void> {
    const isKnown = this.#logs.has(route);
    const log = this.#log(route);
    const isLate = log.failures.some((failure) => failure.atMs > startedAtMs);
    const isQuiet = isKnown && log.open.length === 0 && log.leases.length === 0;
    const isRepeat = isQuiet && atMs - (latest(log.successes) ?? -Infinity) < 10_000;
    if (isLate) endLease(log, holder);
    if (isLate || isRepeat) return Promise.resolve();
    log.successes.push(atMs);
    log.open.length = 0;
    log.leases.length = 0;
    return Promise.resolve();
  }

  acquireProbe(request: ProbeRequest): Promise<boolean> {
    const isKnown = this.#logs.has(request.route);
    const log = this.#log(request.route);
    const current = log.leases.find((lease) => lease.untilMs > request.atMs);
    const isDue = log.open.every((failure) => failure.probeFromMs <= request.atMs);
    const isGranted = current === undefined ? isDue : current.holder === request.holder;
    if (isGranted) log.leases.splice(0, 1, request);
    else if (!isKnown) this.#logs.delete(request.route);
    return Promise.resolve(isGranted && request.untilMs > request.atMs);
  }

  releaseProbe({ route, holder }: Pick<ProbeRequest, 'route' | 'holder'>): Promise<void> {
    const log = this.#logs.get(route);
    if (log !== undefined) endLease(log, holder);
    return Promise.resolve();
  }

  #log(route: string): Log {
    const log = this.#logs.get(route) ?? { failures: [], open: [], successes: [], leases: [] };
    this.#logs.set(route, log);
    return log;
  }

  readonly #derive = (route: string): SharedHealth => {
    const { failures, open, successes, leases } = this.#log(route);
    const last = open.at(-1);
    const lastFailureAtMs = latest(failures.map((failure) => failure.atMs));
    const lastSuccessAtMs = latest(successes);
    const [lease] = leases;
    return {
      route,
      status: last?.status ?? 'healthy',
      errorCount: open.length,
      ...(last === undefined ? {} : { lastErrorReason: last.reason, lastError: last.message }),
      ...(lastFailureAtMs === undefined ? {} : { lastFailureAtMs }),
      ...(lastSuccessAtMs === undefined ? {} : { lastSuccessAtMs }),
      cooldownUntilMs: Math.max(0, ...open.map((failure) => failure.cooldownUntilMs)),
      probeFromMs: Math.max(0, ...open.map((failure) => failure.probeFromMs)),
      ...(lease === undefined ? {} : { probe: { holder: lease.holder, untilMs: lease.untilMs } }),
    };
  };
}

function endLease(log: Log, holder: string | undefined): void {
  if (log.leases[0]?.holder === holder) log.leases.length = 0;
}
