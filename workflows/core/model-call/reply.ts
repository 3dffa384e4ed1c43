/** What the core does with a reply that arrived whole: end, run its calls, or tell the model what was wrong. */
import { chargeReply } from '../budget/budget';
import { endIfTripped, healErrors, takeAgentErrors } from '../errors/agent-errors';
import { onContextOverflow } from '../context/overflow';
import { contextBounds, noteContext } from '../context/state';
import type { AgentError, InfraError } from '../failure';
import type { JsonValue } from '../json';
import type { Moment } from '../run/loop';
import { beginIteration, prepared } from '../run/loop';
import { observationsTold, observeCalls, refusedCalls } from '../learning/observations';
import type { Head } from '../message';
import type { ModelPrice } from '../budget/model-price';
import { usdOf } from '../budget/model-price';
import type { CallModelResult, RouteConfig } from './ports';
import type { ProposedToolCall } from '../tools/ports';
import { askUserTool, completeTaskTool } from '../tools/ports';
import { endRefusedStep } from '../recovery/trial';
import { recordRouteSuccess, routeName } from '../failover/provider-health';
import { recordInfraError } from '../failover/provider-failure';
import { hasRules } from '../rules';
import { endCompleted, endFailed } from '../run/end';
import type { RunPhase, RunState } from '../run/state';
import { spendOf } from '../budget/spend';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { runToolCalls } from '../tools/phase';
import type { Usage } from '../budget/usage';
import { cachedShareOf } from '../budget/usage';

type ModelCallInFlight = Extract<RunPhase, { type: 'calling-model' }>;

/** Answers the event `model-call-completed` of the call in flight. */
export function onModelReplied(
  state: RunState,
  call: ModelCallInFlight,
  result: CallModelResult,
  moment: Moment,
): Step {
  return andThen(takeReply(state, call, result, moment.atMs), (taken) =>
    decideReply(taken, result, moment),
  );
}

function takeReply(
  state: RunState,
  call: ModelCallInFlight,
  result: CallModelResult,
  atMs: number,
): Step {
  const { snapshot } = prepared(state);
  const route = snapshot.chain[call.routeIndex];
  const retries = result.healedRetries ?? [];
  const codes = [...state.failedOver, ...retries];
  const healed = { ...state.healed };
  for (const code of codes) healed[code] = (healed[code] ?? 0) + 1;
  const { storeWaitMs: _recovered, ...rest } = observationsTold(state);
  const taken: RunState = {
    ...chargeReply(rest, call.callId, result, route?.price),
    phase: { type: 'ready' },
    head: result.headBefore,
    next: { pendingResults: [] },
    inbox: state.inbox.slice(call.sentTexts),
    contextTokens: result.contextTokens,
    context:
      route === undefined ? state.context : noteContext(state.context, result, routeName(route)),
    health:
      route === undefined ? state.health : recordRouteSuccess(state.health, routeName(route), atMs),
    healed,
    failedOver: [],
    lastText: result.textPreview === '' ? state.lastText : result.textPreview,
  };
  const warned = warnOfContext(taken, route, atMs);
  return step(
    warned.state,
    ...warned.commands,
    ...retries.map((code) =>
      publish(taken, atMs, {
        type: 'HealedEvent',
        code,
        how: 'the call was retried on the same route',
      }),
    ),
    ...state.failedOver.map((code) =>
      publish(taken, atMs, {
        type: 'HealedEvent',
        code,
        how: `${route === undefined ? 'a later call' : routeName(route)} answered`,
      }),
    ),
    publish(taken, atMs, {
      type: 'ModelRepliedEvent',
      text: result.textPreview,
      toolCalls: result.toolCalls.map((call) => call.name),
      tokens: result.contextTokens + result.usage.outputTokens,
      ...cachedPart(result.usage),
      ...replyCost(result, route?.price),
    }),
  );
}

/** How much of the request the vendor had kept, where it had kept any. */
function cachedPart(usage: Usage): { readonly cachedShare?: number } {
  const cachedShare = cachedShareOf(usage) ?? 0;
  return cachedShare === 0 ? {} : { cachedShare };
}

/** What the call cost with its failed attempts, where that is known and not nothing. */
function replyCost(
  { spend, usage }: CallModelResult,
  price: ModelPrice | undefined,
): { readonly usd?: number } {
  const { nanoUsd } = spend ?? spendOf(usage, price);
  return nanoUsd === undefined || nanoUsd === 0 ? {} : { usd: usdOf(nanoUsd) };
}

/** People hear of a conversation that nears its window, once each time. Source: seed 001, 80 %. */
function warnOfContext(state: RunState, route: RouteConfig | undefined, atMs: number): Step {
  if (route === undefined || !hasRules(state, 2)) return step(state);
  const { warnTokens, windowTokens } = contextBounds(state, route);
  const isNear = state.contextTokens >= warnTokens;
  if (isNear === state.context.warned) return step(state);
  const noted: RunState = { ...state, context: { ...state.context, warned: isNear } };
  if (!isNear) return step(noted);
  return step(
    noted,
    publish(noted, atMs, {
      type: 'ContextWarningEvent',
      tokens: state.contextTokens,
      windowTokens,
    }),
  );
}

function decideReply(state: RunState, result: CallModelResult, moment: Moment): Step {
  const { atMs } = moment;
  switch (result.stopReason) {
    case 'context-full':
      return isWindowFull(state, result)
        ? onContextFull(state, result, atMs)
        : onTruncated(state, moment);
    case 'truncated':
      return onTruncated(state, moment);
    case 'refusal':
      return endFailed(
        state,
        atMs,
        'refusal',
        `The model declined to answer: ${result.textPreview === '' ? 'it gave no reason' : result.textPreview}`,
      );
    case 'filtered':
      return endFailed(
        state,
        atMs,
        'content_filter',
        "The provider's content filter stopped the reply. Change the request, or use another provider.",
      );
    case 'pause':
      return onPaused(state, result, moment);
    case 'end':
    case 'tool-use':
      if (result.error !== undefined) return rejectReply(state, [result.error], moment);
      return result.toolCalls.length === 0
        ? onAnswer(state, result, moment)
        : onToolCalls(state, result, moment);
  }
}

/** Share of the window below which a vendor's word that it is full is not believed (ADR 0024). */
const believableShare = 0.5;

function isWindowFull(state: RunState, { contextTokens, usage }: CallModelResult): boolean {
  const route = state.snapshot?.chain[state.lastRouteIndex ?? 0];
  if (route === undefined || !hasRules(state, 2)) return false;
  const { windowTokens } = contextBounds(state, route);
  return contextTokens + usage.outputTokens >= believableShare * windowTokens;
}

/** The window was full before the reply was complete: nothing of it runs, and the same is asked of a smaller conversation. */
function onContextFull(state: RunState, result: CallModelResult, atMs: number): Step {
  const { snapshot } = prepared(state);
  const routeIndex = state.lastRouteIndex ?? 0;
  const route = snapshot.chain[routeIndex];
  const { contextTokens, usage, measure } = result;
  const failure: InfraError = {
    kind: 'infra',
    code: 'context_overflow',
    message: `The reply was cut off because the window was full: ${contextTokens} tokens of the request and ${usage.outputTokens} of the reply.`,
    ...(route === undefined ? {} : { route: routeName(route) }),
    overflow: {
      windowTokens: contextTokens + usage.outputTokens,
      ...(measure === undefined ? {} : { measure }),
    },
  };
  return andThen(recordInfraError(state, failure, atMs), (noted) =>
    onContextOverflow(noted, routeIndex, failure, atMs),
  );
}

/** What the transcript keeps behind a paused turn, so that no two replies stand side by side. */
const continueText = '(The agent runtime asks you to continue.)';

/** The vendor paused a long turn: the next iteration goes on with it. */
function onPaused(state: RunState, result: CallModelResult, moment: Moment): Step {
  if (result.toolCalls.length > 0) return onToolCalls(state, result, moment);
  const nothingKept = result.head === result.headBefore;
  const inbox = nothingKept || state.inbox.length > 0 ? state.inbox : [continueText];
  return beginIteration({ ...state, head: result.head, inbox }, moment);
}

/** Nothing of a cut reply runs. The next call gets twice the output limit, once. */
function onTruncated(state: RunState, moment: Moment): Step {
  const { snapshot } = prepared(state);
  const route = snapshot.chain[state.lastRouteIndex ?? 0];
  const error: AgentError = {
    kind: 'agent',
    code: 'output_truncated',
    message: 'The reply was cut off at the output token limit before it was complete.',
    recoverable: true,
  };
  const raised = state.outputRaised
    ? state
    : {
        ...state,
        outputRaised: true,
        next: {
          ...state.next,
          ...(route === undefined ? {} : { maxOutputTokens: route.maxOutputTokens * 2 }),
        },
      };
  return rejectReply(raised, [error], moment);
}

/** A reply of which nothing can run leaves no trace in the transcript; the model reads why in the next request only. */
function rejectReply(
  state: RunState,
  errors: readonly AgentError[],
  moment: Moment,
  calls: readonly ProposedToolCall[] = [],
): Step {
  const { atMs } = moment;
  const noCall = errors.filter((error) => error.code === 'no_tool_call');
  const entries = noCall.map((error) => publish(state, atMs, { type: 'NoToolCallEvent', error }));
  const observed = observeCalls(state, refusedCalls(errors, calls), atMs);
  const taken = andThen(step(observed, ...entries), (before) =>
    takeAgentErrors(before, errors, false, atMs),
  );
  const ended = andThen(taken, (after) => endRefusedStep(after, errors, atMs));
  return andThen(ended, (after) => endIfTripped(after, atMs) ?? beginIteration(after, moment));
}

function onAnswer(state: RunState, result: CallModelResult, moment: Moment): Step {
  const { snapshot } = prepared(state);
  const answer = result.answer ?? '';
  if (answer.trim() === '')
    return rejectReply(
      state,
      [
        {
          kind: 'agent',
          code: 'empty_reply',
          message: 'The reply held neither text nor a tool call.',
          recoverable: true,
        },
      ],
      moment,
    );
  if (snapshot.completion === 'tool')
    return rejectReply(
      state,
      [
        {
          kind: 'agent',
          code: 'no_tool_call',
          message: 'No tool call was found in the reply.',
          hint: `When the task is done call ${completeTaskTool}; to ask the user call ${askUserTool}.`,
          recoverable: true,
        },
      ],
      moment,
    );
  const answered: RunState = { ...state, head: result.head };
  if (isWanted(answered)) return beginIteration(answered, moment);
  return andThen(healErrors(answered, moment.atMs), (healed) =>
    endCompleted(healed, moment.atMs, answer),
  );
}

/** Whether a person wants something of the run that its end would leave undone: an answer to their message, or to take it over. */
function isWanted(state: RunState): boolean {
  return state.inbox.length > 0 || (hasRules(state, 3) && state.escalation !== undefined);
}

function onToolCalls(state: RunState, result: CallModelResult, moment: Moment): Step {
  const { toolCalls } = result;
  const errors = toolCalls.flatMap((call) => (call.error === undefined ? [] : [call.error]));
  if (errors.length === toolCalls.length) return rejectReply(state, errors, moment, toolCalls);
  const [only] = toolCalls;
  if (toolCalls.length === 1 && only?.name === completeTaskTool)
    return onTaskComplete(state, only, result.head, moment);
  return runToolCalls(state, toolCalls, result.head, moment);
}

/** The result of a run travels in its history, so it is bounded. */
const resultTooLong: AgentError = {
  kind: 'agent',
  code: 'invalid_params',
  message: `The input of ${completeTaskTool} is too long, so the run did not end.`,
  hint: `Call ${completeTaskTool} again with a shorter summary; put long material into a file.`,
  recoverable: true,
  toolName: completeTaskTool,
};

function textField(input: { readonly [key: string]: JsonValue } | undefined, key: string): string {
  const value = input?.[key];
  return typeof value === 'string' ? value : '';
}

function onTaskComplete(state: RunState, call: ProposedToolCall, head: Head, moment: Moment): Step {
  if (isWanted(state)) return runToolCalls(state, [call], head, moment);
  if (call.input === undefined) return rejectReply(state, [resultTooLong], moment);
  const summary = textField(call.input, 'summary');
  return andThen(healErrors({ ...state, head }, moment.atMs), (healed) =>
    endCompleted(healed, moment.atMs, summary, call.input?.['result']),
  );
}
