/** What people send to a run, whichever room it concerns; and whether it can apply, before it enters history. */
import { untakenProblem } from '../attachments';
import { onCallAnswered } from '../people/decisions';
import { onCallDecided } from '../people/edit-approval';
import { onEscalationAnswered } from '../people/messages';
import type { Answered } from '../people/state';
import { otherAction, problemOfAnswer, problemOfCallDecision } from '../people/verdicts';
import { onRecoveryAnswer, onRecoveryApproval } from '../recovery/carry-out';
import { currentStage, recoveryStage } from '../recovery/state';
import { pendingItems } from '../view/pending';
import { leaveWait } from './ending';
import type { RunEvent } from './protocol';
import type { RunState } from './state';
import type { Move } from './move';
import { precededBy, publish, stay } from './move';
import { waitForPerson } from './waiting';

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

/** Takes an answer: to an escalated run, to a question of recovery, or to the question of a call. */
export function onAnswer(state: RunState, event: EventOf<'question-answered'>): Move<RunState> {
  return (
    onEscalationAnswered(state, event) ??
    onRecoveryAnswer(state, event) ??
    onCallAnswered(state, event)
  );
}

/** Takes a decision on a recovery action or on a call. */
export function onApproval(state: RunState, event: EventOf<'approval-resolved'>): Move<RunState> {
  return onRecoveryApproval(state, event) ?? onCallDecided(state, event);
}

/** Whether a person can take the run over at once, because it only waits. */
function isIdle(state: RunState): boolean {
  const { phase } = state;
  const stage = currentStage(state);
  if (stage !== undefined) return stage.type !== 'planning';
  return phase.type === 'ready' || (phase.type === 'waiting' && phase.then !== 'prepare');
}

/** Hands the run over to a person: at once if it only waits, else at the next iteration. */
export function onEscalationRequested(
  state: RunState,
  { reason, atMs }: EventOf<'escalation-requested'>,
): Move<RunState> {
  const announced = publish({ type: 'EscalatedEvent', reason });
  if (!isIdle(state)) return stay({ ...state, escalation: reason }, announced);
  return precededBy([announced, ...leaveWait(state)], waitForPerson(state, reason, atMs));
}

/** Why an answer cannot apply, and what to do; undefined if it can. */
export function rejectAnswer(
  state: RunState,
  given: Answered & { readonly questionId: string },
): string | undefined {
  const problem = untakenProblem(state.snapshot?.chain ?? [], given.attachments ?? []);
  if (problem !== undefined) return problem;
  const waiting = pendingItems(state).flatMap((item) =>
    item.type === 'question' ? [item.questionId] : [],
  );
  return problemOfAnswer(state, given, waiting);
}

/** Why a decision cannot apply, and what to do; undefined if it can, or was already made. */
export function rejectDecision(
  state: RunState,
  decision: Parameters<typeof problemOfCallDecision>[1],
): string | undefined {
  const asking = recoveryStage(state, 'asking');
  if (asking?.approvalId !== decision.approvalId) return problemOfCallDecision(state, decision);
  if (asking.plan.digest !== decision.digest) return otherAction(decision.approvalId);
  return decision.input === undefined
    ? undefined
    : 'A recovery action cannot be changed. Reject it, and say in the reason what to do instead.';
}
