/** What a run learns: which errors are open, what resolved each, and what is still to be recorded. */
import { shortHash } from '../errors/fingerprint';
import type { AgentError } from '../failure';
import { defined } from '../json';
import type { JsonObject } from '../json';
import type { ContentHash } from '../message';
import { callingModel } from '../model-call/state';
import type { ApprovalsSlice } from '../people/state';
import type { RecoverySlice } from '../recovery/state';
import type { CountersSlice } from '../run/account';
import type { RequestSlice, SnapshotSlice } from '../run/ports';
import type { RunEvent } from '../run/protocol';
import type { NextPart, Move, UnstampedCommand } from '../run/move';
import type { ProposedToolCall } from '../tools/ports';
import { askUserTool, completeTaskTool } from '../tools/ports';
import { endedStatus } from '../run/outcome';
import type { PhaseSlice } from '../run/phases';
import type { SettledStatus, ToolCallProgress } from '../tools/state';
import { runningTools } from '../tools/state';
import type { ObservedError } from './ports';
import type { Helper, LearningSlice, OpenError } from './state';

/** Open errors that are followed, and resolved ones that wait to be recorded; the oldest go first (ADR 0027). */
const mostOpen = 8;
const mostWaiting = 16;

/** Iterations after which an unresolved error counts as resolved by another tool (ADR 0027). */
const patienceIterations = 6;

/** Characters of an error's message that are recorded (ADR 0027). */
const messageChars = 300;

type LearningRun = LearningSlice & CountersSlice & RequestSlice & SnapshotSlice;

/** A tool call, or a reply as a whole, as it ended. */
interface SeenCall {
  /** Empty for an error of the reply as a whole. */
  readonly tool: string;
  readonly callId?: string;
  readonly inputBlob?: ContentHash;
  /** Only of a call of the runtime. */
  readonly input?: JsonObject;
  readonly error?: AgentError;
}

type Ended = Pick<ObservedError, 'fixedBy' | 'fix'>;

function ended(open: OpenError, end: Ended): ObservedError {
  const { key, tool, code, message, callId, inputBlob, atMs, helper } = open;
  return {
    key,
    tool,
    code,
    message,
    ...defined({ callId, inputBlob }),
    ...end,
    ...defined({ patternId: helper?.patternId }),
    atMs,
  };
}

function fixOf({ tool, callId, input }: SeenCall): NonNullable<ObservedError['fix']> {
  return { tool, ...defined({ callId, input }) };
}

/** Errors of the reply itself, or of an unknown tool: any call that works resolves them. */
function isResolvedByAny({ tool, code }: OpenError): boolean {
  return tool === '' || code === 'invalid_tool' || code === 'missing_tool_name';
}

function isResolvedBy(open: OpenError, call: SeenCall): boolean {
  return call.tool === open.tool || isResolvedByAny(open) || open.helper?.tool === call.tool;
}

/** An open error after the calls of one iteration: resolved, or still open with what it has seen. */
function follow(
  open: OpenError,
  calls: readonly SeenCall[],
  iteration: number,
): OpenError | ObservedError {
  const worked = calls.filter(({ error }) => error === undefined);
  const resolved = worked.find((call) => isResolvedBy(open, call));
  const fixedBy = open.helper?.by ?? 'model';
  if (resolved !== undefined) return ended(open, { fixedBy, fix: fixOf(resolved) });
  const again = calls.find((call) => call.error !== undefined && isResolvedBy(open, call));
  if (again !== undefined) return ended(open, { fixedBy: 'none', fix: fixOf(again) });
  const instead = worked.find(({ tool }) => tool !== askUserTool && tool !== completeTaskTool);
  const seen =
    open.other === undefined && instead?.callId !== undefined
      ? { ...open, other: { tool: instead.tool, callId: instead.callId } }
      : open;
  if (seen.other !== undefined && iteration - seen.iteration >= patienceIterations)
    return ended(seen, { fixedBy, fix: seen.other });
  return seen;
}

function isEnded(followed: OpenError | ObservedError): followed is ObservedError {
  return 'fixedBy' in followed;
}

function opened(
  state: LearningRun,
  calls: readonly SeenCall[],
  atMs: number,
): readonly OpenError[] {
  const { iterations } = state.counters;
  return calls.flatMap((call, index) => {
    const { tool, callId, inputBlob, error } = call;
    if (error === undefined) return [];
    return {
      key: callId ?? `${shortHash(state.runKey)}_${iterations}_r${index}`,
      tool,
      code: error.code,
      message: error.message.slice(0, messageChars),
      ...defined({ callId, inputBlob }),
      iteration: iterations,
      atMs,
    };
  });
}

/** Whether a run records its errors. */
function learns({ snapshot }: SnapshotSlice): boolean {
  return snapshot?.learns === true;
}

/** Follows the open errors through the calls of one iteration, and opens those that are new. */
function observeCalls<State extends LearningRun>(
  state: State,
  calls: readonly SeenCall[],
  atMs: number,
): State {
  if (!learns(state)) return state;
  const { learning, counters } = state;
  const followed = learning.open.map((open) => follow(open, calls, counters.iterations));
  const stillOpen = followed.filter((entry): entry is OpenError => !isEnded(entry));
  const all = [...stillOpen, ...opened(state, calls, atMs)];
  return {
    ...state,
    learning: {
      open: all.slice(-mostOpen),
      waiting: [...learning.waiting, ...followed.filter(isEnded)].slice(-mostWaiting),
      // A dropped one may have been sent; the others are recorded again, which changes nothing.
      sent: 0,
    },
  };
}

function withHelper<State extends LearningRun>(
  state: State,
  helper: Helper,
  failedTool?: string,
): State {
  const { learning } = state;
  if (!learns(state) || learning.open.length === 0) return state;
  const open = learning.open.map((error) =>
    failedTool === undefined || error.tool === failedTool ? { ...error, helper } : error,
  );
  return { ...state, learning: { ...learning, open } };
}

/** The run ends, and every open error with it. A run that reached its goal resolved them, by another tool where one worked. */
function closeObservations<State extends LearningRun>(state: State, isCompleted: boolean): State {
  const { learning } = state;
  if (learning.open.length === 0) return state;
  const last = learning.open.map((open) => {
    const fixedBy = open.helper?.by ?? 'model';
    if (!isCompleted) return ended(open, { fixedBy: 'none' });
    if (open.other !== undefined) return ended(open, { fixedBy, fix: open.other });
    return ended(open, { fixedBy: isResolvedByAny(open) ? fixedBy : 'none' });
  });
  const waiting = [...learning.waiting, ...last].slice(-mostWaiting);
  return { ...state, learning: { open: [], waiting, sent: 0 } };
}

/** Adds what waits to the model call that starts. */
function sendObservations<State extends LearningRun>(decided: Move<State>): Move<State> {
  const { learning } = decided.state;
  const { waiting } = learning;
  const starts = decided.commands.some(({ type }) => type === 'call-model');
  if (!starts || waiting.length === 0) return decided;
  const commands = decided.commands.map((command): UnstampedCommand =>
    command.type === 'call-model'
      ? { ...command, input: { ...command.input, endedErrors: waiting } }
      : command,
  );
  const state = { ...decided.state, learning: { ...learning, sent: waiting.length } };
  return { ...decided, state, commands };
}

/** The model call has returned: what it carried is recorded. */
function observationsRecorded<State extends LearningRun>(state: State): State {
  const { learning } = state;
  if (learning.sent === 0) return state;
  return {
    ...state,
    learning: { ...learning, waiting: learning.waiting.slice(learning.sent), sent: 0 },
  };
}

/** Characters of JSON up to which the input of the runtime's own call is recorded (ADR 0027). */
const ownInputChars = 1_000;

function ownInput({ input }: ProposedToolCall): Pick<SeenCall, 'input'> {
  return input !== undefined && JSON.stringify(input).length <= ownInputChars ? { input } : {};
}

function seenCall(call: ProposedToolCall, error: AgentError | undefined): SeenCall {
  const { name, toolCallId, inputBlob } = call;
  return { tool: name, callId: toolCallId, ...defined({ inputBlob, error }) };
}

/** An output in the form of an error proves nothing: no fix is learned from it. */
function isDoubtful({ identity }: SettledStatus): boolean {
  return identity?.saysFailed === true;
}

/** The settled calls of a reply, or of the runtime itself. */
function settledCalls(calls: readonly ToolCallProgress[], isOwn: boolean): readonly SeenCall[] {
  return calls.flatMap(({ call, status }) =>
    status.type === 'settled' && !isDoubtful(status)
      ? [{ ...seenCall(call, status.error), ...(isOwn ? ownInput(call) : {}) }]
      : [],
  );
}

/** The errors of a reply of which nothing ran: those of its calls, or of the reply as a whole. */
function refusedCalls(
  errors: readonly AgentError[],
  calls: readonly ProposedToolCall[],
): readonly SeenCall[] {
  return calls.length === 0
    ? errors.map((error) => ({ tool: error.toolName ?? '', error }))
    : calls.map((call) => seenCall(call, call.error));
}

/** What a decision is about: the calls that it saw end. */
function seenIn(
  before: PhaseSlice,
  after: PhaseSlice,
  cause: RunEvent | NextPart,
): readonly SeenCall[] | undefined {
  if (cause.type === 'reject-reply') return refusedCalls(cause.errors, cause.calls);
  // What was stopped with its run failed for no fault of its own.
  if (before.phase.type === 'ending') return undefined;
  const tools = cause.type === 'settle' ? runningTools(before) : undefined;
  if (tools === undefined || runningTools(after) !== undefined) return undefined;
  return settledCalls(tools.calls, tools.recovery !== undefined);
}

/** A recovery action started: what then resolves the open errors counts as its doing, and as a use of its pattern. */
function noteRecoveryAction<State extends LearningRun & RecoverySlice>(
  before: RecoverySlice,
  state: State,
): State {
  const { trial } = state.recovery;
  if (trial?.action === undefined || trial.id === before.recovery.trial?.id) return state;
  const { toolName, patternId } = trial.action;
  const helper: Helper = { by: 'action', ...defined({ patternId, tool: toolName }) };
  const failedTool = trial.trouble.tool === '' ? undefined : trial.trouble.tool;
  return withHelper(state, helper, failedTool);
}

/**
 * Learns from a decision: follows open errors through the calls that ended, notes who helped, and passes what is resolved to the
 * next model call, which records it.
 *
 * Contract: changes its own slice, and the input of a model call that starts; the loop works without it.
 */
export function learn<State extends ApprovalsSlice & LearningRun & PhaseSlice & RecoverySlice>(
  before: State,
  decided: Move<State>,
  cause: RunEvent | NextPart,
  atMs: number,
): Move<State> {
  if (!learns(decided.state)) return decided;
  const recorded =
    cause.type === 'model-call-completed' && callingModel(before)?.callId === cause.callId
      ? observationsRecorded(decided.state)
      : decided.state;
  // An answer that nobody asked for helps with nothing.
  const isAnswered =
    cause.type === 'question-answered' && decided.state.approvals.made !== before.approvals.made;
  const helped = isAnswered ? withHelper(recorded, { by: 'person' }) : recorded;
  const seen = seenIn(before, decided.state, cause);
  const observed = seen === undefined ? helped : observeCalls(helped, seen, atMs);
  const acted = noteRecoveryAction(before, observed);
  const status = endedStatus(decided.state.phase);
  const state = status === undefined ? acted : closeObservations(acted, status === 'completed');
  return sendObservations({ ...decided, state });
}
