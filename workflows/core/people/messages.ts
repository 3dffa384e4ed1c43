/** What people say to a run: messages, answers, and approvals of its calls. */
import type { Said } from '../message';
import { attachmentsOf, charsOf, said, textOf, untakenProblem } from '../attachments';
import { creditHelp } from '../errors/healing';
import type { ErrorsSlice } from '../errors/state';
import { inboxChars, personTextChars } from '../limits';
import type { AccountSlice } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import type { RunEvent } from '../run/protocol';
import type { Move } from '../run/move';
import { andThen, publish, stay } from '../run/move';
import { endWait, waitingPhase } from '../run/waiting';
import { shownText } from '../secrets/shown-text';
import type { PhaseSlice } from '../run/phases';
import { emptyAnswer, personText } from './person-text';
import type { PeopleSlice } from './state';
import { escalationQuestionId, recordAnswer } from './state';

type QuestionAnswered = Extract<RunEvent, { type: 'question-answered' }>;
type Listening = PeopleSlice & AccountSlice & ErrorsSlice;

/** Takes a message; one with an image or a document that no route takes is dropped, since a signal has no answer. */
export function onMessage<State extends Listening & SnapshotSlice>(
  state: State,
  { text, attachments }: Extract<RunEvent, { type: 'message-added' }>,
): Move<State> {
  const problem = untakenProblem(state.snapshot?.chain ?? [], attachments ?? []);
  return problem === undefined
    ? addMessage(state, said(text, attachments))
    : onSignalDropped(state, { signal: 'addMessage', problem });
}

/** Puts what a person said into the inbox: it joins the transcript before the next model call. */
function addMessage<State extends Listening>(
  state: State,
  message: Said,
  roomChars: number = inboxChars,
): Move<State> {
  const text = textOf(message);
  const kept = said(personText(text), attachmentsOf(message));
  if (textOf(kept).trim() === '') return stay(state);
  const waiting = state.inbox.reduce((chars, other) => chars + charsOf(other), 0);
  if (waiting + charsOf(kept) > roomChars) return refuseMessage(state, textOf(kept));
  return stay(
    { ...creditHelp(state, 'person'), inbox: [...state.inbox, kept] },
    publish({ type: 'MessageAddedEvent', text: shownText(text, 200) }),
  );
}

/** Lines about texts that no model has read, and characters of each (ADR 0032). */
const unreadLines = 20;
const unreadChars = 300;

/** What people said and no model has read: messages, answers to the run, and a wish to take it over, newest last. */
export function unreadTexts({ unread = [], inbox, escalation }: PeopleSlice): readonly string[] {
  const wish = escalation === undefined ? [] : [`A person was to take the run over: ${escalation}`];
  const waiting = [...inbox.map(textOf), ...wish];
  const texts = [...unread, ...waiting.map((text) => shownText(text, unreadChars))];
  if (texts.length <= unreadLines) return texts;
  const shown = texts.slice(1 - unreadLines);
  return [`(${texts.length - shown.length} more)`, ...shown];
}

/** Remembers the first texts of the inbox, which join the transcript with a request that no model got. */
export function noteUnread<State extends PeopleSlice>(state: State, texts: number): State {
  if (texts === 0) return state;
  const joined = state.inbox.slice(0, texts).map((text) => shownText(textOf(text), unreadChars));
  return { ...state, unread: [...(state.unread ?? []), ...joined] };
}

/** Refuses a text where people can see it: the state must stay small enough for a roll-over. */
function refuseMessage<State extends Listening>(state: State, text: string): Move<State> {
  const message = `A message of ${text.length} characters was refused: more than ${inboxChars} characters of messages wait for the next model call. Send it again later.`;
  const failure = { kind: 'infra', code: 'payload_too_large', message } as const;
  return stay(
    { ...state, lastError: `${failure.code}: ${message}` },
    publish({ type: 'ErrorEvent', failure }),
  );
}

/** Publishes that a signal cannot be used: signals have no answer. */
export function onSignalDropped<State extends AccountSlice>(
  state: State,
  { signal, problem }: Pick<Extract<RunEvent, { type: 'signal-dropped' }>, 'signal' | 'problem'>,
): Move<State> {
  return stay(
    { ...state, lastError: `signal dropped: ${problem}` },
    publish({ type: 'SignalDroppedEvent', signal, problem }),
  );
}

/** Records an answer to a question of the run itself, and puts its text into the inbox. */
export function takeAnswer<State extends Listening>(
  state: State,
  event: QuestionAnswered,
): Move<State> {
  const text = event.answer.trim() === '' ? emptyAnswer : event.answer;
  const recorded = recordAnswer(state, event.questionId, event, event.atMs);
  // An answer finds room where a flood of messages has left none.
  return addMessage(recorded, said(text, event.attachments), inboxChars + personTextChars);
}

/** Takes the answer to an escalated run; undefined if the answer is to another question. */
export function onEscalationAnswered<State extends Listening & PhaseSlice>(
  state: State,
  event: QuestionAnswered,
): Move<State> | undefined {
  if (event.questionId !== escalationQuestionId) return undefined;
  const wait = waitingPhase(state);
  if (wait?.on !== 'person') return stay(state);
  return andThen(takeAnswer(state, event), (after) => endWait(after, wait));
}
