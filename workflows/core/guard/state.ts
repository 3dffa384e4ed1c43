/** What the guard has counted and seen in a run: carried over every roll-over, untouched by compaction. */
import type { Counts, GuardCounts } from '../limits';
import type { CallLikeness } from '../tools/ports';

/** One tool call and its result, as identities without their text. */
export interface CallEvidence {
  /** Normalized identity of tool and input. */
  readonly call: string;
  /** Weaker identities of the call. */
  readonly alike?: CallLikeness;
  /** Normalized identity of the result, or of the error. */
  readonly result: string;
  /** Hashes of some of the result's lines, for windows that overlap. */
  readonly sketch?: readonly string[];
  /** Code of the error, where the call failed. */
  readonly failed?: string;
  /** Tool and label, as people read it. */
  readonly summary: string;
  /** Iteration that made the call. */
  readonly reply: number;
  /** The model waited on purpose before or with this call. */
  readonly waited?: true;
}

/** The guard's own record. */
export interface GuardState extends GuardCounts {
  /** The newest calls with their results, oldest first; bounded. */
  readonly evidence: readonly CallEvidence[];
  /** Identity of the loop that the model was warned about; absent while there is none. */
  readonly warnedLoop?: string;
  /** The model has waited since the newest call. */
  readonly waited?: true;
  /** Exact identity of the newest call, if it worked. */
  readonly newestCall?: string;
  /** Effects whose repetition the model was asked about, newest last; bounded. */
  readonly askedAbout?: readonly string[];
  readonly activeTimer?: ActiveTimer;
  /** Timers of active time that were started, for their ids. */
  readonly activeTimers: number;
}

/** The running timer of active time, and when it fires. */
export interface ActiveTimer {
  readonly timerId: string;
  readonly atMs: number;
}

/** The slice of active time. */
export interface ActiveTimeSlice {
  /** Milliseconds of work, up to `activeSinceMs`. */
  readonly activeMs: number;
  /** Since when the run works; absent while it waits. */
  readonly activeSinceMs?: number;
}

/** The slice that the guard owns. */
export interface GuardSlice extends ActiveTimeSlice {
  readonly guard: GuardState;
}

/** A guard that has seen nothing. */
export const initialGuard: GuardSlice = {
  guard: { evidence: [], activeTimers: 0, toolRuns: {}, fileEdits: {} },
  activeMs: 0,
};

/** Changes the guard's record. */
export function withGuard<State extends GuardSlice>(
  state: State,
  changes: Partial<GuardState>,
): State {
  return { ...state, guard: { ...state.guard, ...changes } };
}

/** Adds `by` to each of these keys; any string is a valid key. */
export function tally(counts: Counts, keys: readonly string[], by = 1): Counts {
  const next = new Map(Object.entries(counts));
  for (const key of keys) next.set(key, (next.get(key) ?? 0) + by);
  return Object.fromEntries(next);
}

/** The count of this key, if any; any string is a valid key. */
export function countOf(counts: Counts | undefined, key: string): number | undefined {
  return counts !== undefined && Object.hasOwn(counts, key) ? counts[key] : undefined;
}

/** Newest files whose counts pass between a run and its subagents: 64 of them in one reply stay far below 2 MB. */
export const sharedFiles = 200;

/** What a run and its subagents have used of the caps, for the parent run. */
export function guardCounts({ guard }: GuardSlice): GuardCounts {
  const newest = Object.entries(guard.fileEdits).slice(-sharedFiles);
  return { toolRuns: guard.toolRuns, fileEdits: Object.fromEntries(newest) };
}

function added(counts: Counts, more: Counts): Counts {
  return Object.entries(more).reduce((sum, [key, by]) => tally(sum, [key], by), counts);
}

/** Adds what a subagent has used, so that delegation passes no cap. */
export function addGuardCounts<State extends GuardSlice>(
  state: State,
  { toolRuns, fileEdits }: GuardCounts,
): State {
  return withGuard(state, {
    toolRuns: added(state.guard.toolRuns, toolRuns),
    fileEdits: added(state.guard.fileEdits, fileEdits),
  });
}
