/** The activity `callModel`: appends what is pending, sends one request, checks the reply and stores it. */
import type { ContextMeasure } from '../workflows/core/context/measure';
import type { Head } from '../workflows/core/message';
import type {
  CallModelInput,
  CallModelResult,
  ModelCallHeldBack,
} from '../workflows/core/model-call/ports';
import type { RouteConfig } from '../workflows/core/failover/state';
import { routeName } from '../workflows/core/failover/provider-health';
import { retryNudge } from '../workflows/core/failover/stream-recovery';
import { defined } from '../workflows/core/json';
import type { ActivityDeps, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import type { AttemptMemory } from './model-call/attempt-memory';
import { countOfCall } from './measure/call-measure';
import { checkRequest, outputRoom, measureParts } from './context/request-check';
import type { MeasuredCall, RequestMeasure } from './measure/measure-request';
import { measureCall } from './measure/measure-request';
import { appendPending } from './model-call/pending-results';
import type { ModelReply, ModelRequest, Provider } from './providers/provider';
import { renderTextProtocolRequest } from './providers/request/text-tool-protocol';
import { takeReply } from './model-call/reply-intake';
import type { Attempt, Attempting } from './model-call/route-attempt';
import {
  providerOf,
  routeOf,
  sendAttempt,
  serverClock,
  withAttempts,
} from './model-call/route-attempt';
import type { RouteCall } from './model-call/shared-health';
import { admitted, reportAnsweredCall } from './model-call/shared-health';
import type { Store } from './stores/store';
import { InfraException } from './lifecycle/infra-exception';

/** The reply that an earlier attempt kept; undefined if it kept none. */
async function parkedReply(
  store: Store,
  { reply }: AttemptMemory,
): Promise<ModelReply | undefined> {
  if (reply === undefined) return undefined;
  // Written by `parkedIfNotTaken`, and checked by the store against its hash.
  return JSON.parse((await store.getBlob(reply)).toString('utf8')) as ModelReply;
}

/**
 * Takes a reply. If this worker's code cannot, the attempt's memory keeps the reply for the next attempt.
 *
 * Errors: those of `take`.
 */
async function parkedIfNotTaken<Result>(
  attempt: Attempt,
  reply: ModelReply,
  take: () => Promise<Result>,
): Promise<Result> {
  try {
    return await take();
  } catch (thrown) {
    if (thrown instanceof InfraException && thrown.failure.code === 'worker_mismatch')
      attempt.memory = {
        ...attempt.memory,
        reply: await attempt.store.putBlob(JSON.stringify(reply)),
      };
    throw thrown;
  }
}

function noteOf(input: CallModelInput, memory: AttemptMemory): string | undefined {
  const lastFailure = memory.failures.at(-1);
  const nudge = lastFailure === undefined ? undefined : retryNudge(lastFailure, memory.partialText);
  const parts = [input.note, nudge].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join('\n\n');
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
    cacheKey: `holdfast-${input.idPrefix}`,
    maxOutputTokens: input.maxOutputTokens ?? route.maxOutputTokens,
    ...defined({ note, temperature: route.temperature }),
  };
}

/** A request that is ready to go, or too large. */
interface ReadyRequest {
  readonly headBefore: Head;
  readonly measured: MeasuredCall;
  readonly measure: RequestMeasure;
  /** Only above the warning threshold. */
  readonly parts?: ContextMeasure;
  readonly isTooLarge: boolean;
  readonly request: ModelRequest;
}

async function readyRequest(
  store: Store,
  definition: RunDefinition,
  input: CallModelInput,
  provider: Provider,
  memory: AttemptMemory,
): Promise<ReadyRequest> {
  const route = routeOf(definition, input);
  const headBefore = await appendPending(store, input);
  const messages = await store.loadTranscript(headBefore);
  const asked = requestOf(input, definition, messages, memory);
  const measured: MeasuredCall = { request: asked, route: routeName(route), provider, input };
  const measure = measureCall(measured);
  const checked = checkRequest(measured, measure, input, definition.config.compaction);
  const request = { ...asked, maxOutputTokens: outputRoom(asked.maxOutputTokens, measure, input) };
  return { headBefore, measured, measure, ...checked, request };
}

async function callRoute(
  deps: ActivityDeps,
  input: CallModelInput,
  attempting: Attempting,
): Promise<CallModelResult | ModelCallHeldBack> {
  const clock = serverClock(deps);
  const store = storeOf(deps, input.storeId);
  const definition = await loadDefinition(deps, input.definition);
  const route = routeOf(definition, input);
  const provider = providerOf(deps, route.provider);
  const { limits, compaction } = definition.config;
  const ready = await readyRequest(store, definition, input, provider, attempting.memory);
  const { measured, measure, parts, headBefore } = ready;
  if (ready.isTooLarge && parts !== undefined) return { headBefore, heldBack: parts };
  const { endedErrors = [] } = input;
  await deps.learning?.record(store, definition.config, measured.request.messages, endedErrors);
  const call: RouteCall = {
    route: routeName(route),
    holder: `${input.idPrefix}/${input.iteration}`,
    limits,
    startedAtMs: clock(),
  };
  const take = (reply: ModelReply): Promise<CallModelResult> =>
    takeAnswer(store, definition, input, { reply, ready, provider, attempting });
  const parked = await parkedReply(store, attempting.memory);
  if (parked !== undefined) return take(parked);
  return admitted(store, call, async (admission) => {
    const isProbe = admission === 'probe' || input.probe === true;
    const attempt: Attempt = {
      store,
      provider,
      call,
      retries: isProbe ? 0 : limits.streamRetries,
      clock,
      meter: attempting.meter,
      partialText: '',
      memory: attempting.memory,
      measure: () => measureParts(measured, measure, compaction),
    };
    attempting.attempt = attempt;
    const reply = await sendAdmitted(attempt, ready, route);
    const taken = await parkedIfNotTaken(attempt, reply, () => take(reply));
    await reportAnsweredCall(store, call, clock());
    return taken;
  });
}

/** A reply and what it answers. */
interface Answer {
  readonly reply: ModelReply;
  readonly ready: ReadyRequest;
  readonly provider: Provider;
  readonly attempting: Attempting;
}

async function takeAnswer(
  store: Store,
  definition: RunDefinition,
  input: CallModelInput,
  { reply, ready, provider, attempting }: Answer,
): Promise<CallModelResult> {
  const { headBefore, measured, measure, parts } = ready;
  const taken = await takeReply(store, definition, input, {
    reply,
    headBefore,
    vendor: provider.vendor,
    isTextProtocol: routeOf(definition, input).toolProtocol === 'text',
    requireCall: definition.config.completion === 'tool',
  });
  const { failures } = attempting.memory;
  return {
    ...taken,
    ...countOfCall(measured, measure, taken),
    ...attempting.meter.beyondReply(),
    ...defined({ measure: parts }),
    ...(failures.length === 0 ? {} : { healedRetries: failures }),
  };
}

/** Sends a request within the run's budget, in the form that the route accepts. */
async function sendAdmitted(
  attempt: Attempt,
  { request, measure }: ReadyRequest,
  { price, toolProtocol }: RouteConfig,
): Promise<ModelReply> {
  const { maxOutputTokens } = request;
  const admitted = {
    ...request,
    maxOutputTokens: attempt.meter.admit({ measure, price, maxOutputTokens }),
  };
  const reply = await sendAttempt(
    attempt,
    toolProtocol === 'text' ? renderTextProtocolRequest(admitted) : admitted,
  );
  attempt.meter.chargeReply(reply);
  return reply;
}

/**
 * Calls the model once, unless its request does not fit. Temporal retries the attempt if `decideRetry` says so.
 *
 * Contract: at most one HTTP request per attempt, and none if an earlier attempt kept its reply. Nothing of a broken reply is
 * stored.
 * Errors: ApplicationFailure whose type is a failover reason or a system failure code.
 */
export async function callModel(
  deps: ActivityDeps,
  input: CallModelInput,
): Promise<CallModelResult | ModelCallHeldBack> {
  return withAttempts(input.allowance, (attempting) => callRoute(deps, input, attempting));
}
