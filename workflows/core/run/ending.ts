/** Ends a run: the one place that builds its outcome. What is in flight is asked to stop, and returns first. */
import { costOf, stopBeforeIteration } from '../budget/budget';
import { cachedShareOf } from '../budget/spend';
import { healErrors } from '../errors/healing';
import type { Failure } from '../failure';
import { guardCounts } from '../guard/state';
import { checkAnswer } from '../guardrails/guardrails';
import type { ProposedAnswer } from '../guardrails/state';
import { invariant } from '../invariant';
import type { JsonValue } from '../json';
import { defined, without } from '../json';
import { previewChars } from '../limits';
import { unreadTexts } from '../people/messages';
import { shortened } from '../shortened';
import { currentStage, recoveryStage } from '../recovery/state';
import { stageText, stageWait } from '../recovery/waits';
import { closeTrial } from '../recovery/trial';
import { subagentsReport } from '../subagents/state';
import { abandonWaits } from '../tools/calls';
import type { ToolCallProgress } from '../tools/state';
import { activityIdAt, callsOf, isInFlight, runningTools, withResults } from '../tools/state';
import { interruptedLine } from '../tools/unknown-outcome';
import type { Ending } from './ending-phase';
import type { RunOutcome, RunReport, Stop } from './outcome';
import type { EndingPlan } from './phases';
import { handedTo } from './ports';
import { prepareCallId } from './protocol';
import type { RunState } from './state';
import type { Move, UnstampedCommand } from './move';
import { andThen, cancelTimers, goTo, publish, stay } from './move';
import { waitEnd, waitingPhase } from './waiting';

/** The report as of now. */
export function reportOf(state: RunState, atMs: number): RunReport {
  const { context, worked, didNotWork, healed, healedBy, usage, activeMs, lastText } = state;
  const { troubles, atFirstRetry } = state.corrections;
  const unread = unreadTexts(state);
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
      actingAgent: handedTo(state),
      advice: state.advice,
      corrections:
        troubles === 0 ? undefined : { troubles, atFirstRetry, rate: atFirstRetry / troubles },
      compactions: context.compactions === 0 ? undefined : context.compactions,
      cachedShare: cachedShareOf(state.usage),
      head: state.head,
      storeId: state.snapshot?.storeId,
      unread: unread.length === 0 ? undefined : unread,
      guard: state.request.parent === undefined ? undefined : guardCounts(state),
    }),
    ...subagentsReport(state),
  };
}

type How<Outcome = RunOutcome> = Outcome extends unknown ? Omit<Outcome, 'report'> : never;

/** Ends the run, with everything that was not finished in its report. */
function endWith(state: RunState, how: How, message: string, atMs: number): Move<RunState> {
  const outcome: RunOutcome = { ...how, report: reportOf(state, atMs) };
  const ended: RunState = { ...state, phase: { type: 'ended', outcome } };
  return stay(ended, publish({ type: 'RunEndedEvent', status: outcome.status, message }), {
    type: 'end-run',
    outcome,
  });
}

/** Ends a run that reached its goal. */
function endCompleted(
  state: RunState,
  answer: string,
  output: JsonValue | undefined,
  atMs: number,
): Move<RunState> {
  const how = {
    status: 'completed',
    answer,
    ...defined({ output }),
  } as const;
  // A run that reaches its goal is no longer stuck.
  return andThen(closeTrial(state, true), (closed) =>
    endWith(closed, how, shortened(answer, previewChars), atMs),
  );
}

/**
 * Whether a person still waits for something that the run can do only if it goes on: an answer, or to be taken over. A run that
 * may not go on completes, and its report names what was not read.
 */
function personIsWaiting(state: RunState): boolean {
  const isWaiting = state.inbox.length > 0 || state.escalation !== undefined;
  return isWaiting && stopBeforeIteration(state) === undefined;
}

/** Takes an answer that may end the run. */
export function propose(state: RunState, proposed: ProposedAnswer): Move<RunState> {
  return goTo('check-answer', { ...state, proposed });
}

/** Checks the proposed answer, unless a person waits for something else first. */
export function checkBeforeEnd(state: RunState): Move<RunState> {
  const { proposed } = state;
  invariant(proposed !== undefined, 'what is checked was proposed');
  const checking = personIsWaiting(state) ? undefined : checkAnswer(state, proposed);
  return checking ?? goTo('complete', state);
}

/** Ends the run with the proposed answer. Where a person waits, the answer is only a part of the conversation. */
export function completeWith({ proposed, ...state }: RunState, atMs: number): Move<RunState> {
  invariant(proposed !== undefined, 'what ends the run was proposed');
  const { answer, output, head, calls } = proposed;
  if (!personIsWaiting(state))
    return andThen<RunState>(healErrors({ ...state, head }, calls), (healed) =>
      endCompleted(healed, answer, output, atMs),
    );
  return calls.length === 0
    ? goTo('begin-iteration', { ...state, head })
    : { state, commands: [], next: { type: 'admit-calls', calls, head } };
}

/** Ends a run by the runtime. */
export function endFailed(
  state: RunState,
  { reason, message }: Stop,
  failure: Failure | undefined,
  atMs: number,
): Move<RunState> {
  const how = { status: 'failed', reason, message, ...defined({ failure }) } as const;
  return endWith(state, how, message, atMs);
}

/**
 * Keeps the results of the reply that the end interrupts, in its order, for a run that continues the transcript, and adds a line
 * about each call that failed or has no result.
 *
 * Contract: as many lines as calls, so that none is dropped.
 */
export function keepResults(state: RunState): RunState {
  const tools = runningTools(state);
  if (tools === undefined) return state;
  // What the runtime was about to do and never did is no matter of the transcript.
  const isMoot = tools.recovery !== undefined && !tools.calls.some(hasRun);
  if (isMoot) return state;
  const lines = tools.calls.flatMap(({ call, status }) =>
    status.type === 'settled' && status.ran && status.error !== undefined
      ? [interruptedLine(state, call, status.error)]
      : [],
  );
  return { ...withResults(state, tools), didNotWork: [...state.didNotWork, ...lines] };
}

function hasRun({ status }: ToolCallProgress): boolean {
  return status.type === 'settled' && status.ran;
}

/** Ends the wait of the phase early: its timer stops. The waits of tool calls are their own. */
export function leaveWait(state: RunState): readonly UnstampedCommand[] {
  const wait = waitingPhase(state);
  if (wait !== undefined)
    return [...cancelTimers(wait.timerId === undefined ? [] : [wait.timerId]), waitEnd(wait)];
  const stage = currentStage(state);
  if (stage === undefined || stage.type === 'planning') return [];
  const [waitedFor, stageOf] = [stageText(stage), stageWait(stage)];
  const entry = publish({ type: 'WaitEndedEvent', waitedFor, wait: stageOf });
  return [...cancelTimers([stage.timerId]), entry];
}

/** The activity in flight beside tool calls. */
function otherInFlight(state: RunState): string | undefined {
  const { phase } = state;
  if (phase.type === 'preparing') return prepareCallId;
  return 'callId' in phase ? phase.callId : recoveryStage(state, 'planning')?.callId;
}

/** Ids of the tool calls, subagents and checks in flight. */
function callsInFlight(state: RunState): readonly string[] {
  return callsOf(state).flatMap((progress, index) => {
    if (progress.status.type === 'checking-edit') return [progress.status.callId];
    return isInFlight(progress) ? [activityIdAt(state, index)] : [];
  });
}

/**
 * Ends the run as a person or the guard wants: what is in flight is asked to stop and returns first, so that nothing is lost. Of a
 * run that is already ending, only a cancel changes how.
 */
export function endOnceIdle(state: RunState, plan: EndingPlan, atMs: number): Move<RunState> {
  const { phase } = state;
  if (phase.type === 'ending') {
    if (plan.status !== 'cancelled') return stay(state);
    return stay({ ...state, phase: { ...without(phase, 'failureReason'), ...plan } });
  }
  const outstanding = otherInFlight(state);
  const sentTexts = phase.type === 'calling-model' ? phase.sentTexts : undefined;
  return andThen(stay(state, ...leaveWait(state)), abandonWaits, (after) => {
    const tools = runningTools(after);
    const ending: Ending = {
      type: 'ending',
      ...plan,
      ...defined({ outstanding, sentTexts, tools }),
    };
    const callIds = [...(outstanding === undefined ? [] : [outstanding]), ...callsInFlight(after)];
    const ends = { ...after, phase: ending };
    return callIds.length === 0
      ? endIfIdle(ends, atMs)
      : stay(ends, { type: 'cancel-activities', callIds });
  });
}

/** Ends a run that is ending, once nothing is in flight any more. */
export function endIfIdle(state: RunState, atMs: number): Move<RunState> {
  const { phase } = state;
  if (phase.type !== 'ending') return stay(state);
  if (phase.outstanding !== undefined || callsOf(state).some(isInFlight)) return stay(state);
  const { status, reason, failureReason } = phase;
  const kept = keepResults(state);
  return status === 'failed'
    ? endFailed(kept, { reason: failureReason ?? 'infra', message: reason }, undefined, atMs)
    : endWith(kept, { status, reason }, reason, atMs);
}
