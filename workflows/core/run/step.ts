/** The shape in which the core's parts hand on their work: a new state and the commands so far. */
import type { RunCommand, TimelineEntry } from './protocol';
import type { RunState } from './state';

/** A state and what the shell must do, in order. */
export interface Step {
  readonly state: RunState;
  readonly commands: readonly RunCommand[];
}

/** A step that changes only the state. */
export function step(state: RunState, ...commands: readonly RunCommand[]): Step {
  return { state, commands };
}

/** Runs `next` on the step's state and keeps the commands of both, in order. */
export function andThen(before: Step, next: (state: RunState) => Step): Step {
  const after = next(before.state);
  return { state: after.state, commands: [...before.commands, ...after.commands] };
}

type WithoutStamp<Entry> = Entry extends unknown ? Omit<Entry, 'atMs' | 'iteration'> : never;

/** A timeline entry, stamped with time and iteration. */
export function publish(
  state: RunState,
  atMs: number,
  entry: WithoutStamp<TimelineEntry>,
): RunCommand {
  const stamp = { atMs, iteration: state.counters.iterations };
  return { type: 'publish', entry: { ...stamp, ...entry } };
}

/** Adds to counters. */
export function count(state: RunState, changes: Partial<RunState['counters']>): RunState {
  return { ...state, counters: { ...state.counters, ...changes } };
}

/** Newest lines of the report; older ones are dropped. */
const reportLines = 20;

/** Appends a line to a bounded list. */
export function appendLine(lines: readonly string[], line: string): readonly string[] {
  return [...lines, line].slice(-reportLines);
}
