/** Approving a call with other arguments: an activity checks them against the tool's schema, then the call runs with them. */
import { callSummary } from '../tools/call-summary';
import { decisionKey, recordRefusedEdit } from './decisions-made';
import { expireWait, runApproved } from './decisions';
import { checksInFlight, timersOfCall } from './decision-wait';
import type { InfraError } from '../failure';
import type { JsonObject } from '../json';
import type { Moment } from '../run/loop';
import { prepared } from '../run/loop';
import type { CheckEditResult } from './ports';
import type { ProposedToolCall } from '../tools/ports';
import type { RunCommand, RunEvent } from '../run/protocol';
import type { RunState, ToolCallProgress } from '../run/state';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { abandoned, replaceCall, settleIfDone } from '../tools/phase';

type Checking = Extract<ToolCallProgress['status'], { type: 'checking-edit' }>;

function checkId(state: RunState, progress: ToolCallProgress, checks: number): string {
  const calls = state.phase.type === 'running-tools' ? state.phase.calls : [];
  const id = `e${state.counters.iterations}.${calls.indexOf(progress)}`;
  return checks === 0 ? id : `${id}.${checks}`;
}

/** Asks for the check of changed arguments. */
export function onEditApproved(
  state: RunState,
  progress: ToolCallProgress,
  input: JsonObject,
  event: Extract<RunEvent, { type: 'approval-resolved' }>,
): Step {
  const { call, status } = progress;
  if (status.type !== 'awaiting-approval') return step(state);
  const { snapshot } = prepared(state);
  const checks = status.checks ?? 0;
  const callId = checkId(state, progress, checks);
  const checking = replaceCall(state, call.toolCallId, {
    call,
    status: {
      ...status,
      type: 'checking-edit',
      callId,
      decision: decisionKey('approve', input),
      ...(event.by === undefined ? {} : { by: event.by }),
      checks: checks + 1,
    },
  });
  return step(checking, {
    type: 'check-edit',
    callId,
    summary: `check changed arguments of ${callSummary(call)}`,
    input: {
      storeId: snapshot.storeId,
      definition: snapshot.definition,
      toolCallId: call.toolCallId,
      name: call.name,
      input,
      ...(call.input === undefined ? {} : { original: call.input }),
      ...(call.inputBlob === undefined ? {} : { originalBlob: call.inputBlob }),
    },
  });
}

/** A check that could not be made. */
export function uncheckable({ message }: InfraError): CheckEditResult {
  return {
    type: 'refused',
    problems: `The changed arguments could not be checked: ${message} Send them again later.`,
  };
}

/** The call with the arguments that a person wants. */
function edited(
  call: ProposedToolCall,
  change: Extract<CheckEditResult, { type: 'accepted' }>['call'],
): ProposedToolCall {
  return { toolCallId: call.toolCallId, name: call.name, ...change };
}

/** The call waits again, and the person reads why. */
function waitAgain(
  state: RunState,
  { call }: ToolCallProgress,
  status: Checking,
  problems: string,
  moment: Moment,
): Step {
  const { callId: _done, decision, by: _who, ...wait } = status;
  const refused = { id: call.toolCallId, decision, problems };
  const waiting: ToolCallProgress = { call, status: { ...wait, type: 'awaiting-approval' } };
  const after = replaceCall(
    { ...state, approvals: recordRefusedEdit(state.approvals, refused) },
    call.toolCallId,
    waiting,
  );
  const told = step(
    after,
    publish(after, moment.atMs, {
      type: 'EditRefusedEvent',
      approvalId: call.toolCallId,
      summary: callSummary(call),
      problems,
    }),
  );
  const isOver = status.expiry !== undefined && status.expiry.atMs <= moment.atMs;
  if (!isOver) return told;
  const late = andThen(told, (then) => expireWait(then, waiting, moment));
  const stop = timersOfCall(waiting).map((timerId): RunCommand => ({
    type: 'cancel-timer',
    timerId,
  }));
  return { state: late.state, commands: [...stop, ...late.commands] };
}

/** Answers the check of changed arguments: the call runs with them, or waits again. */
export function onEditChecked(
  state: RunState,
  callId: string,
  result: CheckEditResult,
  moment: Moment,
): Step {
  const { phase } = state;
  if (phase.type !== 'running-tools' || !checksInFlight(phase).includes(callId)) return step(state);
  const progress = phase.calls.find(
    ({ status }) => status.type === 'checking-edit' && status.callId === callId,
  );
  if (progress?.status.type !== 'checking-edit') return step(state);
  const { call, status } = progress;
  if (phase.failure !== undefined)
    return settleIfDone(replaceCall(state, call.toolCallId, abandoned(call)), moment);
  if (result.type === 'refused') return waitAgain(state, progress, status, result.problems, moment);
  const decided = { decision: status.decision, by: status.by };
  return runApproved(state, progress, edited(call, result.call), decided, moment);
}
