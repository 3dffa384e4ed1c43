/**
 * Decisions that an activity checks before they apply: the signature, where the run takes signed decisions only, and the arguments
 * that a person changed, against the tool's schema.
 */
import type { InfraError } from '../failure';
import { problemOfEditedFile } from '../guard/call-and-edit-caps';
import type { CappedState } from '../guard/handed-caps';
import type { GuardSlice } from '../guard/state';
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
import { digestOf, timersOfCall } from './decision-wait';
import type { ApprovalResolved, DecidingState } from './decisions';
import { expireWait, onDecided, rejectCall, runApproved } from './decisions';
import type { CheckEditInput, CheckEditResult } from './ports';
import { decisionKey, recordRefusedEdit } from './state';

/** What an edit reads and changes: it may pass a cap of the guard. */
type EditingState = DecidingState & CappedState & GuardSlice;

type Checking = Extract<ToolCallProgress['status'], { type: 'checking-edit' }>;

function checkId(state: DecidingState, progress: ToolCallProgress, checks: number): string {
  const id = `e${activityIdAt(state, callsOf(state).indexOf(progress)).slice(1)}`;
  return checks === 0 ? id : `${id}.${checks}`;
}

/** What is to be verified of a decision; undefined if the run's decisions need no signature. */
function signedPart(
  state: DecidingState,
  { call }: ToolCallProgress,
  { decision, reason, by, signature }: ApprovalResolved,
): CheckEditInput['signed'] {
  if (state.snapshot?.approvers === undefined) return undefined;
  const { runKey } = state;
  return {
    runKey,
    digest: digestOf(call),
    decision,
    ...defined({ reason, by, signature }),
  };
}

/** Asks for the check of a decision. */
function startCheck<State extends DecidingState>(
  state: State,
  progress: ToolCallProgress,
  event: ApprovalResolved,
): Move<State> {
  const { call, status } = progress;
  const { decision, by, reason = '', signature } = event;
  if (status.type !== 'awaiting-approval') return stay(state);
  const input = decision === 'approve' ? event.input : undefined;
  const { storeId, definition } = prepared(state).snapshot;
  const checks = status.checks ?? 0;
  const callId = checkId(state, progress, checks);
  const checking = replaceCall(state, {
    call,
    status: {
      ...status,
      type: 'checking-edit',
      callId,
      decision: decisionKey({ decision, ...defined({ input, signature }) }),
      ...defined({ by, signature, rejects: decision === 'reject' ? reason : undefined }),
      checks: checks + 1,
    },
  });
  return stay(checking, {
    type: 'check-edit',
    callId,
    summary: `check ${input === undefined ? 'the decision on' : 'changed arguments of'} ${callSummary(call)}`,
    input: {
      storeId,
      definition,
      toolCallId: call.toolCallId,
      name: call.name,
      ...(input !== undefined && {
        input,
        ...defined({ original: call.input, originalBlob: call.inputBlob }),
        shownDigest: digestOf(call),
      }),
      ...defined({ signed: signedPart(state, progress, event) }),
    },
  });
}

/** The result of a check that could not be made. */
export function uncheckable({ message }: InfraError): CheckEditResult {
  return {
    type: 'refused',
    problems: `The decision could not be checked: ${message} Send it again later.`,
  };
}

/** The call as it was approved: with the arguments that a person wants, and with the signature that it needs to run. */
function approved(
  call: ProposedToolCall,
  { by, signature }: Checking,
  { call: change }: Extract<CheckEditResult, { type: 'accepted' }>,
): ProposedToolCall {
  const { toolCallId, name, input, inputBlob } = call;
  const shown = change === undefined ? undefined : defined({ input, inputBlob });
  const approval = signature === undefined ? undefined : { signature, ...defined({ by, shown }) };
  return {
    ...(change === undefined ? call : { toolCallId, name, ...change }),
    ...defined({ approval }),
  };
}

/** The call waits again, and people read why. */
function waitAgain<State extends DecidingState>(
  state: State,
  { call }: ToolCallProgress,
  status: Checking,
  problems: string,
  atMs: number,
): Move<State> {
  const { callId: _done, decision, by: _who, signature: _by, rejects: _why, ...wait } = status;
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

/** Takes the check of a decision: it applies, or the call waits again. */
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
  const { decision, by, rejects } = status;
  const decided = { decision, by };
  if (rejects !== undefined)
    return rejectCall(state, progress, rejects === '' ? undefined : rejects, decided, atMs);
  const next = approved(call, status, result);
  const problem = result.call === undefined ? undefined : problemOfEditedFile(state, next);
  if (problem !== undefined) return waitAgain(state, progress, status, problem, atMs);
  return runApproved(state, progress, next, decided, atMs);
}

/** Takes a decision on a waiting call; a second decision on it changes nothing. */
export function onCallDecided<State extends DecidingState>(
  state: State,
  event: ApprovalResolved,
): Move<State> {
  const call = findCall(state, event.approvalId, 'awaiting-approval');
  if (call === undefined) return stay(state);
  const isPlain = event.input === undefined || event.decision === 'reject';
  return isPlain && state.snapshot?.approvers === undefined
    ? onDecided(state, call, event)
    : startCheck(state, call, event);
}
