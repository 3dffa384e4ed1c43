/** Approving a call with other arguments: an activity checks them against the tool's schema, then the call runs with them. */
import type { InfraError } from '../failure';
import { problemOfEditedFile } from '../guard/call-and-edit-caps';
import type { CappedState } from '../guard/handed-caps';
import type { GuardSlice } from '../guard/state';
import type { JsonObject } from '../json';
import { defined } from '../json';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, cancelTimers, goTo, precededBy, publish, stay } from '../run/move';
import type { ProposedToolCall } from '../tools/ports';
import type { ToolCallProgress } from '../tools/state';
import {
  abandoned,
  activityIdAt,
  callSummary,
  callsOf,
  endsSoon,
  findCall,
  replaceCall,
} from '../tools/state';
import { timersOfCall } from './decision-wait';
import type { ApprovalResolved, DecidingState } from './decisions';
import { expireWait, onDecided, runApproved } from './decisions';
import type { CheckEditResult } from './ports';
import { decisionKey, recordRefusedEdit } from './state';

/** What an edit reads and changes: it may pass a cap of the guard. */
type EditingState = DecidingState & CappedState & GuardSlice;

type Checking = Extract<ToolCallProgress['status'], { type: 'checking-edit' }>;

function checkId(state: DecidingState, progress: ToolCallProgress, checks: number): string {
  const id = `e${activityIdAt(state, callsOf(state).indexOf(progress)).slice(1)}`;
  return checks === 0 ? id : `${id}.${checks}`;
}

/** Asks for the check of changed arguments. */
function onEditApproved<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  input: JsonObject,
  { by }: ApprovalResolved,
): Move<State> {
  const { call, status } = progress;
  if (status.type !== 'awaiting-approval') return stay(state);
  const { storeId, definition } = prepared(state).snapshot;
  const checks = status.checks ?? 0;
  const callId = checkId(state, progress, checks);
  const checking = replaceCall(state, {
    call,
    status: {
      ...status,
      type: 'checking-edit',
      callId,
      decision: decisionKey('approve', input),
      ...defined({ by }),
      checks: checks + 1,
    },
  });
  return stay(checking, {
    type: 'check-edit',
    callId,
    summary: `check changed arguments of ${callSummary(call)}`,
    input: {
      storeId,
      definition,
      toolCallId: call.toolCallId,
      name: call.name,
      input,
      ...defined({ original: call.input, originalBlob: call.inputBlob }),
    },
  });
}

/** The result of a check that could not be made. */
export function uncheckable({ message }: InfraError): CheckEditResult {
  return {
    type: 'refused',
    problems: `The changed arguments could not be checked: ${message} Send them again later.`,
  };
}

/** The call with the arguments that a person wants. */
function edited(
  { toolCallId, name }: ProposedToolCall,
  change: Extract<CheckEditResult, { type: 'accepted' }>['call'],
): ProposedToolCall {
  return { toolCallId, name, ...change };
}

/** The call waits again, and people read why. */
function waitAgain<State extends DecidingState>(
  state: State,
  { call }: ToolCallProgress,
  status: Checking,
  problems: string,
  atMs: number,
): Move<State> {
  const { callId: _done, decision, by: _who, ...wait } = status;
  const refused = { id: call.toolCallId, decision, problems };
  const waiting: ToolCallProgress = { call, status: { ...wait, type: 'awaiting-approval' } };
  const after = replaceCall(recordRefusedEdit(state, refused), waiting);
  const published = stay(
    after,
    publish({
      type: 'EditRefusedEvent',
      approvalId: call.toolCallId,
      summary: callSummary(call),
      problems,
    }),
  );
  const isOver = status.expiry !== undefined && status.expiry.atMs <= atMs;
  if (!isOver) return published;
  return precededBy(
    cancelTimers(timersOfCall(waiting)),
    andThen(published, (then) => expireWait(then, waiting, atMs)),
  );
}

/** Takes the check of changed arguments: the call runs with them, or waits again. */
export function onEditChecked<State extends EditingState>(
  state: State,
  callId: string,
  result: CheckEditResult,
  atMs: number,
): Move<State> {
  const progress = callsOf(state).find(
    ({ status }) => status.type === 'checking-edit' && status.callId === callId,
  );
  if (progress?.status.type !== 'checking-edit') return stay(state);
  const { call, status } = progress;
  if (endsSoon(state)) return goTo('settle', replaceCall(state, abandoned(call)));
  if (result.type === 'refused') return waitAgain(state, progress, status, result.problems, atMs);
  const changed = edited(call, result.call);
  const problem = problemOfEditedFile(state, changed);
  if (problem !== undefined) return waitAgain(state, progress, status, problem, atMs);
  const decided = { decision: status.decision, by: status.by };
  return runApproved(state, progress, changed, decided, atMs);
}

/** Takes a decision on a waiting call; a second decision on it changes nothing. */
export function onCallDecided<State extends DecidingState>(
  state: State,
  event: ApprovalResolved,
): Move<State> {
  const call = findCall(state, event.approvalId, 'awaiting-approval');
  if (call === undefined) return stay(state);
  return event.input === undefined || event.decision === 'reject'
    ? onDecided(state, call, event)
    : onEditApproved(state, call, event.input, event);
}
