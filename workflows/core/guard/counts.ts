/** What the guard counts against caps, and how it goes from a run below to the run above. */
import type { GuardCounts, GuardState } from './state';
import type { RunState } from '../run/state';

/** How often, by name. */
export type Counts = Readonly<Record<string, number>>;

/** Adds `by` to each of these keys, whatever they are called. */
export function tally(counts: Counts, keys: readonly string[], by = 1): Counts {
  const next = new Map(Object.entries(counts));
  for (const key of keys) next.set(key, (next.get(key) ?? 0) + by);
  return Object.fromEntries(next);
}

/** Changes the guard's slice. */
export function withGuard(state: RunState, changes: Partial<GuardState>): RunState {
  return { ...state, guard: { ...state.guard, ...changes } };
}

/** Newest files of a run below that are told to the run above (64 subagents of one reply stay far below 2 MB). */
const toldFiles = 200;

/** What this run and those below it have used of the caps: for the run above. */
export function guardCounts({ guard }: RunState): GuardCounts {
  const newest = Object.entries(guard.fileEdits).slice(-toldFiles);
  return { toolRuns: guard.toolRuns, fileEdits: Object.fromEntries(newest) };
}

function added(counts: Counts, more: Counts): Counts {
  return Object.entries(more).reduce((sum, [key, by]) => tally(sum, [key], by), counts);
}

/** Adds what a run below has used, so that no cap can be passed by delegation. */
export function addGuardCounts(state: RunState, { toolRuns, fileEdits }: GuardCounts): RunState {
  return withGuard(state, {
    toolRuns: added(state.guard.toolRuns, toolRuns),
    fileEdits: added(state.guard.fileEdits, fileEdits),
  });
}
