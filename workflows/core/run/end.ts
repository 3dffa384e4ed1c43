/** Ends a run: builds its outcome with what worked and what did not. */
import { costOf } from '../budget/budget';
import type { Failure } from '../failure';
import { guardCounts } from '../guard/counts';
import type { JsonValue } from '../json';
import { answerChars } from '../limits';
import type { FailureReason, RunOutcome, RunReport } from './outcome';
import { closeTrial } from '../recovery/trial';
import type { RunState } from './state';
import type { Step } from './step';
import { andThen, publish, step } from './step';
import { cachedShareOf } from '../budget/usage';

/** The report as the state has it now. */
export function reportOf(state: RunState, atMs: number): RunReport {
  const { counters } = state;
  const cachedShare = cachedShareOf(state.usage);
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
    ...(state.context.compactions === 0 ? {} : { compactions: state.context.compactions }),
    usage: state.usage,
    ...(cachedShare === undefined ? {} : { cachedShare }),
    cost: costOf(state),
    elapsedMs: atMs - state.startedAtMs,
    activeMs: state.activeMs,
    events: counters.events,
    ...(state.head === undefined ? {} : { head: state.head }),
    ...(state.snapshot === undefined ? {} : { storeId: state.snapshot.storeId }),
    lastText: state.lastText,
    ...(state.request.parent === undefined ? {} : { guard: guardCounts(state) }),
    ...(state.subagents.length === 0 ? {} : { subagents: state.subagents }),
  };
}

function endWith(state: RunState, atMs: number, outcome: RunOutcome, message: string): Step {
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
  atMs: number,
  answer: string,
  output?: JsonValue,
): Step {
  const outcome: RunOutcome = {
    status: 'completed',
    answer: answer.slice(0, answerChars),
    ...(output === undefined ? {} : { output }),
    report: reportOf(state, atMs),
  };
  // A run that reaches its goal got over what it was stuck on.
  return andThen(closeTrial(state, true, atMs), (closed) =>
    endWith(closed, atMs, outcome, answer.slice(0, 200)),
  );
}

/** Ends a run by the runtime: always with a reason that a person can read. */
export function endFailed(
  state: RunState,
  atMs: number,
  reason: FailureReason,
  message: string,
  failure?: Failure,
): Step {
  const outcome: RunOutcome = {
    status: 'failed',
    reason,
    message,
    ...(failure === undefined ? {} : { failure }),
    report: reportOf(state, atMs),
  };
  return endWith(state, atMs, outcome, message);
}

/** Ends a run that a person stopped or cancelled. */
export function endByPerson(
  state: RunState,
  atMs: number,
  status: 'stopped' | 'cancelled',
  reason: string,
): Step {
  return endWith(state, atMs, { status, reason, report: reportOf(state, atMs) }, reason);
}
