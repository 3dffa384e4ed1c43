/** Caps of the guard on tool calls: how many in all, of one tool, and on one file. Counted over replies, segments and subagents. */
import { noteProvenance } from './error-context';
import { shortHash } from './fingerprint';
import type { Counts } from './guard-counts';
import { tally, withGuard } from './guard-counts';
import { prepared } from './iteration';
import { addNote } from './notes';
import type { ProposedToolCall } from './ports';
import { hasRules } from './rules';
import type { RunState, ToolCallProgress } from './run-state';
import type { GuardStop } from './safety-guard';
import { forcedStopMessage, guardBeforeTools } from './safety-guard';
import type { Step } from './step';
import { andThen, count, publish, step } from './step';
import { mayHaveTakenEffect } from './unknown-outcome';

/** Files whose edits are remembered: far more than the limit of tool calls lets a run edit. */
const countedFiles = 1_000;

function countOf(counts: Counts, key: string): number {
  return Object.hasOwn(counts, key) ? (counts[key] ?? 0) : 0;
}

/** Counts tool calls that start, whoever asked for them: the model or a recovery action. */
export function countToolRuns(state: RunState, calls: readonly ProposedToolCall[]): RunState {
  const names = calls.map(({ name }) => name);
  const counted = count(state, { toolCalls: state.counters.toolCalls + calls.length });
  return withGuard(counted, { toolRuns: tally(state.guard.toolRuns, names) });
}

/** Takes back the count of a call that starts once more because the store was down. */
export function uncountToolRun(state: RunState, { name }: ProposedToolCall): RunState {
  const counted = count(state, { toolCalls: state.counters.toolCalls - 1 });
  return withGuard(counted, { toolRuns: tally(state.guard.toolRuns, [name], -1) });
}

function capOf(state: RunState, tool: string): number | undefined {
  return state.snapshot?.tools.find(({ name }) => name === tool)?.maxCalls;
}

function namesOf(calls: readonly ProposedToolCall[]): readonly string[] {
  return [...new Set(calls.map(({ name }) => name))];
}

function filesOf(calls: readonly ProposedToolCall[]): readonly string[] {
  return [
    ...new Set(calls.flatMap(({ editedFile }) => (editedFile === undefined ? [] : [editedFile]))),
  ];
}

function passedCap(state: RunState, calls: readonly ProposedToolCall[]): GuardStop | undefined {
  for (const tool of namesOf(calls)) {
    const cap = capOf(state, tool);
    const wanted = calls.filter(({ name }) => name === tool).length;
    if (cap === undefined || countOf(state.guard.toolRuns, tool) + wanted <= cap) continue;
    const what = `reached maximum of ${cap} ${tool} invocations`;
    const message = forcedStopMessage(what, state.counters, state.activeMs);
    return { reason: 'guard_tool_cap', message };
  }
  return undefined;
}

function passedEdits(state: RunState, calls: readonly ProposedToolCall[]): GuardStop | undefined {
  const { maxEditsPerFile } = prepared(state).snapshot.limits;
  for (const file of filesOf(calls)) {
    const wanted = calls.filter(({ editedFile }) => editedFile === file).length;
    if (countOf(state.guard.fileEdits, shortHash(file)) + wanted <= maxEditsPerFile) continue;
    const what = `reached maximum of ${maxEditsPerFile} edits of the file ${file}`;
    const message = forcedStopMessage(what, state.counters, state.activeMs);
    return { reason: 'guard_file_edits', message };
  }
  return undefined;
}

/**
 * Why the run must end before these calls; undefined where they may start.
 *
 * Contract: `calls` are all that may start together, those that wait for an approval too. Nothing in them can change a limit.
 * Source: seed 001 (400 tool calls, caps by tool, more than 4 edits of one file).
 */
export function stopBeforeTools(
  state: RunState,
  calls: readonly ProposedToolCall[],
): GuardStop | undefined {
  const { limits } = prepared(state).snapshot;
  const stop = guardBeforeTools(limits, state.counters, state.activeMs, calls.length);
  if (stop !== undefined || !hasRules(state, 2)) return stop;
  return passedCap(state, calls) ?? passedEdits(state, calls);
}

function tookEffect({ status }: ToolCallProgress): boolean {
  if (status.type !== 'settled' || !status.ran) return false;
  return status.error === undefined || mayHaveTakenEffect(status.error.code);
}

function warn(state: RunState, what: string, atMs: number): Step {
  const text = `${noteProvenance}\n${what} A further one ends the run. Finish with what you have.`;
  return step(
    addNote(state, text),
    publish(state, atMs, { type: 'GuardWarnedEvent', message: what }),
  );
}

/** Counts the edits of a settled reply, and warns the model where it has just used up a cap. */
export function countReply(
  state: RunState,
  settled: readonly ToolCallProgress[],
  atMs: number,
): Step {
  const { maxEditsPerFile } = prepared(state).snapshot.limits;
  const edits = settled.filter(tookEffect).map(({ call }) => call);
  const edited = edits.flatMap(({ editedFile }) =>
    editedFile === undefined ? [] : [shortHash(editedFile)],
  );
  const kept = Object.entries(tally(state.guard.fileEdits, edited)).slice(-countedFiles);
  const counted = withGuard(state, { fileEdits: Object.fromEntries(kept) });
  const ran = settled.flatMap(({ call, status }) =>
    status.type === 'settled' && status.ran ? [call] : [],
  );
  const warnings = [
    ...namesOf(ran).flatMap((tool) => {
      const cap = capOf(counted, tool);
      return cap !== undefined && countOf(counted.guard.toolRuns, tool) === cap
        ? [`${tool} was called ${cap} times, as often as this run may.`]
        : [];
    }),
    ...filesOf(edits)
      .filter((file) => countOf(counted.guard.fileEdits, shortHash(file)) === maxEditsPerFile)
      .map((file) => `${file} was edited ${maxEditsPerFile} times, as often as this run may.`),
  ];
  return warnings.reduce<Step>(
    (before, what) => andThen(before, (after) => warn(after, what, atMs)),
    step(counted),
  );
}
