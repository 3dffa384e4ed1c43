/** The activity `callModel`: appends what is pending, sends one request, checks the reply and stores it. */
import type {
  CallModelInput,
  CallModelResult,
  ModelCallHeldBack,
  SentModelCall,
  SentReply,
} from '../workflows/core/model-call/ports';
import { sentReply } from '../workflows/core/model-call/sent-call';
import { usualBounds } from '../workflows/core/context/size';
import { routeName } from '../workflows/core/failover/provider-health';
import { retryNudge } from '../workflows/core/failover/stream-recovery';
import { defined } from '../workflows/core/json';
import type { RouteConfig } from '../workflows/core/failover/state';
import type { ActivityDeps, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import { loadModelCall } from './definitions/run-facts';
import type { MeasuredCall } from './measure/call-measure';
import { countOfCall, measureCall } from './measure/call-measure';
import { checkRequest, outputRoom, measureParts } from './context/request-check';
import { judgeUsage, promptTokensOf } from './model-call/judged-usage';
import { withMediaData } from './model-call/loaded-media';
import { appendPending } from './model-call/pending-results';
import type { ModelReply, ModelRequest, Provider } from './providers/provider';
import { mediaLeftOut, sendableMedia } from './providers/request/sendable-media';
import { renderTextProtocolRequest } from './providers/request/text-tool-protocol';
import { takeReply } from './model-call/reply-intake';
import type { Attempting } from './model-call/route-attempt';
import {
  onRoute,
  providerOf,
  routeOf,
  sendAttempt,
  tooManyLost,
  withAttempts,
} from './model-call/route-attempt';
import type { Store } from './stores/store';
import { offered } from './tool-call/stored-outputs';
import { InfraException } from './lifecycle/infra-exception';

/** The reply that an earlier attempt kept; undefined if it kept none. */
async function parkedReply(
  store: Store,
  { reply }: Attempting['memory'],
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
  store: Store,
  attempting: Attempting,
  reply: ModelReply,
  take: (reply: ModelReply) => Promise<Result>,
): Promise<Result> {
  try {
    return await take(reply);
  } catch (thrown) {
    if (thrown instanceof InfraException && thrown.failure.code === 'worker_mismatch')
      attempting.memory = {
        ...attempting.memory,
        reply: await store.putBlob(JSON.stringify(reply)),
      };
    throw thrown;
  }
}

function noteOf(input: CallModelInput, memory: Attempting['memory']): string | undefined {
  const lastFailure = memory.failures.at(-1);
  const nudge = lastFailure === undefined ? undefined : retryNudge(lastFailure, memory.partialText);
  const parts = [input.note, nudge].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

function requestOf(
  input: CallModelInput,
  definition: RunDefinition,
  messages: ModelRequest['messages'],
  memory: Attempting['memory'],
): ModelRequest {
  const { config } = definition;
  const route = routeOf(definition, input);
  const note = noteOf(input, memory);
  return {
    model: route.model,
    system: config.system,
    messages,
    tools: config.tools,
    ...defined({ media: route.media }),
    cacheKey: `holdfast-${input.idPrefix}`,
    maxOutputTokens: input.maxOutputTokens ?? route.maxOutputTokens,
    ...defined({ note, temperature: route.temperature, thoughts: input.thoughts }),
  };
}

/** The call's route and its provider. Errors: `worker_lost` if the call has cost too many workers. */
function routeFor(
  deps: ActivityDeps,
  definition: RunDefinition,
  input: CallModelInput,
  attempting: Attempting,
): { readonly route: RouteConfig; readonly provider: Provider } {
  const route = routeOf(definition, input);
  const givenUp = tooManyLost(attempting, routeName(route), definition.config.limits);
  if (givenUp !== undefined) throw givenUp;
  return { route, provider: providerOf(deps, route.provider) };
}

/** Failures that the attempts before this one met; nothing where there were none. */
function healedRetries({ memory }: Attempting): Pick<CallModelResult, 'healedRetries'> {
  return memory.failures.length === 0 ? {} : { healedRetries: memory.failures };
}

/** Images and documents named in an event: the first ones, since it stays in history. */
const namedMedia = 5;

/** What of the conversation's media the model did not get; nothing where it got all. */
function leftOut(
  request: ModelRequest,
  { wire = 'anthropic' }: Pick<Provider, 'wire'>,
): Pick<CallModelResult, 'mediaLeftOut'> {
  const all = mediaLeftOut(request, wire);
  if (all.length === 0) return {};
  const more = all.length > namedMedia ? [`${all.length - namedMedia} more`] : [];
  return { mediaLeftOut: [...all.slice(0, namedMedia), ...more] };
}

/** The messages as they go out: with the bytes of their images and documents. */
function sentMessages(
  store: Store,
  request: ModelRequest,
  { wire = 'anthropic' }: Pick<Provider, 'wire'>,
): Promise<ModelRequest['messages']> {
  return withMediaData(store, sendableMedia(request, wire));
}

async function callRoute(
  deps: ActivityDeps,
  input: CallModelInput,
  attempting: Attempting,
): Promise<SentReply | ModelCallHeldBack> {
  const store = storeOf(deps, input.storeId);
  const loaded = await loadDefinition(deps, input.definition);
  const { route, provider } = routeFor(deps, loaded, input, attempting);
  const bounds = input.bounds ?? usualBounds(route, loaded.config.compaction);
  const isTextProtocol = route.toolProtocol === 'text';
  // Written with the reply: until then the call's input holds it.
  const batch = store.batch();
  const headBefore = await appendPending(store, input, batch);
  const messages = await batch.loadTranscript(headBefore);
  const definition = offered(loaded, messages);
  const asked = requestOf(input, definition, messages, attempting.memory);
  const call: MeasuredCall = { request: asked, route: routeName(route), provider, input };
  const measure = measureCall(call);
  const maxOutputTokens = outputRoom(asked.maxOutputTokens, measure, bounds);
  // However this attempt ends, the lost attempts before it have sent the same request.
  attempting.meter.chargeLost({ measure, price: route.price, maxOutputTokens });
  const { config } = definition;
  const { parts, isTooLarge } = checkRequest(call, measure, bounds, config.compaction);
  if (isTooLarge && parts !== undefined) {
    await batch.commit();
    return { headBefore, heldBack: parts, ...attempting.meter.spent() };
  }
  await deps.learning?.record(store, config, messages, input.endedErrors ?? []);
  const take = async (reply: ModelReply): Promise<SentReply> => {
    const { vendor } = provider;
    const requireCall = config.completion === 'tool';
    const arrival = { reply, headBefore, vendor, isTextProtocol, requireCall, maxOutputTokens };
    const taken = await takeReply(batch, definition, input, arrival);
    await batch.commit();
    const { usage } = judgeUsage(reply, { measure, price: route.price, maxOutputTokens });
    const whole: CallModelResult = {
      ...taken,
      usage,
      contextTokens: promptTokensOf(usage),
      ...countOfCall(call, measure, { ...taken, usage }),
      ...attempting.meter.beyondReply(),
      ...defined({ measure: parts }),
      ...(definition.outputs.size > 0 ? { offersReadOutput: true } : {}),
      ...healedRetries(attempting),
      ...leftOut(asked, provider),
    };
    return sentReply(whole, input);
  };
  const parked = await parkedReply(store, attempting.memory);
  if (parked !== undefined) return take(parked);
  const sent = await sentMessages(store, asked, provider);
  const request = { ...asked, messages: sent, maxOutputTokens };
  const holder = `${input.idPrefix}/${input.iteration}`;
  return onRoute(deps, { ...input, store, definition, holder }, async (open) => {
    const reply = await sendAttempt(open, attempting, {
      request: isTextProtocol ? renderTextProtocolRequest(request) : request,
      measure,
      parts: () => measureParts(call, measure, config.compaction),
    });
    return parkedIfNotTaken(store, attempting, reply, take);
  });
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
  sent: CallModelInput | SentModelCall,
): Promise<SentReply | ModelCallHeldBack> {
  return withAttempts(sent.allowance, async (attempting) =>
    callRoute(deps, await loadModelCall(deps, sent), attempting),
  );
}
