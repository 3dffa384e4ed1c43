/** Takes a reply that arrived whole: charges it, appends it, and reads what it asks for. */
import { charge } from '../budget/budget';
import type { CallSpend, Usage } from '../budget/spend';
import { cachedShareOf, noSpend, spendOf, usdOf } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import { takeAppended } from '../context/compaction-phase';
import type { CompactingState } from '../context/compaction-phase';
import { contextBounds, noteContext, promptCutText, withContext } from '../context/size';
import { shortHash } from '../errors/fingerprint';
import { countHealed } from '../errors/state';
import type { ErrorsSlice } from '../errors/state';
import { recordRouteSuccess, routeName } from '../failover/provider-health';
import type { AgentError, InfraError } from '../failure';
import { answerBytes } from '../limits';
import { agentError } from '../failure';
import { defined, without } from '../json';
import type { AccountSlice, CountersSlice } from '../run/account';
import { advise, uncountModelCall } from '../run/account';
import { hasFlag, prepared } from '../run/ports';
import type { Move } from '../run/move';
import { publish, stay } from '../run/move';
import { askUserTool, completeTaskTool } from '../tools/ports';
import type { NextRequestSlice } from './next-request';
import { nothingPending } from './next-request';
import type { CallModelResult, ModelCallHeldBack } from './ports';
import type { RouteConfig } from '../failover/state';
import type { CallingModel, ModelCallSlice } from './state';

/** What a reply changes. */
export type ReplyState = CompactingState & ErrorsSlice & ModelCallSlice;

/** Charges a reply, and takes what it says about healed failures, the route, and the conversation's size. */
export function takeReply<State extends ReplyState>(
  state: State,
  call: CallingModel,
  result: CallModelResult,
  atMs: number,
): Move<State> {
  const route = prepared(state).snapshot.chain[call.routeIndex];
  const answered = route === undefined ? 'a later call' : routeName(route);
  const healed = [
    ...(result.healedRetries ?? []).map((code) => {
      return { code, by: 'retry', how: 'the call was retried on the same route' } as const;
    }),
    ...state.failedOver.map((code) => {
      return { code, by: 'failover', how: `${answered} answered` } as const;
    }),
  ];
  const charged = charge(state, call.callId, spendOfReply(result, route));
  const appended = takeAppended(charged, result.headBefore, call.sentTexts);
  const isCut = result.stopReason === 'truncated' || result.stopReason === 'context-full';
  const taken: State = {
    ...countHealed(
      isCut ? appended : without<State>(appended, 'raisedOutputTokens'),
      healed.map(({ code, by }) => [code, by]),
    ),
    phase: { type: 'ready' },
    next: nothingPending,
    ...defined({ offersReadOutput: result.offersReadOutput }),
    contextTokens: result.contextTokens,
    context:
      route === undefined ? state.context : noteContext(state.context, result, routeName(route)),
    health:
      route === undefined ? state.health : recordRouteSuccess(state.health, routeName(route), atMs),
    failedOver: [],
    lastText: result.textPreview === '' ? state.lastText : result.textPreview,
  };
  const warned = warnOfContext(taken, route);
  const cut = reportCut(warned.state, answered, result);
  const reported = reportMediaLeftOut(cut.state, answered, result);
  return stay(
    reported.state,
    ...warned.commands,
    ...cut.commands,
    ...reported.commands,
    ...healed.map((each) => publish({ type: 'HealedEvent', ...each })),
    publish({
      type: 'ModelRepliedEvent',
      text: result.textPreview,
      toolCalls: result.toolCalls.map(({ name }) => name),
      tokens: result.contextTokens + result.usage.outputTokens,
      ...defined({ cachedShare: cachedPart(result.usage), usd: replyUsd(result, route) }),
    }),
  );
}

/** Keeps a reply that returns while the run ends: it is the best partial text that there is. */
export function keepReply<State extends CompactingState & AccountSlice & BudgetSlice>(
  state: State,
  callId: string,
  result: CallModelResult,
  sentTexts: number,
): State {
  const { headBefore, textPreview } = result;
  const route = state.snapshot?.chain[state.lastRouteIndex ?? -1];
  return {
    ...takeAppended(charge(state, callId, spendOfReply(result, route)), headBefore, sentTexts),
    lastText: textPreview === '' ? state.lastText : textPreview,
  };
}

/** Share of the request that the vendor's cache held; undefined if it held nothing. */
function cachedPart(usage: Usage): number | undefined {
  const cachedShare = cachedShareOf(usage);
  return cachedShare === 0 ? undefined : cachedShare;
}

/** What the call with its failed attempts consumed. */
function spendOfReply(
  { spend, usage }: CallModelResult,
  route: RouteConfig | undefined,
): CallSpend {
  return spend ?? spendOf(usage, route?.price);
}

/** US dollars of that; undefined if they are unknown or none. */
function replyUsd(result: CallModelResult, route: RouteConfig | undefined): number | undefined {
  const { nanoUsd = 0 } = spendOfReply(result, route);
  return nanoUsd === 0 ? undefined : usdOf(nanoUsd);
}

/** Publishes once each time that the conversation reaches its warning threshold (R-CTX-2). */
function warnOfContext<State extends ReplyState>(
  state: State,
  route: RouteConfig | undefined,
): Move<State> {
  if (route === undefined) return stay(state);
  const { warnTokens, windowTokens } = contextBounds(state, route);
  const isNear = state.contextTokens >= warnTokens;
  if (isNear === state.context.warned) return stay(state);
  const noted: State = { ...state, context: { ...state.context, warned: isNear } };
  if (!isNear) return stay(noted);
  const tokens = state.contextTokens;
  return stay(noted, publish({ type: 'ContextWarningEvent', tokens, windowTokens }));
}

/** Tells once per route that its server cuts prompts; the run goes on by its own measure (R-CTX-11). */
function reportCut<State extends ReplyState>(
  state: State,
  route: string,
  { cutToTokens: countedTokens, contextTokens: measuredTokens }: CallModelResult,
): Move<State> {
  const { cutting = [] } = state.context;
  if (countedTokens === undefined || cutting.includes(route)) return stay(state);
  const noted = withContext(state, { cutting: [...cutting, route] });
  return stay(
    advise(noted, promptCutText(route, countedTokens, measuredTokens)),
    publish({ type: 'PromptCutEvent', route, countedTokens, measuredTokens }),
  );
}

/** Tells which images and documents a model did not get: again only where it is another model, or other ones. */
function reportMediaLeftOut<State extends ReplyState>(
  state: State,
  route: string,
  { mediaLeftOut }: CallModelResult,
): Move<State> {
  if (mediaLeftOut === undefined) return stay(without<State>(state, 'mediaLeftOut'));
  const identity = shortHash([route, ...mediaLeftOut].join('\n'));
  if (identity === state.mediaLeftOut) return stay(state);
  return stay(
    { ...state, mediaLeftOut: identity },
    publish({ type: 'MediaLeftOutEvent', route, media: mediaLeftOut }),
  );
}

/** Share of the window below which a vendor's report of a full window is not believed (ADR 0024). */
const believableShare = 0.5;

/** The route that answered last, and its place in the chain. */
function lastRoute(state: ReplyState): RouteConfig | undefined {
  return state.snapshot?.chain[state.lastRouteIndex ?? 0];
}

/**
 * The failure of a reply that was cut because the window was full: nothing of it runs, and the same is asked of a smaller
 * conversation. Undefined if the report is not believable.
 */
export function windowFull(state: ReplyState, result: CallModelResult): InfraError | undefined {
  const route = lastRoute(state);
  if (route === undefined) return undefined;
  const { contextTokens, usage, measure } = result;
  const windowTokens = contextTokens + usage.outputTokens;
  if (windowTokens < believableShare * contextBounds(state, route).windowTokens) return undefined;
  return {
    kind: 'infra',
    code: 'context_overflow',
    message: `The reply was cut off because the window was full: ${contextTokens} tokens of the request and ${usage.outputTokens} of the reply.`,
    route: routeName(route),
    overflow: { windowTokens, ...defined({ measure }) },
  };
}

/** Share of the window that the output limit is raised to at most: the rest is for the conversation. */
const mostOutputShare = 0.5;

/**
 * The next call after a cut reply gets twice the limit of the cut one, again and again, until replies come whole, the vendor
 * refuses the limit, or it would take half of the window (R-ERR-7).
 */
export function raiseOutput<State extends ReplyState>(state: State): State {
  const route = lastRoute(state);
  if (route === undefined) return state;
  const limitTokens = state.raisedOutputTokens ?? route.maxOutputTokens;
  const { refusedOutputTokens = Infinity } = state;
  const raised = limitTokens * 2;
  const isTooLarge =
    raised >= refusedOutputTokens ||
    raised > contextBounds(state, route).windowTokens * mostOutputShare;
  const maxOutputTokens = isTooLarge ? limitTokens : raised;
  if (maxOutputTokens <= route.maxOutputTokens) return state;
  return {
    ...state,
    raisedOutputTokens: maxOutputTokens,
    next: { ...state.next, maxOutputTokens },
  };
}

/** The usual output limit again, since the vendor may have refused a larger one; that is not asked for again. */
export function lowerOutput<State extends ModelCallSlice & NextRequestSlice>(state: State): State {
  const { maxOutputTokens, ...next } = state.next;
  const lowered = without({ ...state, next }, 'raisedOutputTokens');
  return { ...lowered, ...defined({ refusedOutputTokens: maxOutputTokens }) };
}

/** Tells whoever operates the agent, once per route, of the protocol for models that write their calls (R-WORDS-4). */
export function adviseTextProtocol<State extends ReplyState>(state: State): State {
  const route = lastRoute(state);
  if (route === undefined) return state;
  return advise(
    state,
    `${routeName(route)} wrote a tool call as text. If it cannot call tools natively, set toolProtocol: 'text' on its route.`,
  );
}

/** Nothing of a cut reply runs. What was cut, if its reader knows it. */
export function cutError({ error }: CallModelResult): AgentError {
  return (
    error ??
    agentError(
      'output_truncated',
      'The reply was cut off at the output token limit before it was complete.',
    )
  );
}

/** The reply held nothing at all. */
export const emptyReply = agentError('empty_reply', 'The reply held neither text nor a tool call.');

/** A text where the agent ends its work by a tool. */
export const noToolCall = agentError('no_tool_call', 'No tool call was found in the reply.', {
  hint: `When the task is done call ${completeTaskTool}; to ask the user call ${askUserTool}.`,
});

/** Codes of a call that could not be read or named. */
const brokenCall: ReadonlySet<AgentError['code']> = new Set([
  'invalid_json',
  'missing_tool_name',
  'invalid_tool',
]);

/** Whether the step before this reply failed, at a call that the model can correct. */
function failedLast({ unhealed, counters }: ErrorsSlice & CountersSlice): boolean {
  return unhealed.some(
    ({ iteration, tool, code }) =>
      iteration === counters.iterations - 1 && (tool !== undefined || brokenCall.has(code)),
  );
}

/**
 * Why an answer in the text protocol is asked for once more: models that need the protocol describe a call instead of making it,
 * and take the explanation of a failure for the end of the task. Once, until a call works (ADR 0085).
 */
export function prematureAnswer(state: ReplyState): AgentError | undefined {
  const { snapshot } = prepared(state);
  const isAsked = state.unhealed.some(({ code }) => code === 'premature_answer');
  const isWeak = lastRoute(state)?.toolProtocol === 'text' && hasFlag(state, 'asks-again');
  if (isAsked || !isWeak || snapshot.tools.length === 0) return undefined;
  if (failedLast(state))
    return agentError(
      'premature_answer',
      'The last call failed, and an answer came without another call.',
    );
  return state.counters.toolCalls === 0
    ? agentError('premature_answer', 'An answer came, though no tool was called.')
    : undefined;
}

/** The result of a run travels in its history, so it is bounded. */
export const resultTooLong = agentError(
  'invalid_params',
  `The input of ${completeTaskTool} has more than ${answerBytes} bytes of JSON, so the run did not end.`,
  {
    hint: `Call ${completeTaskTool} again with a shorter summary; put long material into a file.`,
    toolName: completeTaskTool,
  },
);

/** What follows a paused turn in the transcript, so that no two replies are adjacent. */
export const continueText = '(The agent runtime asks you to continue.)';

/** Charges a call whose request did not fit and was not sent; earlier attempts may have sent one. */
export function chargeHeldBack<State extends BudgetSlice & CountersSlice>(
  state: State,
  callId: string,
  { spend }: ModelCallHeldBack,
): State {
  const charged = charge(state, callId, spend ?? noSpend);
  return spend === undefined ? uncountModelCall(charged) : charged;
}
