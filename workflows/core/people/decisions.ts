/** Decisions of people on waiting calls and questions: each takes effect once, and a policy says what happens without one. */
import { creditHelp } from '../errors/healing';
import type { ErrorsSlice } from '../errors/state';
import { toToolResponse } from '../errors/tool-response';
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import { defined, without } from '../json';
import { personTextChars, previewChars } from '../limits';
import { shownText } from '../secrets/shown-text';
import type { AccountSlice, CountersSlice } from '../run/account';
import type { RequestSlice, SnapshotSlice } from '../run/ports';
import type { RunEvent } from '../run/protocol';
import type { Move } from '../run/move';
import { andThen, cancelTimers, goTo, publish, stay } from '../run/move';
import { noteFailure, noteSuccess } from '../run/tool-call-counts';
import type { ProposedToolCall } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import type { PhaseSlice } from '../run/phases';
import type { ToolCallProgress } from '../tools/state';
import { callsOf, findCall, replaceCall, settle } from '../tools/state';
import {
  armWait,
  callOfTimer,
  digestOf,
  policyOf,
  timersOfCall,
  waitOf,
  waitText,
} from './decision-wait';
import { emptyAnswer, personText, quotedText } from './person-text';
import { rememberPrivileges } from './new-privileges-after-error';
import type { Answered, ApprovalsSlice, DecisionMade } from './state';
import { decisionKey, recordAnswer, recordDecision } from './state';

/** An event that decides on an approval. */
export type ApprovalResolved = Extract<RunEvent, { type: 'approval-resolved' }>;

/** A decision, before it is recorded. */
export type Decided = Pick<DecisionMade, 'decision'> & { readonly by?: string | undefined };

/** The slices that decisions change. */
export type DecidingState = ApprovalsSlice &
  PhaseSlice &
  RequestSlice &
  SnapshotSlice &
  AccountSlice &
  ErrorsSlice;

/** Characters of a rejection's reason that the model reads (ADR 0022). */
const reasonChars = 400;

function record<State extends ApprovalsSlice>(
  state: State,
  call: ProposedToolCall,
  decided: Decided,
  atMs: number,
): State {
  return recordDecision(state, { id: call.toolCallId, digest: digestOf(call), ...decided, atMs });
}

/** Ends a wait: stops its timer, and publishes how it ended. */
function endDecisionWait<State extends CountersSlice>(
  state: State,
  progress: ToolCallProgress,
  how: string,
): Move<State> {
  const waitedFor = `${waitText(progress)}${how}`;
  return stay(
    state,
    ...cancelTimers(timersOfCall(progress)),
    publish({ type: 'WaitEndedEvent', waitedFor, wait: waitOf(progress) }),
  );
}

/** Makes an approved call ready; `call` is what runs, which an edit may have changed. */
export function runApproved<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  call: ProposedToolCall,
  decided: Decided,
  atMs: number,
): Move<State> {
  const isEdited = decided.decision.startsWith('edit:');
  const how = isEdited ? ': approve with changed arguments' : ': approve';
  const helped = isEdited ? creditHelp(state, 'person') : state;
  const recorded = record(helped, progress.call, decided, atMs);
  const ready = replaceCall(rememberPrivileges(recorded, [call]), {
    call,
    status: { type: 'ready' },
  });
  return andThen(endDecisionWait(ready, progress, how), (after) => goTo('run-calls', after));
}

/** Settles a call that never runs; the model reads why. */
function denyCall<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  denial: { message: string; shown?: string; hint: string; how: string },
): Move<State> {
  const { call } = progress;
  const denied = (message: string): AgentError =>
    agentError('tool_denied', message, { hint: denial.hint, toolName: call.name });
  const error = denied(denial.message);
  // The model reads a person's reason as it was given; everybody else reads it without secrets.
  const shown = denied(denial.shown ?? denial.message);
  const settled = replaceCall(state, settle(call, toToolResponse(error), shown, false));
  return andThen(
    endDecisionWait(settled, progress, denial.how),
    (after) => noteFailure(after, call, shown),
    (after) => goTo('settle', after),
  );
}

/** Takes a decision on a waiting approval that changes no arguments. */
export function onDecided<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  event: ApprovalResolved,
): Move<State> {
  const { atMs, reason, decision, by, signature } = event;
  const decided = { decision: decisionKey({ decision, ...defined({ signature }) }), by };
  if (decision === 'approve') {
    const approval = signature === undefined ? undefined : { signature, ...defined({ by }) };
    const call = { ...progress.call, ...defined({ approval }) };
    return runApproved(state, progress, call, decided, atMs);
  }
  return rejectCall(state, progress, reason, decided, atMs);
}

/** Settles a call that a person rejects; the model reads the reason. */
export function rejectCall<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  reason: string | undefined,
  decided: Decided,
  atMs: number,
): Move<State> {
  const denied = (why: string | undefined): string =>
    `A person did not approve this call${why === undefined ? '.' : `: ${quotedText(why, reasonChars)}`}`;
  return denyCall(record(state, progress.call, decided, atMs), progress, {
    message: denied(reason),
    shown: denied(reason === undefined ? undefined : shownText(reason, reasonChars)),
    hint: 'Do not repeat the call. Find another way, or ask what to do.',
    how: ': reject',
  });
}

/** Characters that each answer may have, so that all answers of one reply together stay bounded. */
function answerRoomChars(state: PhaseSlice): number {
  const questions = callsOf(state).filter(
    ({ call, status }) => call.name === askUserTool || status.type === 'awaiting-answer',
  ).length;
  return Math.floor(personTextChars / Math.max(questions, 1));
}

/** What the model reads of a person's answer: unchanged to its own question, with an introduction about an unknown outcome. */
function answerText(call: ProposedToolCall, text: string): string {
  return call.name === askUserTool
    ? text
    : `The call was interrupted, and a person looked into what came of it: ${text}`;
}

/** Settles the call whose question was answered. */
function onQuestionAnswered<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  event: Answered & { readonly by?: string },
  atMs: number,
): Move<State> {
  const { call } = progress;
  const { answer } = event;
  const isEmpty = answer.trim() === '';
  const shown = shownText(isEmpty ? emptyAnswer : answer, previewChars);
  const given = isEmpty ? emptyAnswer : personText(answer, answerRoomChars(state));
  const recorded = recordAnswer(creditHelp(state, 'person'), call.toolCallId, event, atMs);
  const answered = replaceCall(
    recorded,
    settle(call, answerText(call, given), undefined, true, event.attachments),
  );
  return andThen(
    endDecisionWait(answered, progress, ''),
    (after) => noteSuccess(after, call, answerText(call, shown)),
    (after) => goTo('settle', after),
  );
}

/** Takes the answer to a question; it changes nothing if no call asks it. */
export function onCallAnswered<State extends DecidingState>(
  state: State,
  event: Extract<RunEvent, { type: 'question-answered' }>,
): Move<State> {
  const call = findCall(state, event.questionId, 'awaiting-answer');
  return call === undefined ? stay(state) : onQuestionAnswered(state, call, event, event.atMs);
}

/** A duration in words. */
function durationText(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, 'days'],
    [3_600_000, 'hours'],
    [60_000, 'minutes'],
  ];
  const unit = units.find(([unitMs]) => ms >= 2 * unitMs);
  return unit === undefined
    ? `${Math.round(ms / 1_000)} seconds`
    : `${Math.round(ms / unit[0])} ${unit[1]}`;
}

/** Takes the fired timer of a wait for a decision; undefined for any other timer. */
export function onDecisionTimer<State extends DecidingState>(
  state: State,
  timerId: string,
  atMs: number,
): Move<State> | undefined {
  const progress = callOfTimer(state, timerId);
  if (progress === undefined) return undefined;
  // A person is deciding right now; if that has no result, the limit applies then.
  if (progress.status.type === 'checking-edit') return stay(state);
  return expireWait(state, progress, atMs);
}

/** Applies the policy of a wait whose limit is reached. */
export function expireWait<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  atMs: number,
): Move<State> {
  const policy = policyOf(state, progress);
  if (policy === undefined) return stay(state);
  const afterMs = policy.expiresAfterMs ?? 0;
  switch (policy.onExpiry) {
    case 'reject':
      return rejectExpired(state, progress, afterMs, atMs);
    case 'escalate':
      return escalateWait(state, progress, afterMs);
    case 'wait':
      return remind(state, progress, afterMs, atMs);
  }
}

function rejectExpired<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  afterMs: number,
  atMs: number,
): Move<State> {
  const isQuestion = progress.status.type === 'awaiting-answer';
  const within = `within ${durationText(afterMs)}`;
  return denyCall(record(state, progress.call, { decision: 'expired' }, atMs), progress, {
    message: isQuestion
      ? `Nobody answered ${within}.`
      : `Nobody decided about this call ${within}, so it was not run.`,
    hint: isQuestion
      ? 'Go on with what you know, or end the task and say what is missing.'
      : 'Do not repeat the call. Find another way, or end the task and say what is missing.',
    how: `: nobody decided ${within}`,
  });
}

/** The call's wait with other fields, and without its expiry. */
function changedWait(
  { call, status }: ToolCallProgress,
  changes: { readonly escalated?: true; readonly reminders?: number },
): ToolCallProgress {
  if (status.type !== 'awaiting-approval' && status.type !== 'awaiting-answer')
    return { call, status };
  return { call, status: { ...without(status, 'expiry'), ...changes } };
}

function escalateWait<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  afterMs: number,
): Move<State> {
  const reason = `nobody decided within ${durationText(afterMs)}: ${waitText(progress)}`;
  const approvalId = progress.call.toolCallId;
  return stay(
    replaceCall(state, changedWait(progress, { escalated: true })),
    publish({ type: 'EscalatedEvent', reason, approvalId }),
  );
}

function remind<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  afterMs: number,
  atMs: number,
): Move<State> {
  const { status } = progress;
  const before = 'reminders' in status ? (status.reminders ?? 0) : 0;
  const reminded = changedWait(progress, { reminders: before + 1 });
  const waitedMs = afterMs * (2 ** (Math.min(before, 30) + 1) - 1);
  const entry = publish({ type: 'ReminderEvent', waitingFor: waitText(progress), waitedMs });
  return andThen(stay(replaceCall(state, reminded), entry), (after) =>
    armWait(after, reminded, atMs),
  );
}
