/** Ends a run: the one place that builds its outcome. What is in flight is asked to stop, and returns first. */
import { costOf } from '../budget/budget';
import { cachedShareOf } from '../budget/spend';
import type { Failure, InfraError } from '../failure';
import { guardCounts } from '../guard/state';
import type { JsonValue } from '../json';
import { defined, without } from '../json';
import { answerChars } from '../limits';
import { checksInFlight, timersOfCall } from '../people/decision-wait';
import { currentStage } from '../recovery/state';
import { closeTrial } from '../recovery/trial';
import { subagentsReport } from '../subagents/state';
import type { ProposedToolCall, RunToolResult } from '../tools/ports';
import { activityIdAt, callSummary, callsOf, pendingResult, runningTools } from '../tools/state';
import { stoppedLine } from '../tools/unknown-outcome';
import { addFailureLine, addSuccess, countFailure } from './account';
import type { EndingPlan, LandingCall } from './phases';
import type { RunOutcome, RunReport, Stop } from './outcome';
import { prepareCallId } from './protocol';
import type { RunState } from './state';
import type { Step } from './step';
import { andThen, cancelTimers, publish, step } from './step';

/** The report as of now. */
export function reportOf(state: RunState, atMs: number): RunReport {
  const { counters, context } = state;
  return {
    agent: state.request.agent,
    iterations: counters.iterations,
    modelCalls: counters.modelCalls,
    toolCallsSucceeded: counters.toolCallsSucceeded,
    toolCallsFailed: counters.toolCallsFailed,
    worked: state.worked,
    didNotWork: state.didNotWork,
    healed: state.healed,
    failovers: counters.failovers,
    usage: state.usage,
    cost: costOf(state),
    elapsedMs: atMs - state.startedAtMs,
    activeMs: state.activeMs,
    events: counters.events,
    lastText: state.lastText,
    ...defined({
      advice: state.advice,
      compactions: context.compactions === 0 ? undefined : context.compactions,
      cachedShare: cachedShareOf(state.usage),
      head: state.head,
      storeId: state.snapshot?.storeId,
      guard: state.request.parent === undefined ? undefined : guardCounts(state),
    }),
    ...subagentsReport(state),
  };
}

function endWith(
  state: RunState,
  atMs: number,
  outcome: RunOutcome,
  message: string,
): Step<RunState> {
  const ended: RunState = { ...state, phase: { type: 'ended', outcome } };
  return step(
    ended,
    publish(state, atMs, { type: 'RunEndedEvent', status: outcome.status, message }),
    { type: 'end-run', outcome },
  );
}

/** Ends a run that reached its goal. */
export function endCompleted(
  state: RunState,
  answer: string,
  output: JsonValue | undefined,
  atMs: number,
): Step<RunState> {
  const outcome: RunOutcome = {
    status: 'completed',
    answer: answer.slice(0, answerChars),
    ...defined({ output }),
    report: reportOf(state, atMs),
  };
  // A run that reaches its goal is no longer stuck.
  return andThen(closeTrial(state, true, atMs), (closed) =>
    endWith(closed, atMs, outcome, answer.slice(0, 200)),
  );
}

/** Ends a run by the runtime. */
export function endFailed(
  state: RunState,
  { reason, message }: Stop,
  failure: Failure | undefined,
  atMs: number,
): Step<RunState> {
  const report = reportOf(state, atMs);
  const outcome: RunOutcome = {
    status: 'failed',
    reason,
    message,
    ...defined({ failure }),
    report,
  };
  return endWith(state, atMs, outcome, message);
}

/** Ends a run in which nothing is in flight any more. */
function endNow(state: RunState, plan: EndingPlan, atMs: number): Step<RunState> {
  const { status, reason, failureReason } = plan;
  if (status === 'failed')
    return endFailed(state, { reason: failureReason ?? 'infra', message: reason }, undefined, atMs);
  return endWith(state, atMs, { status, reason, report: reportOf(state, atMs) }, reason);
}

/** Tool calls and subagents in flight. */
function landingCalls(state: RunState): readonly LandingCall[] {
  return callsOf(state).flatMap(({ call, status }, index) => {
    if (status.type !== 'running' && status.type !== 'delegated') return [];
    const runId = status.type === 'delegated' ? status.runId : undefined;
    return [{ call, callId: activityIdAt(state, index), ...defined({ runId }) }];
  });
}

/** Ids of the activities and subagents in flight. */
function outstandingIds(state: RunState, landing: readonly LandingCall[]): readonly string[] {
  const { phase } = state;
  if (phase.type === 'calling-model' || phase.type === 'compacting') return [phase.callId];
  if (phase.type === 'preparing') return [prepareCallId];
  const stage = currentStage(state);
  if (stage?.type === 'planning') return [stage.callId];
  return [...landing.map(({ callId }) => callId), ...checksInFlight(state)];
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
export function endAfterLanding(before: RunState, plan: EndingPlan, atMs: number): Step<RunState> {
  const { phase } = before;
  if (phase.type === 'ending') {
    if (plan.status !== 'cancelled') return step(before);
    return step({ ...before, phase: { ...without(phase, 'failureReason'), ...plan } });
  }
  const state = withSettledResults(before);
  const timers = cancelTimers(timersOf(state));
  const landing = landingCalls(state);
  const outstanding = outstandingIds(state, landing);
  if (outstanding.length === 0)
    return andThen(step(state, ...timers), (after) => endNow(after, plan, atMs));
  return step({ ...state, phase: { type: 'ending', ...plan, outstanding, landing } }, ...timers, {
    type: 'cancel-activities',
    callIds: outstanding,
  });
}

/** Something in flight has returned; after the last one, the run ends. */
export function returned(state: RunState, callId: string, atMs: number): Step<RunState> {
  const { phase } = state;
  if (phase.type !== 'ending' || !phase.outstanding.includes(callId)) return step(state);
  const outstanding = phase.outstanding.filter((id) => id !== callId);
  if (outstanding.length > 0) return step({ ...state, phase: { ...phase, outstanding } });
  return endNow(state, phase, atMs);
}

/** The call that a run waits for while it ends; undefined if it waits for no such call. */
export function awaitedCall({ phase }: RunState, toolCallId: string): LandingCall | undefined {
  if (phase.type !== 'ending') return undefined;
  const landing = phase.landing.find(({ call }) => call.toolCallId === toolCallId);
  return landing !== undefined && phase.outstanding.includes(landing.callId) ? landing : undefined;
}

/** Records a tool call that returned while the run ends, and keeps its result for a run that continues the transcript. */
export function landTool(
  state: RunState,
  call: ProposedToolCall,
  returnedWith: { readonly result: RunToolResult } | { readonly failure: InfraError },
): RunState {
  const result = 'result' in returnedWith ? returnedWith.result : undefined;
  const pendingResults = [
    ...state.next.pendingResults,
    ...(result === undefined ? [] : [pendingResult(call, result)]),
  ];
  const kept: RunState = { ...state, next: { ...state.next, pendingResults } };
  return result !== undefined && result.error === undefined
    ? addSuccess(kept, callSummary(call))
    : countFailure(addFailureLine(kept, stoppedLine(kept, call)));
}
