/** What a run has done so far: counters, and the lines that its report shows. */
import { shortened } from '../shortened';

/** Counters of a run, carried over every roll-over. */
export interface RunCounters {
  readonly iterations: number;
  readonly modelCalls: number;
  readonly events: number;
  readonly toolCalls: number;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  readonly failovers: number;
  readonly segments: number;
  readonly timers: number;
  /** Model calls of this iteration, for activity ids. */
  readonly callsThisIteration: number;
}

/** The slice of counters. */
export interface CountersSlice {
  readonly counters: RunCounters;
}

/** The slice of what people read about a run's work. */
export interface AccountSlice extends CountersSlice {
  /** Successful tool calls, newest last, bounded. */
  readonly worked: readonly string[];
  /** Failures, newest last, bounded. */
  readonly didNotWork: readonly string[];
  /** What whoever operates the agent should change, each once. */
  readonly advice?: readonly string[];
  readonly lastText: string;
  readonly lastError?: string;
}

/** The account of a run that has just started: its start is its first event. */
export const initialAccount: AccountSlice = {
  counters: {
    iterations: 0,
    modelCalls: 0,
    events: 1,
    toolCalls: 0,
    toolCallsSucceeded: 0,
    toolCallsFailed: 0,
    failovers: 0,
    segments: 1,
    timers: 0,
    callsThisIteration: 0,
  },
  worked: [],
  didNotWork: [],
  lastText: '',
};

/** Sets counters. */
export function count<State extends CountersSlice>(
  state: State,
  changes: Partial<RunCounters>,
): State {
  return { ...state, counters: { ...state.counters, ...changes } };
}

/** Takes back the count of a model call that sent no request. */
export function uncountModelCall<State extends CountersSlice>(state: State): State {
  return count(state, { modelCalls: state.counters.modelCalls - 1 });
}

/** Lines of each kind that a report keeps; older ones are dropped. */
const reportLines = 20;

/** Characters of a line about a failure. */
const failureLineChars = 300;

/** Counts a successful tool call and adds its line. */
export function addSuccess<State extends AccountSlice>(state: State, line: string): State {
  const worked = [...state.worked, line].slice(-reportLines);
  return count({ ...state, worked }, { toolCallsSucceeded: state.counters.toolCallsSucceeded + 1 });
}

/** Counts a failed tool call. */
export function countFailure<State extends CountersSlice>(state: State): State {
  return count(state, { toolCallsFailed: state.counters.toolCallsFailed + 1 });
}

/** Adds a line about a failure. */
export function addFailureLine<State extends AccountSlice>(state: State, line: string): State {
  const didNotWork = [...state.didNotWork, shortened(line, failureLineChars)].slice(-reportLines);
  return { ...state, didNotWork };
}

/** Adds advice for whoever operates the agent, unless it was given. */
export function advise<State extends AccountSlice>(state: State, line: string): State {
  const { advice = [] } = state;
  return advice.includes(line) ? state : { ...state, advice: [...advice, line] };
}
