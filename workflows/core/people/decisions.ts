/** Decisions of people on waiting calls and questions: once each, bound to the exact action, and what happens when nobody decides. */
import type { DecisionMade } from './decisions-made';
import { answerKey, decisionKey, decisionOn, decisionText, recordDecision } from './decisions-made';
import { armWait, callOfTimer, digestOf, policyOf, timersOfCall, waitText } from './decision-wait';
import { toToolResponse } from '../errors/error-context';
import type { AgentError } from '../failure';
import { failureMessageChars, personTextChars, previewChars } from '../limits';
import type { Moment } from '../run/loop';
import { emptyAnswer, personText, quotedText } from './person-text';
import type { ProposedToolCall } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import { rememberPrivileges } from '../tools/privileged-parameters';
import { recoveryStage } from '../recovery/state';
import type { RunCommand, RunEvent } from '../run/protocol';
import { shownText } from './shown-text';
import type { RunState, ToolCallProgress } from '../run/state';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { settle } from '../tools/admission';
import { answerText } from '../tools/unknown-outcome';
import { noteFailure, noteSuccess, replaceCall, settleIfDone, startCall } from '../tools/phase';

type ApprovalResolved = Extract<RunEvent, { type: 'approval-resolved' }>;
type Decided = Pick<DecisionMade, 'decision'> & { readonly by?: string | undefined };

/** Characters of a rejection's reason that the model reads (ADR 0022). */
const reasonChars = 400;

function record(state: RunState, call: ProposedToolCall, decided: Decided, atMs: number): RunState {
  const made = { id: call.toolCallId, digest: digestOf(call), ...decided, atMs };
  return { ...state, approvals: recordDecision(state.approvals, made) };
}

/** The wait is over: its timer stops, and people read how it ended. */
function endDecisionWait(
  state: RunState,
  progress: ToolCallProgress,
  how: string,
  atMs: number,
): Step {
  const timers = timersOfCall(progress).map((timerId): RunCommand => ({
    type: 'cancel-timer',
    timerId,
  }));
  const waitedFor = `${waitText(progress)}${how}`;
  return step(state, ...timers, publish(state, atMs, { type: 'WaitEndedEvent', waitedFor }));
}

/** Runs a call that a person approved; `call` is what runs, which an edit may have changed. */
export function runApproved(
  state: RunState,
  progress: ToolCallProgress,
  call: ProposedToolCall,
  decided: Decided,
  moment: Moment,
): Step {
  const { toolCallId } = progress.call;
  const how = call === progress.call ? ': approve' : ': approve with changed arguments';
  const recorded = record(state, progress.call, decided, moment.atMs);
  const approved = replaceCall(rememberPrivileges(recorded, [call]), toolCallId, {
    call,
    status: { type: 'running' },
  });
  return andThen(endDecisionWait(approved, progress, how, moment.atMs), (after) =>
    andThen(startCall(after, toolCallId, moment.atMs), (started) => settleIfDone(started, moment)),
  );
}

/** The call never runs, and the model reads why. */
function denyCall(
  state: RunState,
  progress: ToolCallProgress,
  denial: { message: string; shown?: string; hint: string; how: string },
  moment: Moment,
): Step {
  const { call } = progress;
  const error: AgentError = {
    kind: 'agent',
    code: 'tool_denied',
    message: denial.message.slice(0, failureMessageChars),
    hint: denial.hint,
    recoverable: true,
    toolName: call.name,
  };
  // The model reads a person's reason as it was given, people and whatever is told to them read it without secrets.
  const shown: AgentError =
    denial.shown === undefined
      ? error
      : { ...error, message: denial.shown.slice(0, failureMessageChars) };
  const denied = replaceCall(
    state,
    call.toolCallId,
    settle(call, toToolResponse(error), shown, false),
  );
  return andThen(endDecisionWait(denied, progress, denial.how, moment.atMs), (after) =>
    andThen(noteFailure(after, call, shown, moment.atMs), (noted) => settleIfDone(noted, moment)),
  );
}

/** Takes a decision on a waiting approval that asks for no changed arguments. */
export function onDecided(
  state: RunState,
  progress: ToolCallProgress,
  event: ApprovalResolved,
): Step {
  const decided = { decision: event.decision, by: event.by };
  if (event.decision === 'approve')
    return runApproved(state, progress, progress.call, decided, event);
  const denied = (reason: string | undefined): string =>
    `A person did not approve this call${reason === undefined ? '.' : `: ${quotedText(reason, reasonChars)}`}`;
  return denyCall(
    record(state, progress.call, decided, event.atMs),
    progress,
    {
      message: denied(event.reason),
      shown: denied(event.reason === undefined ? undefined : shownText(event.reason, reasonChars)),
      hint: 'Do not repeat the call. Find another way, or ask what to do.',
      how: ': reject',
    },
    event,
  );
}

/** Characters that each answer may have, so that all answers of one reply together stay bounded. */
function answerRoomChars(state: RunState): number {
  if (state.phase.type !== 'running-tools') return personTextChars;
  const questions = state.phase.calls.filter(
    ({ call, status }) => call.name === askUserTool || status.type === 'awaiting-answer',
  ).length;
  return Math.floor(personTextChars / Math.max(questions, 1));
}

/** Answers a question of `ask_user`. */
export function onQuestionAnswered(
  state: RunState,
  progress: ToolCallProgress,
  event: { answer: string; by?: string },
  moment: Moment,
): Step {
  const { call } = progress;
  const { answer } = event;
  const shown = shownText(answer.trim() === '' ? emptyAnswer : answer, previewChars);
  const given = answer.trim() === '' ? emptyAnswer : personText(answer, answerRoomChars(state));
  const text = answerText(call, given);
  const recorded = recordAnswer(state, call.toolCallId, event, moment.atMs);
  const answered = replaceCall(recorded, call.toolCallId, settle(call, text, undefined, true));
  const noted = andThen(endDecisionWait(answered, progress, '', moment.atMs), (after) =>
    noteSuccess(after, call, answerText(call, shown), moment.atMs),
  );
  return andThen(noted, (after) => settleIfDone(after, moment));
}

/** Remembers an answer, so that the same one twice counts once. */
export function recordAnswer(
  state: RunState,
  id: string,
  { answer, by }: { answer: string; by?: string },
  atMs: number,
): RunState {
  const made = { id, decision: answerKey(answer), by, atMs };
  return { ...state, approvals: recordDecision(state.approvals, made) };
}

/** A time limit in words. */
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

/** Answers `timer-fired` of a wait for a decision; undefined where the timer is none of these. */
export function onDecisionTimer(
  state: RunState,
  timerId: string,
  moment: Moment,
): Step | undefined {
  const progress = callOfTimer(state.phase, timerId);
  if (progress === undefined) return undefined;
  // A person is deciding just now; if that comes to nothing the limit holds then.
  if (progress.status.type === 'checking-edit') return step(state);
  return expireWait(state, progress, moment);
}

/** The limit of a wait is reached. */
export function expireWait(state: RunState, progress: ToolCallProgress, moment: Moment): Step {
  const policy = policyOf(state, progress);
  if (policy === undefined) return step(state);
  switch (policy.onExpiry) {
    case 'reject':
      return rejectExpired(state, progress, policy.expiresAfterMs ?? 0, moment);
    case 'escalate':
      return escalateWait(state, progress, policy.expiresAfterMs ?? 0, moment.atMs);
    case 'wait':
      return remind(state, progress, policy.expiresAfterMs ?? 0, moment.atMs);
  }
}

function rejectExpired(
  state: RunState,
  progress: ToolCallProgress,
  afterMs: number,
  moment: Moment,
): Step {
  const isQuestion = progress.status.type === 'awaiting-answer';
  const within = `within ${durationText(afterMs)}`;
  return denyCall(
    record(state, progress.call, { decision: 'expired' }, moment.atMs),
    progress,
    {
      message: isQuestion
        ? `Nobody answered ${within}.`
        : `Nobody decided about this call ${within}, so it was not run.`,
      hint: isQuestion
        ? 'Go on with what you know, or end the task and say what is missing.'
        : 'Do not repeat the call. Find another way, or end the task and say what is missing.',
      how: `: nobody decided ${within}`,
    },
    moment,
  );
}

/** The call's wait with other particulars. */
function changeWait(
  state: RunState,
  { call, status }: ToolCallProgress,
  changes: { readonly escalated?: true; readonly reminders?: number },
): RunState {
  if (status.type !== 'awaiting-approval' && status.type !== 'awaiting-answer') return state;
  const { expiry: _over, ...rest } = status;
  return replaceCall(state, call.toolCallId, { call, status: { ...rest, ...changes } });
}

function escalateWait(
  state: RunState,
  progress: ToolCallProgress,
  afterMs: number,
  atMs: number,
): Step {
  const reason = `nobody decided within ${durationText(afterMs)}: ${waitText(progress)}`;
  const escalated = changeWait(state, progress, { escalated: true });
  const approvalId = progress.call.toolCallId;
  return step(escalated, publish(escalated, atMs, { type: 'EscalatedEvent', reason, approvalId }));
}

function remind(state: RunState, progress: ToolCallProgress, afterMs: number, atMs: number): Step {
  const { status } = progress;
  const before = 'reminders' in status ? (status.reminders ?? 0) : 0;
  const reminded = changeWait(state, progress, { reminders: before + 1 });
  const entry = publish(reminded, atMs, {
    type: 'ReminderEvent',
    waitingFor: waitText(progress),
    waitedMs: afterMs * (2 ** (Math.min(before, 30) + 1) - 1),
  });
  return andThen(step(reminded, entry), (after) => armWait(after, progress.call.toolCallId, atMs));
}

function named(call: ToolCallProgress, id: string): boolean {
  return call.call.toolCallId === id;
}

function callOf(state: RunState, id: string): ToolCallProgress | undefined {
  return state.phase.type === 'running-tools'
    ? state.phase.calls.find((call) => named(call, id))
    : undefined;
}

/** What became of something that a person sent. */
export type Verdict =
  | { readonly type: 'accepted' }
  /** An activity is looking at it. */
  | { readonly type: 'undecided' }
  | { readonly type: 'refused'; readonly problem: string };

function already(what: string, made: DecisionMade): Verdict {
  const problem = `${what} is no longer open: it was ${decisionText(made)} at ${String(made.atMs)} (ms since the epoch).`;
  return { type: 'refused', problem };
}

function beingChecked(id: string, by: string | undefined): Verdict {
  const who = by === undefined ? '' : ` by ${by}`;
  return {
    type: 'refused',
    problem: `Changed arguments${who} for approval "${id}" are being checked. Decide again when that is done, if it still waits.`,
  };
}

/** What became of a decision that the core has taken, or would become of it where it is not waiting. */
export function verdictOnDecision(
  state: RunState,
  event: Pick<ApprovalResolved, 'approvalId' | 'decision' | 'input'>,
): Verdict {
  const { approvalId: id } = event;
  const key = decisionKey(event.decision, event.input);
  const status = callOf(state, id)?.status;
  if (status?.type === 'checking-edit')
    return status.decision === key ? { type: 'undecided' } : beingChecked(id, status.by);
  const made = decisionOn(state.approvals, id);
  if (made?.decision === key) return { type: 'accepted' };
  const refused = state.approvals.refusedEdits.findLast(
    (edit) => edit.id === id && edit.decision === key,
  );
  if (refused !== undefined) return { type: 'refused', problem: refused.problems };
  if (made !== undefined) return already(`Approval "${id}"`, made);
  return { type: 'refused', problem: `Approval "${id}" no longer waits.` };
}

/** What became of an answer that the core has taken. */
export function verdictOnAnswer(
  state: RunState,
  { questionId, answer }: { questionId: string; answer: string },
): Verdict {
  const made = decisionOn(state.approvals, questionId);
  if (made?.decision === answerKey(answer)) return { type: 'accepted' };
  if (made !== undefined) return already(`Question "${questionId}"`, made);
  return { type: 'refused', problem: `Question "${questionId}" no longer waits.` };
}

/** Longest id of an approval or question in an answer. */
const idChars = 100;

function waitingIds(state: RunState, type: 'awaiting-approval' | 'awaiting-answer'): string {
  if (state.phase.type !== 'running-tools') return 'none';
  const ids = state.phase.calls.flatMap(({ call, status }) =>
    status.type === type ? [call.toolCallId] : [],
  );
  return ids.join(', ') || 'none';
}

const otherAction = (id: string): string =>
  `The digest does not belong to approval "${id}": the action is not the one that was shown. Look at the pending action again.`;

function rejectRecoveryDecision(
  known: string,
  {
    approvalId,
    digest,
    input,
  }: Pick<ApprovalResolved, 'approvalId' | 'input'> & { digest: string },
): string | undefined {
  if (known !== digest) return otherAction(approvalId);
  return input === undefined
    ? undefined
    : 'A recovery action cannot be changed. Reject it, and say in the reason what to do instead.';
}

/** Digest of the action that is open under this id, or was decided on. */
function knownDigest(
  state: RunState,
  id: string,
  progress: ToolCallProgress | undefined,
): string | undefined {
  const status = progress?.status.type;
  const isOpen = status === 'awaiting-approval' || status === 'checking-edit';
  return progress !== undefined && isOpen
    ? digestOf(progress.call)
    : decisionOn(state.approvals, id)?.digest;
}

/** Whether a decision can apply now, or is one that was made already: undefined, or what is wrong and what to do. */
export function rejectDecision(
  state: RunState,
  decision: Pick<ApprovalResolved, 'approvalId' | 'decision' | 'input'> & { digest: string },
): string | undefined {
  const asking = recoveryStage(state, 'asking');
  return asking?.approvalId === decision.approvalId
    ? rejectRecoveryDecision(asking.plan.digest, decision)
    : rejectCallDecision(state, decision);
}

function rejectCallDecision(
  state: RunState,
  decision: Pick<ApprovalResolved, 'approvalId' | 'decision' | 'input'> & { digest: string },
): string | undefined {
  const { approvalId: id, digest } = decision;
  const progress = callOf(state, id);
  const known = knownDigest(state, id, progress);
  if (known === undefined)
    return `No approval "${id.slice(0, idChars)}" waits in this run. Waiting: ${waitingIds(state, 'awaiting-approval')}.`;
  if (known !== digest) return otherAction(id);
  if (progress?.status.type === 'awaiting-approval') return undefined;
  return refusalOf(verdictOnDecision(state, decision));
}

function refusalOf(verdict: ReturnType<typeof verdictOnDecision>): string | undefined {
  return verdict.type === 'refused' ? verdict.problem : undefined;
}
