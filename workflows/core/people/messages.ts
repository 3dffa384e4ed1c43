/** What people do to a run: messages, answers, approvals, escalation, stop and cancel. */
import { onDecided, onQuestionAnswered, recordAnswer, verdictOnAnswer } from './decisions';
import { decisionOn } from './decisions-made';
import { onEditApproved } from './edit-approval';
import { inboxChars, personTextChars } from '../limits';
import { emptyAnswer, personText } from './person-text';
import type { Moment } from '../run/loop';
import { beginIteration, endWait, waitForPerson } from '../run/loop';
import { timersOf } from '../run/ending';
import { onRecoveryAnswer, onRecoveryApproval } from '../recovery/carry-out';
import { recoveryStage } from '../recovery/state';
import type { RunCommand, RunEvent } from '../run/protocol';
import type { RunState } from '../run/state';
import { shownText } from './shown-text';
import { escalationQuestionId, pendingItems } from '../view/status';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { callTimer, findCall } from '../tools/phase';

/** A text of a person joins the transcript before the next model call. */
export function onMessageAdded(state: RunState, text: string, atMs: number): Step {
  return takeText(state, text, inboxChars, atMs);
}

function takeText(state: RunState, text: string, roomChars: number, atMs: number): Step {
  const kept = personText(text);
  if (kept.trim() === '') return step(state);
  const waiting = state.inbox.reduce((chars, other) => chars + other.length, 0);
  if (waiting + kept.length > roomChars) return refuseMessage(state, kept, atMs);
  return step(
    { ...state, inbox: [...state.inbox, kept] },
    publish(state, atMs, { type: 'MessageAddedEvent', text: shownText(text, 200) }),
  );
}

/** State must stay small enough for a roll-over, so a flood of messages is refused where people can see it. */
function refuseMessage(state: RunState, text: string, atMs: number): Step {
  const message = `A message of ${text.length} characters was refused: more than ${inboxChars} characters of messages wait for the next model call. Send it again later.`;
  const failure = { kind: 'infra', code: 'payload_too_large', message } as const;
  return step(
    { ...state, lastError: `${failure.code}: ${message}` },
    publish(state, atMs, { type: 'ErrorEvent', failure }),
  );
}

/** A signal that cannot be used: signals have no answer, so people read it in the run's story. */
export function onSignalDropped(
  state: RunState,
  { signal, problem, atMs }: Extract<RunEvent, { type: 'signal-dropped' }>,
): Step {
  return step(
    { ...state, lastError: `signal dropped: ${problem}` },
    publish(state, atMs, { type: 'SignalDroppedEvent', signal, problem }),
  );
}

/** Hands the run to a person: at once where it only waits, else at the next iteration. */
export function onEscalationRequested(state: RunState, reason: string, atMs: number): Step {
  const { phase } = state;
  const announced = publish(state, atMs, { type: 'EscalatedEvent', reason });
  const isPaused = phase.type === 'recovering' && phase.stage.type !== 'planning';
  if (
    phase.type === 'ready' ||
    isPaused ||
    (phase.type === 'waiting' && phase.then !== 'prepare')
  ) {
    const cancel = timersOf(phase).map((timerId): RunCommand => ({
      type: 'cancel-timer',
      timerId,
    }));
    const waiting = waitForPerson(state, reason, atMs);
    return { state: waiting.state, commands: [announced, ...cancel, ...waiting.commands] };
  }
  return step({ ...state, escalation: reason }, announced);
}

/** Answers the question of an escalated run, or of `ask_user`. */
export function onAnswer(
  state: RunState,
  event: Extract<RunEvent, { type: 'question-answered' }>,
  moment: Moment,
): Step {
  const { phase } = state;
  const { questionId, answer } = event;
  if (questionId === escalationQuestionId) {
    if (phase.type !== 'waiting' || phase.on !== 'person') return step(state);
    const text = answer.trim() === '' ? emptyAnswer : answer;
    // An answer finds room where a flood of messages has left none.
    const roomChars = inboxChars + personTextChars;
    const recorded = recordAnswer(state, questionId, event, moment.atMs);
    return andThen(takeText(recorded, text, roomChars, moment.atMs), (after) =>
      endWait(after, moment),
    );
  }
  const escalated = recoveryStage(state, 'escalated');
  if (escalated?.questionId === questionId) {
    const text = answer.trim() === '' ? emptyAnswer : answer;
    const recorded = recordAnswer(state, questionId, event, moment.atMs);
    const heard = takeText(recorded, text, inboxChars + personTextChars, moment.atMs);
    return onRecoveryAnswer(heard, escalated, moment);
  }
  const call = findCall(state, questionId, 'awaiting-answer');
  return call === undefined ? step(state) : onQuestionAnswered(state, call, event, moment);
}

/** Takes a decision on a waiting approval; a second decision on the same one changes nothing. */
export function onApproval(
  state: RunState,
  event: Extract<RunEvent, { type: 'approval-resolved' }>,
): Step {
  const asking = recoveryStage(state, 'asking');
  if (asking?.approvalId === event.approvalId)
    return onRecoveryApproval(state, asking, event, event);
  const call = findCall(state, event.approvalId, 'awaiting-approval');
  if (call === undefined) return step(state);
  return event.input === undefined || event.decision === 'reject'
    ? onDecided(state, call, event)
    : onEditApproved(state, call, event.input, event);
}

/** Whether an answer can apply now: undefined, or what is wrong and what to do. */
export function rejectAnswer(
  state: RunState,
  given: { questionId: string; answer: string },
): string | undefined {
  const { questionId } = given;
  const waiting = pendingItems(state).filter((item) => item.type === 'question');
  if (waiting.some((item) => item.questionId === questionId)) return undefined;
  if (decisionOn(state.approvals, questionId) !== undefined) {
    const verdict = verdictOnAnswer(state, given);
    return verdict.type === 'refused' ? verdict.problem : undefined;
  }
  return `No question "${questionId.slice(0, 100)}" waits in this run. Waiting: ${waiting.map((item) => item.questionId).join(', ') || 'none'}.`;
}

/** Goes on where the segment before ended: begins the next iteration, or starts the timers of a wait again. */
export function resumeSegment(state: RunState, moment: Moment): Step {
  const { phase } = state;
  if (phase.type === 'ready') return beginIteration(state, moment);
  if (phase.type === 'waiting' && phase.timerId !== undefined && phase.untilMs !== undefined)
    return step(state, {
      type: 'start-timer',
      timerId: phase.timerId,
      delayMs: Math.max(phase.untilMs - moment.atMs, 1),
      summary: `wait for ${phase.on}: ${phase.reason}`.slice(0, 200),
    });
  if (phase.type === 'recovering' && phase.stage.type !== 'planning')
    return step(state, {
      type: 'start-timer',
      timerId: phase.stage.timerId,
      delayMs: Math.max(phase.stage.untilMs - moment.atMs, 1),
      summary: `recovery: ${phase.stage.type}`,
    });
  if (phase.type === 'running-tools')
    return step(state, ...phase.calls.flatMap((call) => callTimer(call, moment.atMs)));
  return step(state);
}
