/** Caps of the guard on tool calls: how many in all, of one tool, and on one file. Counted over replies, segments and subagents. */
import { noteProvenance } from '../errors/error-context';
import { shortHash } from '../errors/fingerprint';
import { tally, withGuard } from './counts';
import type { Cap } from './handed-caps';
import { countOf, fileCap, toolCap } from './handed-caps';
import { prepared } from '../run/loop';
import { addNote } from '../model-call/notes';
import type { ProposedToolCall } from '../tools/ports';
import { hasRules } from '../rules';
import type { RunState, ToolCallProgress } from '../run/state';
import type { GuardStop } from './limits-reached';
import { forcedStopMessage, guardBeforeTools } from './limits-reached';
import type { Step } from '../run/step';
import { andThen, count, publish, step } from '../run/step';
import { mayHaveTakenEffect } from '../tools/unknown-outcome';

/** Files whose edits are remembered: far more than the limit of tool calls lets a run edit. */
const countedFiles = 1_000;

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

/** Tells a cap that is what the run above had left from the run's own. */
function maximum({ most, isHanded }: Cap, what: string): string {
  const whose = isHanded ? ', all that the run above had left' : '';
  return `reached maximum of ${most} ${what}${whose}`;
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
    const cap = toolCap(state, tool);
    const wanted = calls.filter(({ name }) => name === tool).length;
    if (cap === undefined || (countOf(state.guard.toolRuns, tool) ?? 0) + wanted <= cap.most)
      continue;
    const what = maximum(cap, `${tool} invocations`);
    const message = forcedStopMessage(what, state.counters, state.activeMs);
    return { reason: 'guard_tool_cap', message };
  }
  return undefined;
}

function passedEdits(state: RunState, calls: readonly ProposedToolCall[]): GuardStop | undefined {
  for (const file of filesOf(calls)) {
    const wanted = calls.filter(({ editedFile }) => editedFile === file).length;
    const hash = shortHash(file);
    const cap = fileCap(state, hash);
    if ((countOf(state.guard.fileEdits, hash) ?? 0) + wanted <= cap.most) continue;
    const what = maximum(cap, `edits of the file ${file}`);
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
      const cap = toolCap(counted, tool);
      return cap !== undefined && countOf(counted.guard.toolRuns, tool) === cap.most
        ? [`${tool} was called ${cap.most} times, as often as this run may.`]
        : [];
    }),
    ...filesOf(edits).flatMap((file) => {
      const hash = shortHash(file);
      const { most } = fileCap(counted, hash);
      return countOf(counted.guard.fileEdits, hash) === most
        ? [`${file} was edited ${most} times, as often as this run may.`]
        : [];
    }),
  ];
  return warnings.reduce<Step>(
    (before, what) => andThen(before, (after) => warn(after, what, atMs)),
    step(counted),
  );
}
