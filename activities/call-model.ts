/** The activity `callModel`: appends what is pending, sends one request, checks the reply and stores it. */
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { InfraError } from '../workflows/core/failure';
import type { Limits } from '../workflows/core/limits';
import { totalTokens } from '../workflows/core/model-price';
import type { CallModelInput, CallModelResult, RouteConfig } from '../workflows/core/ports';
import { routeName } from '../workflows/core/provider-health';
import { decideRetry, retryNudge } from '../workflows/core/stream-recovery';
import type { ActivityDeps, RunDefinition } from './activity-deps';
import { loadDefinition, storeOf } from './activity-deps';
import { interruption, withHeartbeat } from './activity-lifecycle';
import type { AttemptMemory } from './attempt-memory';
import { freshMemory, memoryTextChars, readMemory } from './attempt-memory';
import type { MeasuredCall } from './context/call-measure';
import { countOfCall, measureCall } from './context/call-measure';
import { applicationFailure } from './error-mapping';
import { InfraException } from './infra-exception';
import { tellCorpus } from './learning/tell-corpus';
import { appendPending } from './pending-results';
import type { BrokenReply, ModelReply, ModelRequest, Provider } from './providers/provider';
import { renderTextProtocolRequest } from './providers/text-tool-protocol';
import { redactText } from './redact';
import { takeReply } from './reply-intake';
import type { RouteCall } from './shared-health';
import { admitCall, reportAnsweredCall, reportFailedCall } from './shared-health';
import { CallMeter } from './spending/call-meter';
import type { Store } from './store';

function providerOf(deps: ActivityDeps, name: string): Provider {
  const provider = deps.catalog.provider(name);
  if (provider !== undefined) return provider;
  throw new InfraException({
    code: 'config_invalid',
    message: `This worker has no provider "${name}", which the run's chain names. Deploy a worker that has it.`,
  });
}

function noteOf(input: CallModelInput, memory: AttemptMemory): string | undefined {
  const lastFailure = memory.failures.at(-1);
  const nudge = lastFailure === undefined ? undefined : retryNudge(lastFailure, memory.partialText);
  const parts = [input.note, nudge].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

function routeOf({ config }: RunDefinition, input: CallModelInput): RouteConfig {
  const route = config.chain[input.routeIndex];
  if (route !== undefined) return route;
  throw new InfraException({
    code: 'config_invalid',
    message: `The run's chain has ${config.chain.length} routes, but route ${input.routeIndex} was asked for.`,
  });
}

function requestOf(
  input: CallModelInput,
  definition: RunDefinition,
  messages: ModelRequest['messages'],
  memory: AttemptMemory,
): ModelRequest {
  const { config } = definition;
  const route = routeOf(definition, input);
  const note = noteOf(input, memory);
  return {
    model: route.model,
    system: config.system,
    messages,
    tools: config.tools,
    maxOutputTokens: input.maxOutputTokens ?? route.maxOutputTokens,
    ...(note === undefined ? {} : { note }),
    ...(route.temperature === undefined ? {} : { temperature: route.temperature }),
  };
}

/** One attempt of a model call: what it needs, and what it learns while it runs. */
interface Attempt {
  readonly store: Store;
  readonly provider: Provider;
  readonly call: RouteCall;
  /** Retries of a probe are the next prober's. */
  readonly retries: number;
  readonly clock: () => number;
  readonly meter: CallMeter;
  /** End of the text so far. */
  partialText: string;
  memory: AttemptMemory;
  broken?: BrokenReply;
}

/** What a failure tells of the call's consumption: nothing, where there was none. */
function spendOfCall(meter: CallMeter): Pick<InfraError, 'spend'> {
  const { spend } = meter;
  return totalTokens(spend.usage) === 0 ? {} : { spend };
}

/** Fails the attempt as the recovery policy says: repeated by Temporal after a delay, or handed to the core. */
async function failAttempt(attempt: Attempt, thrown: unknown): Promise<never> {
  const { provider, memory, call, meter } = attempt;
  const interrupted = interruption();
  if (interrupted !== undefined) {
    meter.broke(attempt.broken, undefined);
    throw interrupted;
  }
  const seen = thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
  meter.broke(attempt.broken, seen);
  const failure = { ...seen, route: call.route, ...spendOfCall(meter) };
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
    partialText: redactText(attempt.partialText),
  };
  throw applicationFailure(failure, { delayMs: decision.delayMs });
}

/**
 * Aborts an attempt that takes too long in all. Left to Temporal's own limit, the attempt would be repeated as if its worker
 * had died: uncounted, and paid for each time (ADR 0004, 0007).
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

async function send(attempt: Attempt, request: ModelRequest): Promise<ModelReply> {
  const { limits } = attempt.call;
  const { firstByteMs, betweenBytesMs } = limits;
  const deadline = attemptDeadline(limits);
  try {
    return await attempt.provider.send(request, {
      signal: AbortSignal.any([Context.current().cancellationSignal, deadline.signal]),
      firstByteMs,
      betweenBytesMs,
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

/** This machine's clock, or the server's where that is ahead: it skips time in tests, and a machine's clock may lag. */
function serverClock(deps: ActivityDeps): () => number {
  const beganAtMs = deps.clock();
  const { currentAttemptScheduledTimestampMs } = Context.current().info;
  return () => {
    const nowMs = deps.clock();
    return Math.max(nowMs, currentAttemptScheduledTimestampMs + (nowMs - beganAtMs));
  };
}

async function callRoute(
  deps: ActivityDeps,
  input: CallModelInput,
  attempting: Attempting,
): Promise<CallModelResult> {
  const clock = serverClock(deps);
  const store = storeOf(deps, input.storeId);
  const definition = await loadDefinition(deps, input.definition);
  const route = routeOf(definition, input);
  const provider = providerOf(deps, route.provider);
  const { limits, completion } = definition.config;
  const headBefore = await appendPending(store, input);
  const messages = await store.loadTranscript(headBefore);
  await tellCorpus(store, definition.config, messages, input.endedErrors);
  const wanted = requestOf(input, definition, messages, attempting.memory);
  const call: RouteCall = {
    route: routeName(route),
    holder: `${input.idPrefix}/${input.iteration}`,
    limits,
    startedAtMs: clock(),
  };
  const isProbe = (await admitCall(store, call)) === 'probe' || input.probe === true;
  const retries = isProbe ? 0 : limits.streamRetries;
  const attempt: Attempt = {
    store,
    provider,
    call,
    retries,
    clock,
    meter: attempting.meter,
    partialText: '',
    memory: attempting.memory,
  };
  attempting.attempt = attempt;
  const measured: MeasuredCall = { request: wanted, route: call.route, provider, input };
  const measure = measureCall(measured);
  const { maxOutputTokens } = wanted;
  const { price } = route;
  const request = {
    ...wanted,
    maxOutputTokens: attempt.meter.admit({ measure, price, maxOutputTokens }),
  };
  const isTextProtocol = route.toolProtocol === 'text';
  const reply = await send(attempt, isTextProtocol ? renderTextProtocolRequest(request) : request);
  attempt.meter.answered(reply);
  const taken = await takeReply(store, definition.agent, input, {
    reply,
    headBefore,
    vendor: provider.vendor,
    isTextProtocol,
    requireCall: completion === 'tool',
    workspace: definition.config.workspace,
  });
  const count = countOfCall(measured, measure, taken);
  const result = { ...taken, ...count, ...attempt.meter.beyondReply() };
  await reportAnsweredCall(store, call, clock());
  const { failures } = attempting.memory;
  return failures.length === 0 ? result : { ...result, healedRetries: failures };
}

/** The attempt that is going on, and what it knows from those before. */
interface Attempting {
  readonly memory: AttemptMemory;
  readonly meter: CallMeter;
  attempt?: Attempt;
}

/** Tells the next attempt, or the core, what this one and those before it consumed. Returns what is to be thrown. */
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

/** What a cancelled call says of itself, beside what it consumed. */
const abandoned: InfraError = {
  kind: 'infra',
  code: 'worker_lost',
  message: 'The activity was cancelled.',
};

/** What a beat tells: the failures so far, and the end of the text that has arrived, for people and for the next attempt. */
function heartbeatDetails(attempt: Attempt | undefined): AttemptMemory | undefined {
  if (attempt === undefined) return undefined;
  const { memory, partialText } = attempt;
  return partialText === '' ? memory : { ...memory, partialText: redactText(partialText) };
}

/**
 * Calls the model once; Temporal repeats the attempt where `decideRetry` says so.
 *
 * Contract: at most one HTTP request per attempt; nothing of a broken reply is stored.
 * Errors: ApplicationFailure whose type is a failover reason or a system failure code.
 */
export async function callModel(
  deps: ActivityDeps,
  input: CallModelInput,
): Promise<CallModelResult> {
  const { info } = Context.current();
  const memory = readMemory(info.heartbeatDetails ?? freshMemory);
  const meter = new CallMeter({
    allowance: input.allowance,
    spend: memory.spend,
    lostAttempts: Math.max(info.attempt - 1 - memory.settledAttempts, 0),
  });
  const attempting: Attempting = { memory, meter };
  return withHeartbeat(
    () => heartbeatDetails(attempting.attempt) ?? memory,
    async () => {
      try {
        return await callRoute(deps, input, attempting);
      } catch (thrown) {
        throw settleAttempt(attempting, thrown);
      }
    },
  );
}
