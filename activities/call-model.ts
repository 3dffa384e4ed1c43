/** The activity `callModel`: appends what is pending, sends one request, checks the reply and stores it. */
import { Context } from '@temporalio/activity';
import type {
  CallModelInput,
  CallModelResult,
  ModelCallHeldBack,
  SentModelCall,
  SentReply,
} from '../workflows/core/model-call/ports';
import { liveTextKey } from '../workflows/core/model-call/live-text';
import { sentReply } from '../workflows/core/model-call/sent-call';
import { usualBounds } from '../workflows/core/context/size';
import { routeName } from '../workflows/core/failover/provider-health';
import { retryNudge } from '../workflows/core/failover/stream-recovery';
import { defined } from '../workflows/core/json';
import type { ActivityDeps, RunDefinition } from './definitions/activity-deps';
import type { ResolvedRoute } from './definitions/resolve-route';
import { currentRunId, loadDefinition, storeOf } from './definitions/activity-deps';
import { loadModelCall } from './definitions/run-facts';
import type { MeasuredCall } from './measure/call-measure';
import { countOfCall, measureCall } from './measure/call-measure';
import { checkRequest, outputRoom, measureParts } from './context/request-check';
import { judgeUsage, promptTokensOf } from './model-call/judged-usage';
import type { LiveTextPlace } from './model-call/live-text';
import { LiveText } from './model-call/live-text';
import { withMediaData } from './model-call/loaded-media';
import { appendPending } from './model-call/pending-results';
import type { ModelReply, ModelRequest, Provider } from './providers/provider';
import { perObject } from './providers/request/per-object';
import { mediaLeftOut, sendableMedia } from './providers/request/sendable-media';
import { renderTextProtocolRequest } from './providers/request/text-tool-protocol';
import { takeReply } from './model-call/reply-intake';
import type { Attempting, MeasuredRequest, OpenRoute } from './model-call/route-attempt';
import {
  onRoute,
  providerOf,
  routeOf,
  sendAttempt,
  tooManyLost,
  withAttempts,
} from './model-call/route-attempt';
import type { Store } from './stores/store';
import { answerForm, hasResult } from './tools/built-in-tools';
import { offered } from './tool-output/stored-outputs';
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

/** Whether the vendor may be asked to enforce the form of the run's output. */
function mayEnforce({ unstructured }: CallModelInput, { toolProtocol }: ResolvedRoute): boolean {
  return unstructured !== true && toolProtocol === 'native';
}

/** What is enforced: the answer's form, or the input of `complete_task` if it holds a result. */
const enforcedForm = perObject(
  ({ tools, answer }: RunDefinition['config']): Pick<ModelRequest, 'output' | 'tools'> => ({
    tools: tools.map((tool) => (hasResult(tool) ? { ...tool, strict: true } : tool)),
    ...(answer === undefined ? {} : { output: { name: answerForm, schema: answer } }),
  }),
);

function requestOf(
  input: CallModelInput,
  definition: RunDefinition,
  messages: ModelRequest['messages'],
  memory: Attempting['memory'],
): ModelRequest {
  const { config } = definition;
  const route = routeOf(definition, input);
  const note = noteOf(input, memory);
  const enforced = mayEnforce(input, route) ? enforcedForm(config) : { tools: config.tools };
  return {
    model: route.model,
    system: config.system,
    messages,
    ...enforced,
    ...defined({ media: route.media }),
    cacheKey: `holdfast-${input.idPrefix}`,
    maxOutputTokens: input.maxOutputTokens ?? route.maxOutputTokens,
    ...defined({ note, settings: route.settings, thoughts: input.thoughts }),
  };
}

/** The call's route and its provider. Errors: `worker_lost` if the call has cost too many workers. */
function routeFor(
  deps: ActivityDeps,
  definition: RunDefinition,
  input: CallModelInput,
  attempting: Attempting,
): { readonly route: ResolvedRoute; readonly provider: Provider } {
  const route = routeOf(definition, input);
  const givenUp = tooManyLost(attempting, routeName(route), definition.config.limits);
  if (givenUp !== undefined) throw givenUp;
  return { route, provider: providerOf(deps, route.provider) };
}

function livePlace({ iteration }: CallModelInput, route: ResolvedRoute): LiveTextPlace {
  const { namespace, activityId, attempt } = Context.current().info;
  return {
    runKey: liveTextKey(namespace, currentRunId()),
    call: `${activityId}/${attempt}`,
    ...{ iteration, attempt, route: routeName(route) },
    isTextProtocol: route.toolProtocol === 'text',
  };
}

/** Sends a request whose reply people see while it arrives. */
async function sendShown(
  open: OpenRoute,
  attempting: Attempting,
  measured: MeasuredRequest,
  input: CallModelInput,
): Promise<ModelReply> {
  const live = new LiveText(open.store.liveTexts, livePlace(input, open.route));
  try {
    return await sendAttempt(open, attempting, measured, (text) => {
      live.add(text);
    });
  } finally {
    await live.end();
  }
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

/** The request as it goes out: with the bytes of its images and documents. Errors: those of the store. */
async function sentRequest(
  store: Store,
  { request, provider: { wire = 'anthropic' } }: MeasuredCall,
  { toolProtocol }: Pick<ResolvedRoute, 'toolProtocol'>,
  maxOutputTokens: number,
): Promise<ModelRequest> {
  const messages = await withMediaData(store, sendableMedia(request, wire));
  const whole = { ...request, messages, maxOutputTokens };
  return toolProtocol === 'text' ? renderTextProtocolRequest(whole) : whole;
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
    const requireCall = config.completion === 'tool';
    const form = { isTextProtocol, requireCall, hasForm: config.answer !== undefined };
    const arrival = { reply, headBefore, vendor: provider.vendor, ...form, maxOutputTokens };
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
  const request = await sentRequest(store, call, route, maxOutputTokens);
  const holder = `${input.idPrefix}/${input.iteration}`;
  return onRoute(deps, { ...input, store, definition, holder }, async (open) => {
    const measured = () => measureParts(call, measure, config.compaction);
    const reply = await sendShown(open, attempting, { request, measure, parts: measured }, input);
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
