/** One attempt of a call on a route: deadlines, what is remembered of it, and whether a failure is retried. */
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import type { Allowance } from '../../workflows/core/budget/spend';
import { noSpend } from '../../workflows/core/budget/spend';
import { routeName } from '../../workflows/core/failover/provider-health';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import type { ActivityDeps, RunDefinition } from '../definitions/activity-deps';
import type { ResolvedRoute } from '../definitions/resolve-route';
import { interruption, withHeartbeat } from '../lifecycle/activity-lifecycle';
import { beginDeadline } from '../lifecycle/deadline';
import { defined } from '../../workflows/core/json';
import type { PaidRequest } from './allowance';
import type { AttemptMemory } from './attempt-memory';
import { memoryTextChars, readMemory } from './attempt-memory';
import { applicationFailure } from '../lifecycle/error-mapping';
import { InfraException } from '../lifecycle/infra-exception';
import type { ModelReply, ModelRequest, Provider } from '../providers/provider';
import { splitAtOrphan } from '../providers/stream/tagged-thoughts';
import { withoutSecrets } from '../untrusted/known-secrets';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import type { RouteCall } from './shared-health';
import { admitted, reportAnsweredCall, reportFailedCall, sharedClock } from './shared-health';
import type { MeterReading } from './call-meter';
import { CallMeter } from './call-meter';
import type { Payer } from './tenant-spend';
import { withinTenantCaps } from './tenant-spend';
import { cappedTenant } from '../definitions/tenant-caps';
import type { RequestMeasure } from '../measure/measure-request';
import type { Store } from '../stores/store';
import { thisWorker } from '../lifecycle/worker-identity';

/**
 * The provider of a route.
 *
 * Errors: `worker_mismatch` if this worker does not have it; another worker takes the task.
 */
export function providerOf(deps: ActivityDeps, name: string): Provider {
  const provider = deps.catalog.providers.get(name);
  if (provider !== undefined) return provider;
  throw new InfraException({
    code: 'worker_mismatch',
    message: `${thisWorker()} has no provider "${name}", which the run's chain names. Deploy a worker that has it.`,
  });
}

/**
 * The route at a place of the run's chain.
 *
 * Errors: `config_invalid` if there is none.
 */
export function routeOf(
  { config }: RunDefinition,
  { routeIndex }: { readonly routeIndex: number },
): ResolvedRoute {
  const route = config.chain[routeIndex];
  if (route !== undefined) return route;
  throw new InfraException({
    code: 'config_invalid',
    message: `The run's chain has ${config.chain.length} routes, but route ${routeIndex} was asked for.`,
  });
}

/** Milliseconds that a call on a route may go without content while its server is alive: its own, else the run's. */
export function thinkingMsOn(route: RouteConfig, limits: Limits): number {
  return route.thinkingMs ?? limits.thinkingMs;
}

/** Characters kept of the text: with what a secret at the beginning of its end needs to be recognized. */
const keptTextChars = memoryTextChars + 4_096;

/** An activity that calls a model: what it knows from earlier attempts, and learns in this one. */
export interface Attempting {
  memory: Omit<AttemptMemory, keyof MeterReading>;
  meter: CallMeter;
  /** End of the text so far. */
  partialText: string;
  /** Earlier attempts that never reported their end: their workers died, or were stuck past the heartbeat. */
  readonly lostWorkers: number;
}

/** Why a model call is not sent again; undefined if it may be (ADR 0047). */
export function tooManyLost(
  { lostWorkers }: Attempting,
  route: string,
  { maxLostWorkers }: Limits,
): InfraException | undefined {
  if (lostWorkers < maxLostWorkers) return undefined;
  const message = `The model call on ${route} was given up: ${lostWorkers} workers died or were stuck during it (limits.maxLostWorkers). Look at what ended them, such as memory or a reply that the worker cannot take, and then start the run again.`;
  return new InfraException({ code: 'worker_lost', message, route });
}

/** A route that may be called now. */
export interface OpenRoute {
  readonly store: Store;
  readonly provider: Provider;
  readonly route: ResolvedRoute;
  readonly call: RouteCall;
  /** Whose request it is. */
  readonly payer: Payer;
  /** 0 for a probe: the next prober retries. */
  readonly retries: number;
  readonly clock: () => number;
}

/** A request, and what it was measured as. */
export interface MeasuredRequest {
  readonly request: ModelRequest;
  readonly measure: RequestMeasure;
  /** The request in parts, asked for only if the vendor refuses it as too long. */
  readonly parts?: () => ContextMeasure;
}

/** Fails the attempt according to its policy: retried by Temporal after a delay, or left to the core. */
async function failAttempt(
  { store, provider, call, retries, clock }: OpenRoute,
  attempting: Attempting,
  thrown: unknown,
  parts: MeasuredRequest['parts'],
): Promise<never> {
  const { memory, meter } = attempting;
  const interrupted = interruption();
  if (interrupted !== undefined) {
    meter.chargeBroken(undefined);
    throw interrupted;
  }
  const seen = thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
  meter.chargeBroken(seen);
  const isTooLong = seen.code === 'context_overflow' && parts !== undefined;
  const failure: InfraError = {
    ...seen,
    route: call.route,
    ...meter.spent(),
    ...(isTooLong ? { overflow: { ...seen.overflow, measure: parts() } } : {}),
  };
  const { streamRetryBaseMs } = call.limits;
  const timing = { streamRetryBaseMs, streamRetries: retries };
  const decision = decideRetry(failure, memory.failures.length, timing);
  if (decision.type === 'give-up') {
    await reportFailedCall(store, call, failure, clock());
    const { failures } = memory;
    throw applicationFailure({ ...failure, ...(failures.length > 0 ? { retried: failures } : {}) });
  }
  attempting.memory = {
    ...memory,
    failures: [...memory.failures, failure.code],
    partialText: endOfText(attempting.partialText),
  };
  throw applicationFailure(failure, { delayMs: decision.delayMs });
}

/**
 * Sends one request within what is left to spend and the attempt's deadlines. An attempt that takes too long overall is
 * aborted: Temporal's own limit would retry it as if the worker were lost, uncounted, and paid for each time (ADR 0004, 0007).
 *
 * Errors: ApplicationFailure, which Temporal retries or the core handles; `budget_exhausted` and `tenant_cap`, and nothing was sent
 * then.
 */
export function sendAttempt(
  open: OpenRoute,
  attempting: Attempting,
  asked: MeasuredRequest,
  onText: (text: string) => void = () => undefined,
): Promise<ModelReply> {
  const { measure, request } = asked;
  const paid = { measure, price: open.route.price, maxOutputTokens: request.maxOutputTokens };
  return withinTenantCaps(open.payer, attempting.meter, paid, (limited) =>
    sendMetered(open, attempting, asked, limited, onText),
  );
}

async function sendMetered(
  open: OpenRoute,
  attempting: Attempting,
  { request, parts }: MeasuredRequest,
  paid: PaidRequest,
  onText: (text: string) => void,
): Promise<ModelReply> {
  const { firstByteMs, betweenBytesMs, modelCallTimeoutMs } = open.call.limits;
  const { meter } = attempting;
  const admittedRequest = { ...request, maxOutputTokens: meter.admit(paid) };
  // Each heartbeat is billed. Without a budget, the first one can wait for a call that takes longer (ADR 0034).
  if (meter.isBudgeted) beat(attempting);
  const deadline = beginDeadline(modelCallTimeoutMs, Context.current().cancellationSignal);
  try {
    const reply = await open.provider.send(admittedRequest, {
      signal: deadline.signal,
      firstByteMs,
      betweenBytesMs,
      thinkingMs: thinkingMsOn(open.route, open.call.limits),
      onText: (text) => {
        attempting.partialText = (attempting.partialText + text).slice(-keptTextChars);
        onText(text);
      },
      onSending: (progress) => {
        meter.sending(progress);
      },
    });
    meter.chargeReply(reply);
    return reply;
  } catch (thrown) {
    const message = `the reply was not complete within ${modelCallTimeoutMs} ms (limits.modelCallTimeoutMs)`;
    const failure = deadline.isOver() ? new InfraException({ code: 'timeout', message }) : thrown;
    return await failAttempt(open, attempting, failure, parts);
  } finally {
    deadline.end();
  }
}

/**
 * Runs a call on a route of the run's chain, if the route admits it.
 *
 * Errors: as `admitted`, and those of `work`.
 */
export async function onRoute<Result>(
  deps: ActivityDeps,
  {
    store,
    definition,
    routeIndex,
    holder,
    probe = false,
  }: {
    readonly store: Store;
    readonly definition: RunDefinition;
    readonly routeIndex: number;
    readonly holder: string;
    readonly probe?: boolean | undefined;
  },
  work: (open: OpenRoute) => Promise<Result>,
): Promise<Result> {
  const clock = await sharedClock(store);
  const { limits } = definition.config;
  const route = routeOf(definition, { routeIndex });
  const provider = providerOf(deps, route.provider);
  const call: RouteCall = { route: routeName(route), holder, limits, startedAtMs: clock() };
  return admitted(store, call, async (admission) => {
    const retries = probe || admission.isProbe ? 0 : limits.streamRetries;
    const capped = cappedTenant(deps.tenantCaps, definition.config.tenant);
    const payer = { store, capped, clock, timeoutMs: limits.modelCallTimeoutMs };
    const result = await work({ store, provider, route, call, payer, retries, clock });
    await reportAnsweredCall(store, call, admission, clock());
    return result;
  });
}

/** Reports to the next attempt, or to the core, what this one and those before it consumed. Returns the error to throw. */
function settleAttempt({ memory, meter }: Attempting, thrown: unknown): unknown {
  const context = Context.current();
  const { attempt } = context.info;
  context.heartbeat({
    ...memory,
    ...meter.reading(),
    endedAttempts: memory.endedAttempts + 1,
    settledAttempts: attempt - meter.lostAttempts,
  } satisfies AttemptMemory);
  const spent = {
    ...meter.spent(),
    ...(meter.lostAttempts > 0 ? ({ spendUnknown: true } as const) : {}),
  };
  const interrupted = interruption();
  if (interrupted instanceof CancelledFailure)
    return new CancelledFailure('CANCELLED', [{ ...abandoned, ...spent }]);
  if (interrupted !== undefined || !(thrown instanceof InfraException)) return thrown;
  return new InfraException({ ...thrown.failure, ...spent }, { cause: thrown });
}

/** Details of a cancelled call, without its consumption. */
const abandoned: InfraError = {
  kind: 'infra',
  code: 'worker_lost',
  message: 'The activity was cancelled.',
};

/** The end of the text that has arrived: without thoughts that were never opened, without secrets, then cut. */
function endOfText(partialText: string): string {
  const { answer } = splitAtOrphan(partialText);
  return withoutSecrets(stripHidden(answer)).slice(-memoryTextChars);
}

/**
 * A heartbeat's details: the failures so far, what was consumed, and the end of the text that has arrived. They are for people,
 * for the next attempt, and, if there is none, for the run.
 */
function heartbeatDetails({ memory, meter, partialText }: Attempting): AttemptMemory {
  return {
    ...memory,
    ...meter.reading(),
    settledAttempts: Context.current().info.attempt - 1 - meter.lostAttempts,
    ...(partialText === '' ? {} : { partialText: endOfText(partialText) }),
  };
}

/**
 * Sends a heartbeat right before a request. If it is the attempt's first heartbeat, the SDK sends it at once; later ones may be
 * held back for the worker's `heartbeatIntervalMs`.
 */
export function beat(attempting: Attempting): void {
  Context.current().heartbeat(heartbeatDetails(attempting));
}

/**
 * Runs the work of an activity that calls a model: heartbeats carry what the next attempt must know, and every end reports
 * what was consumed.
 *
 * `sends`: whether the work sends requests. With `always`, an attempt that left no heartbeat counts as lost. `perhaps` is for
 * work that is only a part of the activity: then only a heartbeat tells that a request was sent.
 */
export async function withAttempts<Result>(
  allowance: Allowance | undefined,
  work: (attempting: Attempting) => Promise<Result>,
  sends: 'always' | 'perhaps' | 'never' = 'always',
): Promise<Result> {
  const { info } = Context.current();
  const { open, spend, sent, ...memory } = readMemory(info.heartbeatDetails);
  const unsettled = info.attempt - 1 - memory.settledAttempts - (open === undefined ? 0 : 1);
  const lostAttempts = sends === 'always' ? Math.max(unsettled, 0) : 0;
  const meter = new CallMeter({ allowance, spend, sent, lostAttempts, ...defined({ open }) });
  const lostWorkers = Math.max(info.attempt - 1 - memory.endedAttempts, 0);
  const attempting: Attempting = { memory, meter, partialText: '', lostWorkers };
  return withHeartbeat(
    () => ({ ...heartbeatDetails(attempting), ...(sends === 'never' ? { open: noSpend } : {}) }),
    async () => {
      try {
        return await work(attempting);
      } catch (thrown) {
        throw settleAttempt(attempting, thrown);
      }
    },
    sends === 'never' ? 'at-once' : 'later',
  );
}
