/** What a run learns: which errors are open, what ended each, and what is still to be told to the corpus. */
import type { AgentError } from '../failure';
import { shortHash } from '../errors/fingerprint';
import type { JsonObject } from '../json';
import type { ContentHash } from '../message';
import type { ObservedError } from './ports';
import type { ProposedToolCall } from '../tools/ports';
import { askUserTool, completeTaskTool } from '../tools/ports';
import { hasRules } from '../rules';
import type { RunState, ToolCallProgress } from '../run/state';

/** Open errors that are followed, and ended ones that wait to be told; the oldest go first (ADR 0027). */
const mostOpen = 8;
const mostWaiting = 16;

/** Iterations after which an error that nothing mended counts as got over by another tool (ADR 0027). */
const patienceIterations = 6;

/** Characters of an error's message that the corpus is told (ADR 0027). */
const messageChars = 300;

/** Somebody other than the model who stepped in after an error. */
interface Helper {
  readonly by: 'person' | 'action';
  readonly patternId?: string;
  /** Tool that a recovery action used or advised instead. */
  readonly tool?: string;
}

/** An error that nothing has mended yet. */
interface OpenError extends Pick<
  ObservedError,
  'key' | 'tool' | 'code' | 'message' | 'callId' | 'inputBlob' | 'atMs'
> {
  readonly iteration: number;
  /** Iteration of the first error in a row of the same tool. */
  readonly sinceIteration: number;
  readonly helper?: Helper;
  /** The first call of another tool that worked since. */
  readonly other?: { readonly tool: string; readonly callId: string };
}

/** The slice of the state that learning owns. */
export interface LearningState {
  readonly open: readonly OpenError[];
  readonly waiting: readonly ObservedError[];
  /** How many of `waiting` the model call in flight carries. */
  readonly sent: number;
}

/** Nothing is open, nothing waits. */
export const initialLearning: LearningState = { open: [], waiting: [], sent: 0 };

/** A tool call, or a reply as a whole, as it ended. */
export interface SeenCall {
  /** Empty for an error of the reply as a whole. */
  readonly tool: string;
  readonly callId?: string;
  readonly inputBlob?: ContentHash;
  /** Only of a call of the runtime. */
  readonly input?: JsonObject;
  readonly error?: AgentError;
}

type Settled = Extract<ToolCallProgress['status'], { type: 'settled' }>;

type Ended = Pick<ObservedError, 'fixedBy' | 'fix'>;

function ended(open: OpenError, end: Ended, iteration: number): ObservedError {
  const { key, tool, code, message, callId, inputBlob, atMs, helper } = open;
  return {
    key,
    tool,
    code,
    message,
    ...(callId === undefined ? {} : { callId }),
    ...(inputBlob === undefined ? {} : { inputBlob }),
    ...end,
    steps: Math.max(iteration - open.sinceIteration, 0),
    ...(helper?.patternId === undefined ? {} : { patternId: helper.patternId }),
    atMs,
  };
}

function fixOf({ tool, callId, input }: SeenCall): NonNullable<ObservedError['fix']> {
  return {
    tool,
    ...(callId === undefined ? {} : { callId }),
    ...(input === undefined ? {} : { input }),
  };
}

/** Errors of the reply itself, or of a tool that does not exist: any call that works has mended them. */
function isMendedByAny({ tool, code }: OpenError): boolean {
  return tool === '' || code === 'invalid_tool' || code === 'missing_tool_name';
}

function isMendedBy(open: OpenError, call: SeenCall): boolean {
  return call.tool === open.tool || isMendedByAny(open) || open.helper?.tool === call.tool;
}

/** How an open error stands after the calls of one iteration: ended, or open with what it has seen. */
function follow(
  open: OpenError,
  calls: readonly SeenCall[],
  iteration: number,
): OpenError | ObservedError {
  const worked = calls.filter(({ error }) => error === undefined);
  const mend = worked.find((call) => isMendedBy(open, call));
  const fixedBy = open.helper?.by ?? 'model';
  if (mend !== undefined) return ended(open, { fixedBy, fix: fixOf(mend) }, iteration);
  const again = calls.find((call) => call.error !== undefined && isMendedBy(open, call));
  if (again !== undefined) return ended(open, { fixedBy: 'none', fix: fixOf(again) }, iteration);
  const instead = worked.find(({ tool }) => tool !== askUserTool && tool !== completeTaskTool);
  const seen =
    open.other === undefined && instead?.callId !== undefined
      ? { ...open, other: { tool: instead.tool, callId: instead.callId } }
      : open;
  if (seen.other !== undefined && iteration - seen.iteration >= patienceIterations)
    return ended(seen, { fixedBy, fix: seen.other }, iteration);
  return seen;
}

function isEnded(followed: OpenError | ObservedError): followed is ObservedError {
  return 'fixedBy' in followed;
}

function opened(state: RunState, calls: readonly SeenCall[], atMs: number): readonly OpenError[] {
  const { iterations } = state.counters;
  const { open } = state.learning;
  return calls.flatMap((call, index) => {
    const { tool, callId, inputBlob, error } = call;
    if (error === undefined) return [];
    const before = open.find((known) => known.tool === tool);
    return {
      key: callId ?? `${shortHash(state.runKey)}_${iterations}_r${index}`,
      tool,
      code: error.code,
      message: error.message.slice(0, messageChars),
      ...(callId === undefined ? {} : { callId }),
      ...(inputBlob === undefined ? {} : { inputBlob }),
      iteration: iterations,
      sinceIteration: before?.sinceIteration ?? iterations,
      atMs,
    };
  });
}

/** Whether a run tells the corpus of its errors. */
function learns(state: RunState): boolean {
  return state.snapshot?.learns === true;
}

/** Follows the open errors through the calls of one iteration, and opens those that are new. */
export function observeCalls(state: RunState, calls: readonly SeenCall[], atMs: number): RunState {
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
      // A dropped one may have been sent; the others are told again, which changes nothing.
      sent: 0,
    },
  };
}

function withHelper(state: RunState, helper: Helper, failedTool?: string): RunState {
  const { learning } = state;
  if (!learns(state) || learning.open.length === 0) return state;
  const open = learning.open.map((error) =>
    failedTool === undefined || error.tool === failedTool ? { ...error, helper } : error,
  );
  return { ...state, learning: { ...learning, open } };
}

/**
 * Notes that a recovery action steps in, before its call runs or its advice is sent: what then mends the open errors counts as
 * the action's doing, and as a use of its pattern that helped; the next failure as one that did not.
 */
export function noteRecoveryAction(
  state: RunState,
  action: {
    /** Tool whose errors the action is about; absent: all open errors. */
    readonly failedTool?: string;
    readonly toolName?: string;
    readonly patternId?: string;
  },
): RunState {
  const { failedTool, toolName, patternId } = action;
  return withHelper(
    state,
    {
      by: 'action',
      ...(patternId === undefined ? {} : { patternId }),
      ...(toolName === undefined ? {} : { tool: toolName }),
    },
    failedTool,
  );
}

/** Notes that a person answered: what then mends the open errors counts as that person's doing. */
export function noteAnswer(state: RunState): RunState {
  return withHelper(state, { by: 'person' });
}

/** The run ends: every open error ends with it. A run that reached its goal got over them, by another tool where one worked. */
export function closeObservations(state: RunState, isCompleted: boolean): RunState {
  const { learning, counters } = state;
  if (learning.open.length === 0) return state;
  const last = learning.open.map((open) => {
    const fixedBy = open.helper?.by ?? 'model';
    if (!isCompleted) return ended(open, { fixedBy: 'none' }, counters.iterations);
    if (open.other !== undefined)
      return ended(open, { fixedBy, fix: open.other }, counters.iterations);
    const isOver = isMendedByAny(open);
    return ended(open, { fixedBy: isOver ? fixedBy : 'none' }, counters.iterations);
  });
  const waiting = [...learning.waiting, ...last].slice(-mostWaiting);
  return { ...state, learning: { open: [], waiting, sent: 0 } };
}

/** The next model call carries what waits. */
export function sendObservations(state: RunState): RunState {
  const { learning } = state;
  return learning.waiting.length === learning.sent
    ? state
    : { ...state, learning: { ...learning, sent: learning.waiting.length } };
}

/** The model call came back: what it carried is in the store. */
export function observationsTold(state: RunState): RunState {
  const { learning } = state;
  if (learning.sent === 0) return state;
  return {
    ...state,
    learning: { ...learning, waiting: learning.waiting.slice(learning.sent), sent: 0 },
  };
}

/** Characters of JSON up to which the corpus is told the input of a call of the runtime (ADR 0027). */
const ownInputChars = 1_000;

/** Follows the open errors through the settled calls of one reply, or of the runtime itself. */
export function observeSettled(
  state: RunState,
  calls: readonly ToolCallProgress[],
  isOwn: boolean,
  atMs: number,
): RunState {
  // An output in the form of an error proves nothing mended: no fix is learned of it.
  const isDoubtful = ({ came }: Settled): boolean =>
    came?.saysFailed === true && hasRules(state, 3);
  const seen = calls.flatMap(({ call, status }) =>
    status.type === 'settled' && !isDoubtful(status)
      ? [{ ...seenCall(call, status.error), ...(isOwn ? ownInput(call) : {}) }]
      : [],
  );
  return observeCalls(state, seen, atMs);
}

function ownInput({ input }: ProposedToolCall): Pick<SeenCall, 'input'> {
  return input !== undefined && JSON.stringify(input).length <= ownInputChars ? { input } : {};
}

/** A call as learning sees it. */
function seenCall(call: ProposedToolCall, error: AgentError | undefined): SeenCall {
  const { name, toolCallId, inputBlob } = call;
  return {
    tool: name,
    callId: toolCallId,
    ...(inputBlob === undefined ? {} : { inputBlob }),
    ...(error === undefined ? {} : { error }),
  };
}

/** The errors of a reply of which nothing ran: those of its calls, or of the reply as a whole. */
export function refusedCalls(
  errors: readonly AgentError[],
  calls: readonly ProposedToolCall[],
): readonly SeenCall[] {
  return calls.length === 0
    ? errors.map((error) => ({ tool: error.toolName ?? '', error }))
    : calls.map((call) => seenCall(call, call.error));
}
