/** The tool calls of one reply: starts those that are ready, and takes their results and failures. */
import { notePendingResult } from '../context/size';
import type { ContextSlice } from '../context/state';
import { toToolResponse } from '../errors/tool-response';
import { recordInfraError } from '../failover/provider-failure';
import type { AgentError, InfraError } from '../failure';
import { defined } from '../json';
import { rearmed, timersOfCall, waitOf, waitText, withoutExpiry } from '../people/decision-wait';
import type { PeopleSlice } from '../people/state';
import { requireNewPrivileges } from '../people/state';
import { noteCallResult } from '../recovery/trial';
import type { RecoverySlice } from '../recovery/state';
import type { AccountSlice, CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { RequestSlice, SnapshotSlice } from '../run/ports';
import { prepared, toolPolicy } from '../run/ports';
import type { RunCommand } from '../run/protocol';
import type { Move, UnstampedCommand } from '../run/move';
import { andThen, cancelTimers, goTo, labelOf, publish, stay } from '../run/move';
import { noteFailure, noteSuccess } from '../run/tool-call-counts';
import type { StoreWaitSlice, PhaseSlice } from '../run/phases';
import { nextStoreWaitMs } from '../run/waiting';
import { lineageOf } from './lineage';
import type { ProposedToolCall, ResultIdentity, RunToolResult } from './ports';
import type { PlacedCall, SettledStatus, ToolCallProgress } from './state';
import {
  abandoned,
  activityIdAt,
  callSummary,
  callsOf,
  changeToolPhase,
  endsSoon,
  isInFlight,
  isUnsettled,
  pendingResult,
  readyCalls,
  replaceCall,
  settle,
} from './state';
import { questionAboutOutcome, unsettledError } from './unknown-outcome';

/** What running tool calls reads and changes. */
export type CallingState = AccountSlice &
  ContextSlice &
  PeopleSlice &
  PhaseSlice &
  RecoverySlice &
  RequestSlice &
  SnapshotSlice &
  StoreWaitSlice;

/** Activity time limit in milliseconds of a tool that the snapshot does not know (ADR 0007). */
const unknownToolTimeoutMs = 60_000;

/**
 * Whether the calls that start run in the workflow's own worker first (ADR 0051). Only where nothing else is under way: what
 * a workflow task starts reaches the server when its local activities are done. A call that met a store that was down is
 * spared a second try there.
 */
function runLocally(state: CallingState): boolean {
  return callsOf(state).every(
    ({ call, status }) =>
      status.type === 'settled' ||
      (status.type === 'ready' &&
        status.isResumed !== true &&
        toolPolicy(state, call.name)?.quick === true),
  );
}

/** Starts a call as an activity. */
function startCall<State extends CallingState>(
  state: State,
  { call, index }: PlacedCall,
  isLocal: boolean,
): Move<State> {
  const { storeId, definition, run, limits } = prepared(state).snapshot;
  const { toolCallId, name, input, inputBlob, answer, approval } = call;
  const summary = callSummary(call);
  const running = replaceCall(state, { call, status: { type: 'running' } });
  const command: RunCommand = {
    type: 'run-tool',
    toolCallId,
    callId: activityIdAt(state, index),
    summary,
    timeoutMs: toolPolicy(state, name)?.timeoutMs ?? unknownToolTimeoutMs,
    heartbeatTimeoutMs: limits.heartbeatTimeoutMs,
    ...(isLocal && { isLocal }),
    input: {
      storeId,
      definition,
      toolCallId,
      name,
      ...defined({ input, inputBlob, answer, approval, run }),
      ...defined({ approvedDigest: call.approvalDigest ?? call.privileged?.digest }),
      idempotencyKey: `${state.runKey}/${toolCallId}`,
      lineage: lineageOf(state),
    },
  };
  // The start of a subagent that has answered was published before.
  if (answer !== undefined) return stay(running, command);
  const entry = publish({ type: 'ToolCallStartedEvent', toolCallId, summary });
  return stay(running, entry, command);
}

/** Starts every ready call as an activity. */
export function startCalls<State extends CallingState>(state: State): Move<State> {
  const isLocal = runLocally(state);
  return readyCalls(state).reduce<Move<State>>(
    (before, placed) => andThen(before, (after) => startCall(after, placed, isLocal)),
    stay(state),
  );
}

/** Whether a call waits for a person. */
function isWaiting({ status: { type } }: ToolCallProgress): boolean {
  return type === 'awaiting-approval' || type === 'awaiting-answer' || type === 'checking-edit';
}

/** Publishes which calls wait for a person. */
export function announceWaits(state: PhaseSlice): readonly UnstampedCommand[] {
  return callsOf(state)
    .filter(isWaiting)
    .map((progress) =>
      publish({
        type: 'WaitStartedEvent',
        waitingFor: waitText(progress),
        wait: waitOf(progress),
      }),
    );
}

/** What the loop detector must keep of a result. */
function resultIdentity({
  fingerprint,
  sketch,
  outage,
  saysFailed,
}: RunToolResult): ResultIdentity {
  return { fingerprint, ...defined({ sketch, outage, saysFailed }) };
}

/** Takes the result of a running call. */
export function onToolCallCompleted<State extends CallingState>(
  state: State,
  { call }: ToolCallProgress,
  result: RunToolResult,
): Move<State> {
  const { error } = result;
  const outcome: SettledStatus = {
    type: 'settled',
    pending: pendingResult(call, result),
    ran: true,
    ...defined({ error }),
    identity: resultIdentity(result),
  };
  const question = questionAboutOutcome(state, call, result);
  if (question !== undefined) return askAboutOutcome(state, call, question, outcome);
  // An output in the form of an error counts as one here: its text may ask for more rights too.
  const noted = result.saysFailed === true ? requireNewPrivileges(state) : state;
  const settled = replaceCall(notePendingResult(noted, result.bytes), { call, status: outcome });
  const published =
    error === undefined
      ? noteSuccess(settled, call, result.preview)
      : noteFailure(settled, call, error);
  return andThen(published, (after) => goTo('settle', noteCallResult(after, call, result)));
}

function askAboutOutcome<State extends CallingState>(
  state: State,
  call: ProposedToolCall,
  question: string,
  outcome: SettledStatus,
): Move<State> {
  const status = { type: 'awaiting-answer', question, outcome } as const;
  const asking = replaceCall(state, { call, status });
  const [waitingFor, wait] = [waitText({ call, status }), waitOf({ call, status })];
  return stay(asking, publish({ type: 'WaitStartedEvent', waitingFor, wait }));
}

/** Takes a failure that only people can fix: the other calls return, then the run ends with the cause. */
export function onToolCallFailed<State extends CallingState>(
  state: State,
  { call }: ToolCallProgress,
  failure: InfraError,
  atMs: number,
): Move<State> {
  if (state.phase.type === 'ending')
    return settleFailedCall(state, call, unsettledError(state, call, stoppedWhy));
  const fails = endsSoon(state);
  if (failure.code === 'store_unavailable' && !fails) return pauseCall(state, call, failure, atMs);
  return andThen(
    recordInfraError(state, failure),
    (after) => settleFailedCall(after, call, unsettledError(after, call, failure.message)),
    abandonWaits,
    (after) => (fails ? stay(after) : stay(withFailure(after, failure), ...cancelSubagents(after))),
  );
}

function withFailure<State extends PhaseSlice>(state: State, failure: InfraError): State {
  return changeToolPhase(state, (phase) => ({ ...phase, failure }));
}

/** What became of a call that a run took with it. */
const stoppedWhy = 'stopped with the run';

function noteSettled<State extends CallingState>(
  state: State,
  call: ProposedToolCall,
  error: AgentError,
): Move<State> {
  const failed = replaceCall(state, settle(call, toToolResponse(error), error, true));
  return noteFailure(failed, call, error);
}

/** Settles a call that ran and failed without a result. */
export function settleFailedCall<State extends CallingState>(
  state: State,
  call: ProposedToolCall,
  error: AgentError,
): Move<State> {
  return andThen(noteSettled(state, call, error), (after) => goTo('settle', after));
}

/** A call that is not in flight, when its run ends. */
function withoutWait<State extends CallingState>(
  state: State,
  progress: ToolCallProgress,
): Move<State> {
  const { call, status } = progress;
  if (status.type === 'settled' || isInFlight(progress))
    return stay(replaceCall(state, withoutExpiry(progress)));
  if (!isUnsettled(progress)) return stay(replaceCall(state, abandoned(call)));
  const outcome = status.type === 'awaiting-answer' ? status.outcome : undefined;
  if (outcome?.error === undefined)
    return noteSettled(state, call, unsettledError(state, call, stoppedWhy));
  return noteFailure(replaceCall(state, { call, status: outcome }), call, outcome.error);
}

/**
 * The run ends: calls that have not started never do, those that started and are not in flight are settled with what is known
 * of them, and nobody is asked for anything any more.
 */
export function abandonWaits<State extends CallingState>(state: State): Move<State> {
  if (endsSoon(state)) return stay(state);
  const calls = callsOf(state);
  return calls.reduce<Move<State>>(
    (before, progress) => andThen(before, (after) => withoutWait(after, progress)),
    stay(state, ...cancelTimers(calls.flatMap(timersOfCall)), ...calls.flatMap(waitEnded)),
  );
}

/** The end of a call's wait for people or the store, for the timeline. */
function waitEnded(progress: ToolCallProgress): readonly UnstampedCommand[] {
  const { status } = progress;
  const waitedFor = status.type === 'paused' ? `store: ${status.reason}` : waitText(progress);
  const wait = status.type === 'paused' ? ({ kind: 'store' } as const) : waitOf(progress);
  return status.type === 'paused' || isWaiting(progress)
    ? [publish({ type: 'WaitEndedEvent', waitedFor, wait })]
    : [];
}

function cancelSubagents(state: PhaseSlice & CountersSlice): readonly UnstampedCommand[] {
  const subagents = callsOf(state).flatMap(({ status }, index) =>
    status.type === 'delegated' ? [activityIdAt(state, index)] : [],
  );
  return subagents.length === 0 ? [] : [{ type: 'cancel-activities', callIds: subagents }];
}

/** The timer of a call: when a paused one runs again, or a person's time to decide is over. */
export function callTimer(progress: ToolCallProgress, atMs: number): readonly RunCommand[] {
  const { call, status } = progress;
  if (status.type !== 'paused') return rearmed(progress, atMs);
  const { timerId, untilMs } = status;
  const delayMs = Math.max(untilMs - atMs, 1);
  const summary = labelOf(`store: ${callSummary(call)} waits for it`);
  return [{ type: 'start-timer', timerId, delayMs, summary }];
}

/** When a paused call tries the store again: calls of one outage try together, and it counts once. */
function nextTry(
  state: PhaseSlice & StoreWaitSlice,
  atMs: number,
): { readonly untilMs: number; readonly storeWaitMs: number } {
  const { storeWaitMs } = state;
  const pauses = callsOf(state).flatMap(({ status }) =>
    status.type === 'paused' ? [status.untilMs] : [],
  );
  const untilMs = pauses.find((dueMs) => dueMs > atMs);
  if (untilMs !== undefined && storeWaitMs !== undefined) return { untilMs, storeWaitMs };
  const waitMs = nextStoreWaitMs(storeWaitMs);
  return { untilMs: atMs + waitMs, storeWaitMs: waitMs };
}

/** The store is down: the call runs again, under the same key, when it may be back. */
function pauseCall<State extends CallingState>(
  state: State,
  call: ProposedToolCall,
  failure: InfraError,
  atMs: number,
): Move<State> {
  const timers = state.counters.timers + 1;
  const timerId = `store-${timers}`;
  const { untilMs, storeWaitMs } = nextTry(state, atMs);
  const reason = failure.message;
  const waiting: ToolCallProgress = { call, status: { type: 'paused', timerId, untilMs, reason } };
  const paused = count({ ...replaceCall(state, waiting), storeWaitMs }, { timers });
  return andThen(recordInfraError(paused, failure), (noted) =>
    stay(
      noted,
      publish({
        type: 'WaitStartedEvent',
        waitingFor: `store: ${reason}`,
        wait: { kind: 'store' },
      }),
      ...callTimer(waiting, atMs),
    ),
  );
}

/** Makes a paused call ready again. */
export function resumePausedCall<State extends CallingState>(
  state: State,
  timerId: string,
): Move<State> {
  const paused = callsOf(state).find(
    ({ status }) => status.type === 'paused' && status.timerId === timerId,
  );
  if (paused === undefined) return stay(state);
  const { call } = paused;
  return goTo(
    'run-calls',
    replaceCall(state, { call, status: { type: 'ready', isResumed: true } }),
    ...waitEnded(paused),
  );
}
