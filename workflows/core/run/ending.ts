/** Ends a run: the one place that builds its outcome. What is in flight is asked to stop, and returns first. */
import { charge, chargeFailure, costOf } from '../budget/budget';
import { cachedShareOf, noSpend } from '../budget/spend';
import { keepCompaction, takeAppended } from '../context/compaction-phase';
import type { Failure } from '../failure';
import { guardCounts } from '../guard/state';
import type { JsonValue } from '../json';
import { defined, without } from '../json';
import { answerChars } from '../limits';
import { keepReply } from '../model-call/reply';
import { checksInFlight, timersOfCall } from '../people/decision-wait';
import { currentStage } from '../recovery/state';
import { closeTrial } from '../recovery/trial';
import { keepSubagent } from '../subagents/return';
import { subagentsReport } from '../subagents/state';
import type { ProposedToolCall, RunToolResult } from '../tools/ports';
import { activityIdAt, callSummary, callsOf, pendingResult, runningTools } from '../tools/state';
import { stoppedLine } from '../tools/unknown-outcome';
import { addFailureLine, addSuccess, countFailure } from './account';
import type { CallInFlight, Ending, EndingPlan } from './phases';
import type { RunOutcome, RunReport, Stop } from './outcome';
import type { RunEvent } from './protocol';
import { prepareCallId } from './protocol';
import type { RunState } from './state';
import type { Move } from './move';
import { andThen, cancelTimers, publish, stay } from './move';

/** The report as of now. */
export function reportOf(state: RunState, atMs: number): RunReport {
  const { context, worked, didNotWork, healed, healedBy, usage, activeMs, lastText } = state;
  const { troubles, atFirstRetry } = state.corrections;
  const { toolCalls, segments, timers, callsThisIteration, ...counters } = state.counters;
  return {
    agent: state.request.agent,
    ...counters,
    worked,
    didNotWork,
    healed,
    healedBy,
    usage,
    activeMs,
    lastText,
    cost: costOf(state),
    elapsedMs: atMs - state.startedAtMs,
    ...defined({
      corrections:
        troubles === 0 ? undefined : { troubles, atFirstRetry, rate: atFirstRetry / troubles },
      compactions: context.compactions === 0 ? undefined : context.compactions,
      cachedShare: cachedShareOf(state.usage),
      head: state.head,
      storeId: state.snapshot?.storeId,
      guard: state.request.parent === undefined ? undefined : guardCounts(state),
    }),
    ...subagentsReport(state),
  };
}

function endWith(state: RunState, outcome: RunOutcome, message: string): Move<RunState> {
  const ended: RunState = { ...state, phase: { type: 'ended', outcome } };
  return stay(ended, publish({ type: 'RunEndedEvent', status: outcome.status, message }), {
    type: 'end-run',
    outcome,
  });
}

/** Ends a run that reached its goal. */
export function endCompleted(
  state: RunState,
  answer: string,
  output: JsonValue | undefined,
  atMs: number,
): Move<RunState> {
  const outcome: RunOutcome = {
    status: 'completed',
    answer: answer.slice(0, answerChars),
    ...defined({ output }),
    report: reportOf(state, atMs),
  };
  // A run that reaches its goal is no longer stuck.
  return andThen(closeTrial(state, true), (closed) =>
    endWith(closed, outcome, answer.slice(0, 200)),
  );
}

/** Ends a run by the runtime. */
export function endFailed(
  state: RunState,
  { reason, message }: Stop,
  failure: Failure | undefined,
  atMs: number,
): Move<RunState> {
  const report = reportOf(state, atMs);
  const outcome: RunOutcome = {
    status: 'failed',
    reason,
    message,
    ...defined({ failure }),
    report,
  };
  return endWith(state, outcome, message);
}

/** Ends a run in which nothing is in flight any more. */
function endNow(state: RunState, plan: EndingPlan, atMs: number): Move<RunState> {
  const { status, reason, failureReason } = plan;
  if (status === 'failed')
    return endFailed(state, { reason: failureReason ?? 'infra', message: reason }, undefined, atMs);
  return endWith(state, { status, reason, report: reportOf(state, atMs) }, reason);
}

/** Tool calls and subagents in flight. */
function callsInFlight(state: RunState): readonly CallInFlight[] {
  return callsOf(state).flatMap(({ call, status }, index) => {
    if (status.type !== 'running' && status.type !== 'delegated') return [];
    const runId = status.type === 'delegated' ? status.runId : undefined;
    return [{ call, callId: activityIdAt(state, index), ...defined({ runId }) }];
  });
}

/** Ids of the activities and subagents in flight. */
function outstandingIds(state: RunState, calls: readonly CallInFlight[]): readonly string[] {
  const { phase } = state;
  if (phase.type === 'calling-model' || phase.type === 'compacting') return [phase.callId];
  if (phase.type === 'preparing') return [prepareCallId];
  const stage = currentStage(state);
  if (stage?.type === 'planning') return [stage.callId];
  return [...calls.map(({ callId }) => callId), ...checksInFlight(state)];
}

/** Timers that the phase waits for. */
export function timersOf(state: RunState): readonly string[] {
  const { phase } = state;
  if (phase.type === 'waiting') return phase.timerId === undefined ? [] : [phase.timerId];
  const stage = currentStage(state);
  if (stage !== undefined) return stage.type === 'planning' ? [] : [stage.timerId];
  return callsOf(state).flatMap(timersOfCall);
}

/** The results that the current reply has so far: no model call will append them to the transcript. */
function withSettledResults(state: RunState): RunState {
  const tools = runningTools(state);
  if (tools === undefined || tools.recovery !== undefined) return state;
  const pendingResults = tools.calls.flatMap(({ status }) =>
    status.type === 'settled' ? [status.pending] : [],
  );
  return { ...state, next: { ...state.next, pendingResults } };
}

/**
 * Ends the run as a person or the guard wants: what is in flight is asked to stop and returns first, so that nothing is lost. Of a
 * run that is already ending, only a cancel changes how.
 */
export function endOnceIdle(before: RunState, plan: EndingPlan, atMs: number): Move<RunState> {
  const { phase } = before;
  if (phase.type === 'ending') {
    if (plan.status !== 'cancelled') return stay(before);
    return stay({ ...before, phase: { ...without(phase, 'failureReason'), ...plan } });
  }
  const state = withSettledResults(before);
  const timers = cancelTimers(timersOf(state));
  const calls = callsInFlight(state);
  const outstanding = outstandingIds(state, calls);
  if (outstanding.length === 0)
    return andThen(stay(state, ...timers), (after) => endNow(after, plan, atMs));
  return stay({ ...state, phase: { type: 'ending', ...plan, outstanding, calls } }, ...timers, {
    type: 'cancel-activities',
    callIds: outstanding,
  });
}

/**
 * Takes what returns while the run ends: result and cost are kept. After the last one, the run ends. Undefined for an event of
 * which the ending changes nothing.
 */
export function onReturned(
  state: RunState,
  ending: Ending,
  event: RunEvent,
): Move<RunState> | undefined {
  if (event.type === 'escalation-requested') return stay(state);
  const inFlight =
    'toolCallId' in event
      ? ending.calls.find(({ call }) => call.toolCallId === event.toolCallId)
      : undefined;
  const callId = inFlight?.callId ?? activityOf(event);
  if (callId === undefined || !ending.outstanding.includes(callId)) return undefined;
  const kept =
    'toolCallId' in event && inFlight !== undefined
      ? keepCall(state, inFlight, event)
      : stay(keepResult(state, callId, event));
  const outstanding = ending.outstanding.filter((id) => id !== callId);
  return andThen(kept, (after) =>
    outstanding.length > 0
      ? stay({ ...after, phase: { ...ending, outstanding } })
      : endNow(after, ending, event.atMs),
  );
}

/** The activity, beside a tool's, that an event comes from. */
function activityOf(event: RunEvent): string | undefined {
  if ('callId' in event) return event.callId;
  const isPreparation = event.type === 'run-prepared' || event.type === 'run-preparation-failed';
  return isPreparation ? prepareCallId : undefined;
}

/** Keeps what a model call, a compaction, a plan, or the preparation gave and cost. */
function keepResult(state: RunState, callId: string, event: RunEvent): RunState {
  if ('failure' in event) return chargeFailure(state, callId, event.failure);
  const { type } = event;
  if (type === 'model-call-completed') return keepReply(state, callId, event.result);
  if (type === 'model-call-held-back') return takeAppended(state, event.result.headBefore, 0);
  if (type === 'compaction-completed') return keepCompaction(state, callId, event.result);
  if (type === 'recovery-planned') return charge(state, callId, event.result.spend ?? noSpend);
  return state;
}

type CallEvent = Extract<RunEvent, { toolCallId: string }>;
type CallEventOf<Type extends CallEvent['type']> = Extract<CallEvent, { type: Type }>;
type CallKeeper<Type extends CallEvent['type']> = (
  state: RunState,
  inFlight: CallInFlight,
  event: CallEventOf<Type>,
) => Move<RunState>;

const callKeepers: { readonly [Type in CallEvent['type']]: CallKeeper<Type> } = {
  'tool-call-completed': (state, { call }, { result }) => stay(keepToolCall(state, call, result)),
  'tool-call-failed': (state, { call }) => stay(keepToolCall(state, call, undefined)),
  'subagent-ended': (state, inFlight, { end }) => keepSubagent(state, inFlight, end),
};

function keepCall<Type extends CallEvent['type']>(
  state: RunState,
  inFlight: CallInFlight,
  event: CallEventOf<Type>,
): Move<RunState> {
  const keeper: CallKeeper<Type> = callKeepers[event.type];
  return keeper(state, inFlight, event);
}

/** Keeps what a tool did, for people and for a run that continues the transcript. */
function keepToolCall(
  state: RunState,
  call: ProposedToolCall,
  result: RunToolResult | undefined,
): RunState {
  const pendingResults = [
    ...state.next.pendingResults,
    ...(result === undefined ? [] : [pendingResult(call, result)]),
  ];
  const kept: RunState = { ...state, next: { ...state.next, pendingResults } };
  return result !== undefined && result.error === undefined
    ? addSuccess(kept, callSummary(call))
    : countFailure(addFailureLine(kept, stoppedLine(kept, call)));
}
