/** The durable waits of recovery: a question to a person, an approval of an action, a pause before a retry. */
import type { CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import type { RunCommand } from '../run/protocol';
import type { Move } from '../run/move';
import { precededBy, publish, stay } from '../run/move';
import { shownText } from '../secrets/shown-text';
import type { PhaseSlice } from '../run/phases';
import type { RecoveryAction, RecoveryTrouble } from './action';
import type { Plan, Recovering, RecoverySlice, RecoveryStage, TimedWait } from './state';
import { actionSummary, escalationQuestion } from './text';

/** Milliseconds of the first pause before a retry, doubled for each earlier retry of the same tool (ADR 0026). */
const firstBackoffMs = 2_000;

/** The state of a run that recovers. */
export type RecoveringState = RecoverySlice & PhaseSlice & SnapshotSlice & CountersSlice;

/** The timer of a stage, for its start and for a new segment. */
export function stageTimer(
  { timerId, untilMs }: TimedWait,
  waitingFor: string,
  atMs: number,
): RunCommand {
  return {
    type: 'start-timer',
    timerId,
    delayMs: Math.max(untilMs - atMs, 1),
    summary: `recovery: ${waitingFor}`.slice(0, 200),
  };
}

function startWait<State extends RecoveringState>(
  state: State,
  stage: (timed: TimedWait) => RecoveryStage,
  delayMs: number,
  waitingFor: string,
  atMs: number,
): Move<State> {
  const timers = state.counters.timers + 1;
  const timed: TimedWait = {
    timerId: `recovery-${timers}`,
    untilMs: atMs + delayMs,
    sinceMs: atMs,
  };
  const phase: Recovering = { type: 'recovering', stage: stage(timed) };
  const recovery = { ...state.recovery, count: state.recovery.count + 1 };
  const waiting = count({ ...state, phase, recovery }, { timers });
  return stay(
    waiting,
    publish({ type: 'WaitStartedEvent', waitingFor }),
    stageTimer(timed, waitingFor, atMs),
  );
}

function personWaitMs({ snapshot }: SnapshotSlice): number {
  return snapshot?.recovery?.waitMs ?? 0;
}

/** Hands the run over to a person with a question. */
export function startEscalation<State extends RecoveringState>(
  state: State,
  action: RecoveryAction,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  const asked = escalationQuestion(action, trouble, state.recovery.tried);
  // It may hold the goal, and what a person said when rejecting a call.
  const question = shownText(asked, asked.length);
  const questionId = `recovery-${state.recovery.count}`;
  const escalated = publish({ type: 'EscalatedEvent', reason: question });
  return precededBy(
    [escalated],
    startWait(
      state,
      (timed) => ({ type: 'escalated', questionId, question, trouble, ...timed }),
      personWaitMs(state),
      `person: ${question}`,
      atMs,
    ),
  );
}

/** Asks a person whether to carry out the action. */
export function startAsking<State extends RecoveringState>(
  state: State,
  plan: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  const approvalId = `recovery-${state.recovery.count}`;
  return startWait(
    state,
    (timed) => ({ type: 'asking', approvalId, plan, trouble, ...timed }),
    personWaitMs(state),
    `approval of ${actionSummary(plan.action)}`,
    atMs,
  );
}

/** Pauses before a retry. */
export function startBackoff<State extends RecoveringState>(
  state: State,
  plan: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  const earlier = state.recovery.retries[plan.action.action.toolName] ?? 0;
  return startWait(
    state,
    (timed) => ({ type: 'backing-off', plan, trouble, ...timed }),
    firstBackoffMs * 2 ** earlier,
    `a pause before ${actionSummary(plan.action)}`,
    atMs,
  );
}
