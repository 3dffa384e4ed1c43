/** Caps on tool calls: how many in all, of one tool, and on one file. Counted over replies, segments, and subagents. */
import { noteProvenance, addNote } from '../model-call/next-request';
import { mayHaveTakenEffect } from '../errors/failure-policy';
import { shortHash } from '../errors/fingerprint';
import type { CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, publish, stay } from '../run/move';
import { inertLine } from '../secrets/inert-tags';
import type { ProposedToolCall } from '../tools/ports';
import type { NextRequestSlice } from '../model-call/next-request';
import type { PhaseSlice } from '../run/phases';
import type { ToolCallProgress } from '../tools/state';
import { callsOf } from '../tools/state';
import type { Cap, CappedState } from './handed-caps';
import { fileCap, toolCap } from './handed-caps';
import { forcedStop, guardBeforeTools } from './hard-limits';
import type { GuardSlice } from './state';
import { countOf, tally, withGuard } from './state';

/** Files whose edits are remembered: far more than the limit of tool calls lets a run edit. */
const countedFiles = 1_000;

/** Counts tool calls that start, whether the model or recovery asked for them. */
export function countToolRuns<State extends GuardSlice & CountersSlice>(
  state: State,
  calls: readonly ProposedToolCall[],
): State {
  const names = calls.map(({ name }) => name);
  const counted = count(state, { toolCalls: state.counters.toolCalls + calls.length });
  return withGuard(counted, { toolRuns: tally(state.guard.toolRuns, names) });
}

/** Names a maximum, and whether the parent run left no more. */
function maximum({ most, isHanded }: Cap, what: string): string {
  return `reached maximum of ${most} ${what}${isHanded ? ', all that the parent run had left' : ''}`;
}

function namesOf(calls: readonly ProposedToolCall[]): readonly string[] {
  return [...new Set(calls.map(({ name }) => name))];
}

function filesOf(calls: readonly ProposedToolCall[]): readonly string[] {
  return [
    ...new Set(calls.flatMap(({ editedFile }) => (editedFile === undefined ? [] : [editedFile]))),
  ];
}

type Guarded = CappedState & GuardSlice & CountersSlice;

function exceededCap(state: Guarded, calls: readonly ProposedToolCall[]): Stop | undefined {
  for (const tool of namesOf(calls)) {
    const cap = toolCap(state, tool);
    const wanted = calls.filter(({ name }) => name === tool).length;
    if (cap !== undefined && (countOf(state.guard.toolRuns, tool) ?? 0) + wanted > cap.most)
      return forcedStop(state, 'guard_tool_cap', maximum(cap, `${tool} invocations`));
  }
  return undefined;
}

function exceededEdits(state: Guarded, calls: readonly ProposedToolCall[]): Stop | undefined {
  for (const file of filesOf(calls)) {
    const wanted = calls.filter(({ editedFile }) => editedFile === file).length;
    const hash = shortHash(file);
    const cap = fileCap(state, hash);
    if ((countOf(state.guard.fileEdits, hash) ?? 0) + wanted > cap.most)
      return forcedStop(state, 'guard_file_edits', maximum(cap, `edits of the file ${file}`));
  }
  return undefined;
}

/**
 * Why the run must end before these calls; undefined if they may start.
 *
 * Contract: `calls` are all that may start together, including those that wait for an approval. Nothing in them can change a
 * limit.
 * Source: R-GUARD-2, R-GUARD-4, R-GUARD-6, R-GUARD-9.
 */
export function stopBeforeTools(
  state: Guarded,
  calls: readonly ProposedToolCall[],
): Stop | undefined {
  return (
    guardBeforeTools(state, calls.length) ??
    exceededCap(state, calls) ??
    exceededEdits(state, calls)
  );
}

/** Why a call may not edit another file than it was admitted for; undefined if it may. Calls beside it count, as when they were admitted. */
export function problemOfEditedFile(
  state: Guarded & PhaseSlice,
  call: ProposedToolCall,
): string | undefined {
  const beside = callsOf(state).flatMap((progress) => {
    const mayEdit = progress.status.type !== 'settled' || tookEffect(progress);
    return mayEdit && progress.call.toolCallId !== call.toolCallId ? [progress.call] : [];
  });
  const others = beside.filter(({ editedFile }) => editedFile === call.editedFile);
  return exceededEdits(state, [call, ...others])?.message;
}

function tookEffect({ status }: ToolCallProgress): boolean {
  if (status.type !== 'settled' || !status.ran) return false;
  return status.error === undefined || mayHaveTakenEffect(status.error.code);
}

function warn<State extends Guarded & NextRequestSlice>(state: State, what: string): Move<State> {
  const text = `${noteProvenance}\n${inertLine(what)} A further one ends the run. Finish with what you have.`;
  return stay(addNote(state, text), publish({ type: 'GuardWarnedEvent', message: what }));
}

/** Counts the edits of a settled reply, and warns the model where it has just used up a cap. */
export function countReply<State extends Guarded & NextRequestSlice & SnapshotSlice>(
  state: State,
  settled: readonly ToolCallProgress[],
): Move<State> {
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
  return warnings.reduce<Move<State>>(
    (before, what) => andThen(before, (after) => warn(after, what)),
    stay(counted),
  );
}
