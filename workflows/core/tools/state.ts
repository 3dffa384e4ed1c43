/** The phase in which the tool calls of one reply run, and the state of each call. */
import type { Attachment } from '../message';
import { toToolResponse } from '../errors/tool-response';
import type { AgentError, InfraError } from '../failure';
import { agentError } from '../failure';
import { defined } from '../json';
import type { HandedLimits } from '../limits';
import { maxCallsPerReply } from '../limits';
import type { NextRequestSlice } from '../model-call/next-request';
import type { CountersSlice } from '../run/account';
import type { PhaseSlice } from '../run/phases';
import type { PendingResult, ProposedToolCall, ResultIdentity, RunToolResult } from './ports';

/** A wait for a person's decision on one call. */
export interface DecisionWait {
  /** When the wait expires, if it does. */
  readonly expiry?: { readonly timerId: string; readonly atMs: number };
  /** Nobody decided in time, and the policy escalated the wait. */
  readonly escalated?: true;
  /** How often people were reminded. */
  readonly reminders?: number;
  /** Edits of this call that were checked so far, for activity ids. */
  readonly checks?: number;
}

/** A tool call of the current reply and its status. */
export interface ToolCallProgress {
  readonly call: ProposedToolCall;
  readonly status:
    /** May start: the loop starts it before it returns. `isResumed`: it started before, and was counted then. */
    | { readonly type: 'ready'; readonly isResumed?: true }
    | ({ readonly type: 'awaiting-approval' } & DecisionWait)
    /** A person decided, and the signature or the changed arguments are being checked. */
    | ({
        readonly type: 'checking-edit';
        readonly callId: string;
        /** Identity of the decision: `edit:<hash>`, or that of a signed one. */
        readonly decision: string;
        readonly by?: string;
        readonly signature?: string;
        /** A signed rejection, with the person's reason; empty if there is none. */
        readonly rejects?: string;
      } & DecisionWait)
    | ({
        readonly type: 'awaiting-answer';
        readonly question: string;
        /** Of a call that ran: its result, by which nobody knows whether it took effect. */
        readonly outcome?: SettledStatus;
      } & DecisionWait)
    | { readonly type: 'running' }
    /** A subagent works on it. */
    | {
        readonly type: 'delegated';
        readonly runId: string;
        readonly limits: HandedLimits;
        /** Active milliseconds of this run when the subagent started. */
        readonly sinceActiveMs: number;
      }
    /** The store is down; the call runs again when the timer fires. */
    | {
        readonly type: 'paused';
        readonly timerId: string;
        readonly untilMs: number;
        readonly reason: string;
      }
    | SettledStatus;
}

/** A call that has its result. */
export interface SettledStatus {
  readonly type: 'settled';
  readonly pending: PendingResult;
  /** The tool ran, or a person answered. A call that did not run leaves no trace in the transcript on its own. */
  readonly ran: boolean;
  readonly error?: AgentError;
  /** What the loop detector needs of the result; absent if no tool ran. */
  readonly identity?: ResultIdentity;
}

/** A tool call that the runtime makes on its own, to recover. */
export interface RuntimeCall {
  readonly call: ProposedToolCall;
  readonly introduction: string;
}

/** The phase. */
export interface RunningTools {
  readonly type: 'running-tools';
  readonly calls: readonly ToolCallProgress[];
  /** A call met a failure that only people can fix: the others return, then the run ends. */
  readonly failure?: InfraError;
  /** The only call is the runtime's own. */
  readonly recovery?: RuntimeCall;
}

/** The phase of a run that ends, as far as tools still run in it. */
export interface EndingTools {
  readonly type: 'ending';
  readonly tools?: RunningTools;
}

function isRunningTools(phase: PhaseSlice['phase']): phase is RunningTools {
  return phase.type === 'running-tools';
}

function isEnding(phase: PhaseSlice['phase']): phase is EndingTools {
  return phase.type === 'ending';
}

/** The tools that run, also while the run ends. */
export function runningTools({ phase }: PhaseSlice): RunningTools | undefined {
  if (isRunningTools(phase)) return phase;
  return isEnding(phase) ? phase.tools : undefined;
}

/** Whether the run ends once the calls in flight are back: nothing starts, and nobody is asked for anything any more. */
export function endsSoon(state: PhaseSlice): boolean {
  return isEnding(state.phase) || runningTools(state)?.failure !== undefined;
}

/**
 * Whether a call started and has no result yet: nobody knows whether it took effect. It runs, is paused, is a subagent's, or a
 * person is asked what came of it.
 *
 * Contract: the one answer to this question, for every way to end a run.
 */
export function isUnsettled({ status }: ToolCallProgress): boolean {
  switch (status.type) {
    case 'running':
    case 'delegated':
    case 'paused':
      return true;
    case 'ready':
      return status.isResumed === true;
    case 'awaiting-answer':
      return status.outcome !== undefined;
    case 'awaiting-approval':
    case 'checking-edit':
    case 'settled':
      return false;
  }
}

/** Whether an activity or a subagent works on the call. */
export function isInFlight({ status }: ToolCallProgress): boolean {
  return (
    status.type === 'running' || status.type === 'delegated' || status.type === 'checking-edit'
  );
}

/** The tool calls of the current reply; none in any other phase. */
export function callsOf(state: PhaseSlice): readonly ToolCallProgress[] {
  return runningTools(state)?.calls ?? [];
}

/** A call with its place in the reply. */
export interface PlacedCall {
  readonly call: ProposedToolCall;
  readonly index: number;
}

/** The calls that may start. */
export function readyCalls(state: PhaseSlice): readonly (PlacedCall & { isResumed: boolean })[] {
  return callsOf(state).flatMap(({ call, status }, index) =>
    status.type === 'ready' ? [{ call, index, isResumed: status.isResumed === true }] : [],
  );
}

/** The call of this id, if it has the given status. */
export function findCall(
  state: PhaseSlice,
  toolCallId: string,
  status: ToolCallProgress['status']['type'],
): ToolCallProgress | undefined {
  return callsOf(state).find(
    (progress) => progress.call.toolCallId === toolCallId && progress.status.type === status,
  );
}

/** The state with other fields of the phase; unchanged if no tools run. */
export function changeToolPhase<State extends PhaseSlice>(
  state: State,
  change: (phase: RunningTools) => RunningTools,
): State {
  const { phase } = state;
  const tools = runningTools(state);
  if (tools === undefined) return state;
  const changed = change(tools);
  return { ...state, phase: isEnding(phase) ? { ...phase, tools: changed } : changed };
}

/** The state with one call replaced. */
export function replaceCall<State extends PhaseSlice>(state: State, next: ToolCallProgress): State {
  return changeToolPhase(state, (phase) => ({
    ...phase,
    calls: phase.calls.map((progress) =>
      progress.call.toolCallId === next.call.toolCallId ? next : progress,
    ),
  }));
}

/**
 * The state with the results of these calls for the next model call: those of the model's own calls in the order of the reply, or
 * that of the runtime's own call behind them.
 */
export function withResults<State extends NextRequestSlice>(
  state: State,
  { calls, recovery }: RunningTools,
): State {
  const { next } = state;
  const settled = calls.flatMap(({ status }) => (status.type === 'settled' ? [status] : []));
  if (recovery === undefined)
    return { ...state, next: { ...next, pendingResults: settled.map(({ pending }) => pending) } };
  const { introduction } = recovery;
  const results = settled.map(({ pending }) => ({ pending, introduction }));
  const runtimeResults = [...(next.runtimeResults ?? []), ...results];
  return { ...state, next: { ...next, runtimeResults } };
}

/** Name and label of a call, as people read it. */
export function callSummary({ name, label }: ProposedToolCall): string {
  return label === undefined ? name : `${name} ${label}`;
}

/** A settled call whose result is a text of the core's own. */
export function settle(
  call: ProposedToolCall,
  text: string,
  error: AgentError | undefined,
  ran: boolean,
  attachments?: readonly Attachment[],
): ToolCallProgress {
  const pending: PendingResult = {
    toolCallId: call.toolCallId,
    name: call.name,
    text,
    isError: error !== undefined,
    ...defined({ attachments, notice: call.editNotice }),
  };
  return { call, status: { type: 'settled', pending, ran, ...defined({ error }) } };
}

/** A settled call that never ran, and why. */
export function settleWithError(call: ProposedToolCall, error: AgentError): ToolCallProgress {
  return settle(call, toToolResponse(error), error, false);
}

/** A call that never started, because the run ended. */
export function abandoned(call: ProposedToolCall): ToolCallProgress {
  const why = 'The call was not run, because the run ended first.';
  const error = agentError('tool_denied', why, { recoverable: false, toolName: call.name });
  return settleWithError(call, error);
}

/** The result of a call that ran, to append to the transcript. */
export function pendingResult(call: ProposedToolCall, result: RunToolResult): PendingResult {
  return {
    toolCallId: call.toolCallId,
    name: call.name,
    ...(result.result === undefined
      ? { text: result.text ?? result.preview }
      : { result: result.result }),
    isError: result.error !== undefined,
    ...defined({ notice: call.editNotice }),
  };
}

/**
 * Activity id of a call: the iteration and the call's place in the reply, such as `t3.0`. The runtime's own call comes after all
 * that a reply can hold.
 */
export function activityIdAt(state: PhaseSlice & CountersSlice, index: number): string {
  const isOwn = runningTools(state)?.recovery !== undefined;
  const place = isOwn ? maxCallsPerReply + 1 + index : index;
  return `t${state.counters.iterations}.${place}`;
}

/** The calls that are settled in a certain way. */
export function settledCalls(
  calls: readonly ToolCallProgress[],
  isWanted: (status: SettledStatus) => boolean,
): readonly ProposedToolCall[] {
  return calls.flatMap(({ call, status }) =>
    status.type === 'settled' && isWanted(status) ? [call] : [],
  );
}
