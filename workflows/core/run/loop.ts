/**
 * The loop of a run, from top to bottom: prepare, begin, call, reply, admit, run, settle, and again; or check the answer and end.
 *
 * A move names the part of the loop that comes next (`next`); if it names none, the run waits for the next event. What an
 * activity returns comes back as an event, and `handlers` in `transition.ts` finds the function that takes it: the reply of a
 * model call is taken by `reply` below. Each room of the core decides from its own slice of the state; this file puts the
 * moves in order.
 */
import { budgetStop, reserve, stopBeforeIteration } from '../budget/budget';
import type { GateDecision } from '../context/gate';
import { gateCall, skipsRoute } from '../context/gate';
import { onContextOverflow } from '../context/overflow';
import { breakerStop, takeAgentErrors } from '../errors/agent-errors';
import { healErrors } from '../errors/healing';
import { decideRoute, routeName } from '../failover/provider-health';
import { failInfra, onFilteredReply, recordInfraError } from '../failover/provider-failure';
import { waitForProviders } from '../failover/provider-wait';
import { countReply, countToolRuns, stopBeforeTools } from '../guard/call-and-edit-caps';
import { guardBeforeCall } from '../guard/hard-limits';
import { loopStop, watchForLoops } from '../guard/loop-guard';
import type { AgentError } from '../failure';
import { invariant } from '../invariant';
import { checkInput } from '../guardrails/guardrails';
import { handoffIn, startHandoff } from '../handoff/handoff';
import { defined, without } from '../json';
import { learn } from '../learning/observations';
import type { CallModelResult } from '../model-call/ports';
import {
  adviseTextProtocol,
  cutError,
  continueText,
  emptyReply,
  noToolCall,
  prematureAnswer,
  raiseOutput,
  resultTooLong,
  takeReply,
  windowFull,
} from '../model-call/reply';
import { modelInput, nextCallId, textsThatFit } from '../model-call/request';
import type { CallingModel } from '../model-call/state';
import { notifyAboutWaits } from '../notifications/notifications';
import { armWaits } from '../people/decision-wait';
import { rememberPrivileges } from '../people/new-privileges-after-error';
import { settleRuntimeCall } from '../recovery/carry-out';
import { recoveryGate } from '../recovery/gate';
import { endRefusedStep, endToolStep } from '../recovery/trial';
import { startSubagents } from '../subagents/start';
import { admitCalls } from '../tools/admission';
import { announceWaits, startCalls } from '../tools/calls';
import type { ProposedToolCall } from '../tools/ports';
import { completeTaskTool } from '../tools/ports';
import { callsOf, readyCalls, runningTools, settledCalls, withResults } from '../tools/state';
import { openMatters } from '../view/open-matters';
import { count } from './account';
import { checkBeforeEnd, completeWith, endFailed, endIfIdle, keepResults, propose } from './ending';
import type { Stop } from './outcome';
import { prepared } from './ports';
import type { RunCommand, RunEvent } from './protocol';
import type { RunState } from './state';
import type { Moment, NextPart, Move } from './move';
import { andThen, fail, goTo, publish, stay } from './move';
import { storeAnswered, waitForPerson } from './waiting';

type PartOf<Type extends NextPart['type']> = Extract<NextPart, { type: Type }>;

type Part<Type extends NextPart['type']> = (
  state: RunState,
  next: PartOf<Type>,
  moment: Moment,
) => Move<RunState>;

/** Asks for the agent's definition. */
const prepare: Part<'prepare'> = (state) =>
  stay({ ...state, phase: { type: 'preparing' } }, { type: 'prepare-run', input: state.request });

/** Begins the next iteration, unless a person takes over, a limit is reached, the server suggests a roll-over, or the run is stuck. */
const begin: Part<'begin-iteration'> = (state, _next, { atMs, rollOverSuggested }) => {
  const stop = stopBeforeIteration(state);
  if (stop !== undefined) return fail(state, stop);
  if (state.escalation !== undefined) return waitForPerson(state, state.escalation, atMs);
  if (rollOverSuggested === true)
    return stay({ ...state, phase: { type: 'ready' } }, { type: 'roll-over' });
  const recovering = recoveryGate(state, atMs);
  if (recovering !== undefined) return recovering;
  const iterations = state.counters.iterations + 1;
  return goTo(
    'call-model',
    count({ ...state, failedOver: [] }, { iterations, callsThisIteration: 0 }),
  );
};

/** Calls the model on the first route that is not cooling down and can take the request, compacting first if needed; waits or fails if there is none. */
const call: Part<'call-model'> = (state, _next, { atMs }) => {
  const { snapshot } = prepared(state);
  const stop = guardBeforeCall(state) ?? budgetStop(state);
  if (stop !== undefined) return fail(state, stop);
  const decision = decideRoute(state.health, snapshot.chain, atMs, skipsRoute(state));
  if (decision.type === 'wait') return waitForProviders(state, decision.untilMs, atMs);
  const { routeIndex } = decision;
  const gate: GateDecision<RunState> = gateCall(state, routeIndex, openMatters, atMs);
  return gate.type === 'send' ? callRoute(gate.state, routeIndex) : gate.move;
};

function callRoute(state: RunState, routeIndex: number): Move<RunState> {
  const { limits, chain } = prepared(state).snapshot;
  const route = chain[routeIndex];
  invariant(route !== undefined, 'a decided route is in the chain');
  const callId = nextCallId(state);
  const { state: paid, allowance } = reserve(state, callId);
  const phase: CallingModel = {
    type: 'calling-model',
    callId,
    routeIndex,
    sentTexts: textsThatFit(state.inbox),
  };
  const called = count(
    { ...paid, phase, lastRouteIndex: routeIndex },
    {
      modelCalls: state.counters.modelCalls + 1,
      callsThisIteration: state.counters.callsThisIteration + 1,
    },
  );
  const input = modelInput(called, routeIndex, allowance);
  return stay(
    called,
    publish({
      type: 'IterationStartedEvent',
      route: routeName(route),
      isFallback: routeIndex > 0,
      ...defined({ note: input.note }),
    }),
    {
      type: 'call-model',
      callId,
      summary: `${routeName(route)} #${state.counters.iterations}`,
      input,
      limits,
    },
  );
}

/** Handles a complete reply: ends the run, runs its calls, or tells the model what was wrong. */
export function reply(
  state: RunState,
  calling: CallingModel,
  result: CallModelResult,
  atMs: number,
): Move<RunState> {
  const sent = without(state, 'unread');
  return andThen(takeReply(sent, calling, result, atMs), (taken) => readReply(taken, result, atMs));
}

function readReply(state: RunState, result: CallModelResult, atMs: number): Move<RunState> {
  const { stopReason, textPreview } = result;
  switch (stopReason) {
    case 'context-full':
    case 'truncated': {
      const failure = stopReason === 'truncated' ? undefined : windowFull(state, result);
      if (failure === undefined) return rejectReply(raiseOutput(state), [cutError(result)]);
      return andThen(recordInfraError(state, failure), (noted) =>
        onContextOverflow(noted, state.lastRouteIndex ?? 0, failure),
      );
    }
    case 'refusal': {
      const why = textPreview === '' ? ' and gave no reason.' : `: ${textPreview}`;
      return fail(state, { reason: 'refusal', message: `The model declined to answer${why}` });
    }
    case 'filtered':
      return onFilteredReply(state, skipsRoute, atMs);
    case 'pause':
      return result.toolCalls.length > 0
        ? readCalls(state, result)
        : continuePausedReply(state, result);
    case 'end':
    case 'tool-use':
      if (result.error !== undefined)
        return rejectReply(result.wroteCall === true ? adviseTextProtocol(state) : state, [
          result.error,
        ]);
      return result.toolCalls.length > 0 ? readCalls(state, result) : readAnswer(state, result);
  }
}

/** The vendor paused a long turn: the next iteration continues it. */
function continuePausedReply(state: RunState, result: CallModelResult): Move<RunState> {
  const { head, headBefore, isOpen } = result;
  const nothingKept = head === headBefore;
  const inbox =
    nothingKept || isOpen === true || state.inbox.length > 0 ? state.inbox : [continueText];
  return goTo('begin-iteration', { ...state, head, inbox });
}

function readAnswer(state: RunState, result: CallModelResult): Move<RunState> {
  const { answer = '', output, head } = result;
  if (answer.trim() === '') return rejectReply(state, [emptyReply]);
  if (prepared(state).snapshot.completion === 'tool') return rejectReply(state, [noToolCall]);
  const premature = prematureAnswer(state);
  if (premature !== undefined) return rejectReply(state, [premature]);
  return propose(state, { answer, head, calls: [], ...defined({ output }) });
}

function rejectReply(
  state: RunState,
  errors: readonly AgentError[],
  calls: readonly ProposedToolCall[] = [],
): Move<RunState> {
  return { state, commands: [], next: { type: 'reject-reply', errors, calls } };
}

function readCalls(state: RunState, result: CallModelResult): Move<RunState> {
  const { toolCalls, head } = result;
  const errors = toolCalls.flatMap(({ error }) => (error === undefined ? [] : [error]));
  if (errors.length === toolCalls.length) return rejectReply(state, errors, toolCalls);
  const [only] = toolCalls;
  if (toolCalls.length > 1 || only?.name !== completeTaskTool)
    return { state, commands: [], next: { type: 'admit-calls', calls: toolCalls, head } };
  if (only.input === undefined) return rejectReply(state, [resultTooLong]);
  const { summary, result: output } = only.input;
  const answer = typeof summary === 'string' ? summary : '';
  return propose(state, { answer, head, calls: toolCalls, ...defined({ output }) });
}

/** Leaves a reply with nothing that can run out of the transcript; only the next request tells the model why (R-ERR-5). */
const reject: Part<'reject-reply'> = (state, { errors, calls }) => {
  const entries = errors
    .filter(({ code }) => code === 'no_tool_call')
    .map((error) => publish({ type: 'NoToolCallEvent', error }));
  return andThen(
    stay(state, ...entries),
    (after) => takeAgentErrors(after, errors, false, calls),
    (after) => endRefusedStep(after, errors),
    (after) => again(after, breakerStop(after)),
  );
};

/** Continues with the next iteration, or with the agent that the run is handed to, unless the run must end. */
function again(state: RunState, stop: Stop | undefined): Move<RunState> {
  if (stop !== undefined) return fail(state, stop);
  return goTo(state.handoff === undefined ? 'begin-iteration' : 'hand-over', state);
}

/** Admits the calls of a reply. If the guard stops the run, none of them runs and the reply is not added to the transcript. */
const admit: Part<'admit-calls'> = (state, { calls, head, recovery }, { atMs }) => {
  const admitted = admitCalls(calls, state);
  const ofType = (type: string): readonly ProposedToolCall[] =>
    admitted.flatMap((progress) => (progress.status.type === type ? [progress.call] : []));
  const ready = ofType('ready');
  const stop = stopBeforeTools(state, [...ready, ...ofType('awaiting-approval')]);
  if (stop !== undefined) return fail(state, stop);
  const entered: RunState = {
    ...rememberPrivileges(state, ready),
    head,
    phase: { type: 'running-tools', calls: admitted, ...defined({ recovery }) },
  };
  return andThen(startReady(entered), (after) => {
    const armed = armWaits(after, atMs);
    return goTo('settle', armed.state, ...announceWaits(after), ...armed.commands);
  });
};

/** Runs calls that became ready: approved, resumed, or answered by a subagent. */
const run: Part<'run-calls'> = (state) =>
  andThen(startReady(state), (after) => goTo('settle', after));

type Starter = (state: RunState) => Move<RunState>;

/** What starts ready calls, in this order; a call that one of them started is no longer ready. */
const starters: readonly Starter[] = [
  // Calls that start subagents.
  startSubagents,
  // All others, as activities.
  startCalls,
];

/** Starts every ready call. A call counts toward the caps when it first starts, not when it resumes. */
function startReady(state: RunState): Move<RunState> {
  const fresh = readyCalls(state).flatMap(({ call: each, isResumed }) => (isResumed ? [] : [each]));
  return starters.reduce<Move<RunState>>(
    (before, start) => andThen(before, (after) => start(after)),
    stay(countToolRuns(state, fresh)),
  );
}

/** Once every call has its result, reports errors to the model and begins the next iteration; until then, does nothing. */
const settle: Part<'settle'> = (state, _next, { atMs }) => {
  if (state.phase.type === 'ending') return endIfIdle(state, atMs);
  const tools = runningTools(state);
  const settled = callsOf(state).flatMap(({ status }) =>
    status.type === 'settled' ? [status] : [],
  );
  if (tools === undefined || settled.length < tools.calls.length) return stay(state);
  const { calls, failure, recovery } = tools;
  if (failure !== undefined)
    return failInfra({ ...keepResults(state), phase: { type: 'ready' } }, failure);
  const gathered: RunState = {
    ...withResults(storeAnswered(state), tools),
    phase: { type: 'ready' },
  };
  const [own] = settled;
  if (recovery !== undefined && own !== undefined)
    return settleRuntimeCall(gathered, own.pending, recovery.call);
  const errors = settled.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const worked = settledCalls(calls, ({ ran, error }) => ran && error === undefined);
  const failed = settledCalls(calls, ({ error }) => error !== undefined);
  const succeeded = worked.length > 0;
  return andThen(
    stay(gathered),
    (after) => (succeeded ? healErrors(after, worked, errors) : stay(after)),
    (after) => takeAgentErrors(after, errors, succeeded, failed),
    (after) => countReply(after, calls),
    (after) => watchForLoops(after, calls),
    (after) => endToolStep(after, calls),
    (after) => stay({ ...after, ...defined({ handoff: handoffIn(after, calls) }) }),
    (after) => again(after, breakerStop(after) ?? loopStop(after)),
  );
};

const parts: { readonly [Type in NextPart['type']]: Part<Type> } = {
  prepare,
  'hand-over': (state) => startHandoff(state),
  'check-input': (state) => checkInput(state) ?? goTo('begin-iteration', state),
  'begin-iteration': begin,
  'call-model': call,
  'reject-reply': reject,
  'admit-calls': admit,
  'run-calls': run,
  settle,
  'check-answer': (state) => checkBeforeEnd(state),
  complete: (state, _next, { atMs }) => completeWith(state, atMs),
  fail: (state, { failure, ...stop }, { atMs }) => endFailed(state, stop, failure, atMs),
};

function runPart<Type extends NextPart['type']>(
  state: RunState,
  next: PartOf<Type>,
  moment: Moment,
): Move<RunState> {
  const part: Part<Type> = parts[next.type];
  return part(state, next, moment);
}

type Feature = (
  before: RunState,
  decided: Move<RunState>,
  cause: RunEvent | NextPart,
  atMs: number,
) => Move<RunState>;

/** Features that follow every decision; each owns one slice, and the loop works without it. */
const features: readonly Feature[] = [
  // Records errors and what resolved them.
  learn,
  // Notifies people when the run waits for them.
  notifyAboutWaits,
];

/** A decision with what the features add to it. */
const followed: Feature = (before, decided, cause, atMs) =>
  features.reduce((after, feature) => feature(before, after, cause, atMs), decided);

/** Runs part after part, until the run has to wait for the next event. */
export function runLoop(
  before: RunState,
  decided: Move<RunState>,
  event: RunEvent,
): Move<RunState, RunCommand> {
  let current = followed(before, decided, event, event.atMs);
  const commands = stamped(current, event.atMs);
  while (current.next !== undefined) {
    const { next, state } = current;
    current = followed(state, runPart(state, next, event), next, event.atMs);
    commands.push(...stamped(current, event.atMs));
  }
  return { state: current.state, commands };
}

/** The commands of a decision, with time and iteration in what they publish. */
function stamped({ state, commands }: Move<RunState>, atMs: number): RunCommand[] {
  const { iterations: iteration } = state.counters;
  return commands.map((command) =>
    command.type === 'publish'
      ? { ...command, entry: { ...command.entry, atMs, iteration } }
      : command,
  );
}
