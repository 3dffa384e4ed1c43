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
import type { Recovering, RecoverySlice, RecoveryStage, TimedWait } from './state';
import { escalationQuestion } from './text';

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

/** Enters a stage that a timer ends. */
export function startWait<State extends RecoveringState>(
  state: State,
  stage: (timed: TimedWait) => RecoveryStage,
  delayMs: number,
  waitingFor: string,
  atMs: number,
): Move<State> {
  const timers = state.counters.timers + 1;
  const timed = { timerId: `recovery-${timers}`, untilMs: atMs + delayMs, sinceMs: atMs };
  const phase: Recovering = { type: 'recovering', stage: stage(timed) };
  const recovery = { ...state.recovery, count: state.recovery.count + 1 };
  const waiting = count({ ...state, phase, recovery }, { timers });
  return stay(
    waiting,
    publish({ type: 'WaitStartedEvent', waitingFor }),
    stageTimer(timed, waitingFor, atMs),
  );
}

/** Milliseconds that recovery waits for a person. */
export function personWaitMs({ snapshot }: SnapshotSlice): number {
  return snapshot?.recovery?.waitMs ?? 0;
}

/** Hands the run over to a person with a question. */
export function startEscalation<State extends RecoveringState>(
  state: State,
  action: RecoveryAction,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  const asked = escalationQuestion(action, trouble, {
    tried: state.recovery.tried,
    blockers: state.progress.blockers ?? [],
  });
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
