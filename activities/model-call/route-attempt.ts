/** One attempt of a call on a route: deadlines, what is remembered of it, and whether a failure is retried. */
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { InfraError } from '../../workflows/core/failure';
import type { Limits } from '../../workflows/core/limits';
import type { Allowance } from '../../workflows/core/budget/spend';
import { totalTokens } from '../../workflows/core/budget/spend';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import type { ActivityDeps, RunDefinition } from '../definitions/activity-deps';
import { interruption, withHeartbeat } from '../lifecycle/activity-lifecycle';
import type { AttemptMemory } from './attempt-memory';
import { freshMemory, memoryTextChars, readMemory } from './attempt-memory';
import { applicationFailure } from '../lifecycle/error-mapping';
import { InfraException } from '../lifecycle/infra-exception';
import type { BrokenReply, ModelReply, ModelRequest, Provider } from '../providers/provider';
import { redactText } from '../../workflows/core/secrets/redact';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import type { RouteCall } from './shared-health';
import { reportFailedCall } from './shared-health';
import { CallMeter } from './call-meter';
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
): RouteConfig {
  const route = config.chain[routeIndex];
  if (route !== undefined) return route;
  throw new InfraException({
    code: 'config_invalid',
    message: `The run's chain has ${config.chain.length} routes, but route ${routeIndex} was asked for.`,
  });
}

/** One attempt of a model call: what it needs, and what it learns while it runs. */
export interface Attempt {
  readonly store: Store;
  readonly provider: Provider;
  readonly call: RouteCall;
  /** 0 for a probe: the next prober retries. */
  readonly retries: number;
  readonly clock: () => number;
  readonly meter: CallMeter;
  /** End of the text so far. */
  partialText: string;
  memory: AttemptMemory;
  broken?: BrokenReply;
  /** The request in parts, asked for only if the vendor refuses it as too long. */
  readonly measure?: () => ContextMeasure;
}

/** What a failure reports about the call's consumption, if anything. */
function spendOfCall(meter: CallMeter): Pick<InfraError, 'spend'> {
  const { spend } = meter;
  return totalTokens(spend.usage) === 0 ? {} : { spend };
}

function withMeasure(failure: InfraError, { measure }: Attempt): InfraError {
  if (failure.code !== 'context_overflow' || measure === undefined) return failure;
  return { ...failure, overflow: { ...failure.overflow, measure: measure() } };
}

/** Fails the attempt according to its policy: retried by Temporal after a delay, or left to the core. */
async function failAttempt(attempt: Attempt, thrown: unknown): Promise<never> {
  const { provider, memory, call, meter } = attempt;
  const interrupted = interruption();
  if (interrupted !== undefined) {
    meter.chargeBroken(attempt.broken, undefined);
    throw interrupted;
  }
  const seen = thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
  meter.chargeBroken(attempt.broken, seen);
  const failure = withMeasure({ ...seen, route: call.route, ...spendOfCall(meter) }, attempt);
  const { streamRetryBaseMs } = call.limits;
  const timing = { streamRetryBaseMs, streamRetries: attempt.retries };
  const decision = decideRetry(failure, memory.failures.length, timing);
  if (decision.type === 'give-up') {
    await reportFailedCall(attempt.store, call, failure, attempt.clock());
    throw applicationFailure(failure);
  }
  attempt.memory = {
    ...memory,
    failures: [...memory.failures, failure.code],
    partialText: redactText(stripHidden(attempt.partialText)),
  };
  throw applicationFailure(failure, { delayMs: decision.delayMs });
}

/**
 * Aborts an attempt that takes too long overall. Temporal's own limit would retry it as if the worker were lost: uncounted, and
 * paid for each time (ADR 0004, 0007).
 */
function attemptDeadline({ modelCallTimeoutMs }: Limits): { signal: AbortSignal; clear(): void } {
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    const message = `the reply was not complete within ${modelCallTimeoutMs} ms (limits.modelCallTimeoutMs)`;
    deadline.abort(new InfraException({ code: 'timeout', message }));
  }, modelCallTimeoutMs);
  return {
    signal: deadline.signal,
    clear: () => {
      clearTimeout(timer);
    },
  };
}

/**
 * Sends one request within the attempt's deadlines.
 *
 * Errors: ApplicationFailure, which Temporal retries or the core handles.
 */
export async function sendAttempt(attempt: Attempt, request: ModelRequest): Promise<ModelReply> {
  const { limits } = attempt.call;
  const { firstByteMs, betweenBytesMs, thinkingMs } = limits;
  const deadline = attemptDeadline(limits);
  try {
    return await attempt.provider.send(request, {
      signal: AbortSignal.any([Context.current().cancellationSignal, deadline.signal]),
      firstByteMs,
      betweenBytesMs,
      thinkingMs,
      onText: (text) => {
        attempt.partialText = (attempt.partialText + text).slice(-memoryTextChars);
      },
      onBroken: (broken) => {
        attempt.broken = broken;
      },
    });
  } catch (thrown) {
    return await failAttempt(attempt, thrown);
  } finally {
    deadline.clear();
  }
}

/** This machine's clock, or the server's if that is ahead: it skips time in tests, and a machine's clock may lag. */
export function serverClock(deps: ActivityDeps): () => number {
  const beganAtMs = deps.clock();
  const { currentAttemptScheduledTimestampMs } = Context.current().info;
  return () => {
    const nowMs = deps.clock();
    return Math.max(nowMs, currentAttemptScheduledTimestampMs + (nowMs - beganAtMs));
  };
}

/** The current attempt, and what it knows from earlier ones. */
export interface Attempting {
  memory: AttemptMemory;
  meter: CallMeter;
  attempt?: Attempt;
}

/** Reports to the next attempt, or to the core, what this one and those before it consumed. Returns the error to throw. */
function settleAttempt({ memory, meter, attempt }: Attempting, thrown: unknown): unknown {
  const context = Context.current();
  context.heartbeat({
    ...(attempt?.memory ?? memory),
    spend: meter.spend,
    settledAttempts: meter.hasAdmitted ? context.info.attempt : memory.settledAttempts + 1,
  } satisfies AttemptMemory);
  const interrupted = interruption();
  if (interrupted instanceof CancelledFailure)
    return new CancelledFailure('CANCELLED', [{ ...abandoned, ...spendOfCall(meter) }]);
  if (interrupted !== undefined || !(thrown instanceof InfraException)) return thrown;
  return new InfraException({ ...thrown.failure, ...spendOfCall(meter) }, { cause: thrown });
}

/** Details of a cancelled call, without its consumption. */
const abandoned: InfraError = {
  kind: 'infra',
  code: 'worker_lost',
  message: 'The activity was cancelled.',
};

/** A heartbeat's details: the failures so far, and the end of the text that has arrived, for people and the next attempt. */
function heartbeatDetails(attempt: Attempt | undefined): AttemptMemory | undefined {
  if (attempt === undefined) return undefined;
  const { memory, partialText } = attempt;
  return partialText === ''
    ? memory
    : { ...memory, partialText: redactText(stripHidden(partialText)) };
}

/**
 * Runs the work of an activity that calls a model: heartbeats carry what the next attempt must know, and every end reports
 * what was consumed.
 */
export async function withAttempts<Result>(
  allowance: Allowance | undefined,
  work: (attempting: Attempting) => Promise<Result>,
): Promise<Result> {
  const { info } = Context.current();
  const memory = readMemory(info.heartbeatDetails ?? freshMemory);
  const meter = new CallMeter({
    allowance,
    spend: memory.spend,
    lostAttempts: Math.max(info.attempt - 1 - memory.settledAttempts, 0),
  });
  const attempting: Attempting = { memory, meter };
  return withHeartbeat(
    () => heartbeatDetails(attempting.attempt) ?? attempting.memory,
    async () => {
      try {
        return await work(attempting);
      } catch (thrown) {
        throw settleAttempt(attempting, thrown);
      }
    },
  );
}
