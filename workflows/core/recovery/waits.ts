/** The durable waits of recovery: a question to a person, an approval of an action, a pause before a retry. */
import { timesInARow } from '../errors/circuit-breaker';
import type { ErrorsSlice } from '../errors/state';
import type { NextRequestSlice } from '../model-call/next-request';
import { addNote } from '../model-call/next-request';
import type { CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import type { RunCommand, RunWait } from '../run/protocol';
import type { Move } from '../run/move';
import { fail, goTo, labelOf, precededBy, publish, stay } from '../run/move';
import { shownText } from '../secrets/shown-text';
import type { PhaseSlice } from '../run/phases';
import type { RecoveryAction, RecoveryTrouble } from './action';
import { stuckSteps } from './stuck';
import type { Recovering, RecoverySlice, RecoveryStage, TimedWait } from './state';
import { isHeard } from './state';
import {
  actionSummary,
  escalationQuestion,
  proposalText,
  unansweredNote,
  unheardMessage,
} from './text';

/** The state of a run that recovers. */
export type RecoveringState = RecoverySlice & PhaseSlice & SnapshotSlice & CountersSlice;

/** What handing over to a person reads and changes. */
type EscalatingState = RecoveringState & ErrorsSlice & NextRequestSlice;

/** Characters of what a wait is for, in the timeline. */
const waitChars = 600;

/** A stage that waits. */
export type WaitingStage = Exclude<RecoveryStage, { type: 'planning' }>;

/** What a stage waits for, in words. */
export function stageText(stage: WaitingStage): string {
  switch (stage.type) {
    case 'backing-off':
      return `a pause before ${actionSummary(stage.plan.action)}`;
    case 'asking':
      return shownText(`approval of ${proposalText(stage.plan.action)}`, waitChars);
    case 'escalated':
      return `person: ${stage.question}`;
  }
}

/** The same for programs. */
export function stageWait(stage: WaitingStage): RunWait {
  switch (stage.type) {
    case 'backing-off':
      return { kind: 'pause' };
    case 'asking':
      return { kind: 'approval', id: stage.approvalId, digest: stage.plan.digest };
    case 'escalated':
      return { kind: 'question', id: stage.questionId };
  }
}

/** The timer of a stage, for its start and for a new segment. */
export function stageTimer(stage: WaitingStage, atMs: number): RunCommand {
  const { timerId, untilMs } = stage;
  return {
    type: 'start-timer',
    timerId,
    delayMs: Math.max(untilMs - atMs, 1),
    summary: labelOf(stageText(stage)),
  };
}

/** Enters a stage that a timer ends. */
export function startWait<State extends RecoveringState>(
  state: State,
  enter: (timed: TimedWait) => WaitingStage,
  delayMs: number,
  atMs: number,
): Move<State> {
  const timers = state.counters.timers + 1;
  const timed = { timerId: `recovery-${timers}`, untilMs: atMs + delayMs, sinceMs: atMs };
  const stage = enter(timed);
  const phase: Recovering = { type: 'recovering', stage };
  const recovery = { ...state.recovery, count: state.recovery.count + 1 };
  const waiting = count({ ...state, phase, recovery }, { timers });
  return stay(
    waiting,
    publish({
      type: 'WaitStartedEvent',
      waitingFor: stageText(stage),
      wait: stageWait(stage),
    }),
    stageTimer(stage, atMs),
  );
}

/** Milliseconds that recovery waits for a person. */
export function personWaitMs({ snapshot }: SnapshotSlice): number {
  return snapshot?.recovery?.waitMs ?? 0;
}

/**
 * A person is needed, and nobody would hear of it: the run ends at once, or continues as where nobody answers in time. Where one
 * error comes again and again, the circuit breaker decides when that is enough.
 */
function unheard<State extends EscalatingState>(
  before: State,
  action: RecoveryAction,
  trouble: RecoveryTrouble,
): Move<State> {
  const recovery = { ...before.recovery, handledStep: before.progress.steps };
  const state: State = { ...before, recovery, phase: { type: 'ready' } };
  if (timesInARow(state.breaker) >= stuckSteps) return goTo('begin-iteration', state);
  return state.snapshot?.recovery?.onExpiry === 'continue'
    ? goTo('begin-iteration', addNote(state, unansweredNote))
    : fail(state, { reason: 'gave_up', message: unheardMessage(action, trouble) });
}

/** Hands the run over to a person with a question, if one hears it. */
export function startEscalation<State extends EscalatingState>(
  state: State,
  action: RecoveryAction,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  if (!isHeard(state)) return unheard(state, action, trouble);
  const asked = escalationQuestion(action, trouble, {
    tried: state.recovery.tried,
    blockers: state.progress.modelEstimate?.blockers ?? [],
  });
  // It may hold the goal, and what a person said when rejecting a call.
  const question = shownText(asked, asked.length);
  const planned = action.strategy === 'escalate' ? {} : { planned: action };
  const questionId = `recovery-${state.recovery.count}`;
  const escalated = publish({ type: 'EscalatedEvent', reason: question });
  return precededBy(
    [escalated],
    startWait(
      state,
      (timed) => ({ type: 'escalated', questionId, question, trouble, ...planned, ...timed }),
      personWaitMs(state),
      atMs,
    ),
  );
}
