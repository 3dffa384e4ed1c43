/** Caps over a tree of runs: what a run passes to its subagents of its caps on tools and files, and what it was passed (ADR 0021). */
import { mayHaveTakenEffect } from '../errors/failure-policy';
import { shortHash } from '../errors/fingerprint';
import type { HandedLimits } from '../limits';
import type { RequestSlice, SnapshotSlice } from '../run/ports';
import { prepared, toolPolicy } from '../run/ports';
import type { ProposedToolCall, SubagentPolicy } from '../tools/ports';
import type { PhaseSlice } from '../run/phases';
import { callsOf } from '../tools/state';
import type { GuardSlice } from './state';
import { countOf, sharedFiles } from './state';

/** What caps depend on: the tools' own, and what the parent run had left. */
export type CappedState = RequestSlice & SnapshotSlice;

type TreeState = CappedState & GuardSlice & PhaseSlice;

/** What the parent run has left for this one; undefined for a run that people started. */
function handed({ request }: CappedState): HandedLimits | undefined {
  return request.parent?.limits;
}

/** A cap, and whether it is what the parent run had left, rather than the run's own. */
export interface Cap {
  readonly most: number;
  readonly isHanded: boolean;
}

function lower(own: number | undefined, left: number | undefined): Cap | undefined {
  if (left !== undefined && left < (own ?? Infinity)) return { most: left, isHanded: true };
  return own === undefined ? undefined : { most: own, isHanded: false };
}

/** How often this run may call a tool; undefined if nothing caps it. */
export function toolCap(state: CappedState, tool: string): Cap | undefined {
  const own = toolPolicy(state, tool)?.maxCalls;
  return lower(own, countOf(handed(state)?.toolCallsLeft, tool));
}

/** How often this run may edit a file. */
export function fileCap(state: CappedState, fileHash: string): Cap {
  const most = state.snapshot?.limits.maxEditsPerFile ?? 0;
  const left = countOf(handed(state)?.fileEditsLeft, fileHash);
  return lower(most, left) ?? { most, isHanded: false };
}

/** Calls of the current reply that wait for a person and may run then, so they keep their place under the caps. */
export function waitingCalls(state: PhaseSlice): readonly ProposedToolCall[] {
  return callsOf(state).flatMap(({ call, status }) =>
    status.type === 'awaiting-approval' || status.type === 'checking-edit' ? [call] : [],
  );
}

/** Subagents of the current reply that may start once a person has approved them: their part is kept for them. */
export function waitingSubagents(state: PhaseSlice & SnapshotSlice): readonly SubagentPolicy[] {
  return waitingCalls(state).flatMap(({ name }) => toolPolicy(state, name)?.subagent ?? []);
}

/** Calls of a tool that subagents at work may still make. */
function givenAway(state: PhaseSlice, tool: string): number {
  return callsOf(state).reduce(
    (sum, { status }) =>
      status.type === 'delegated' ? sum + (countOf(status.limits.toolCallsLeft, tool) ?? 0) : sum,
    0,
  );
}

/** Calls of a tool that are left: not made, not waiting for a person, not given to a subagent at work. */
function callsLeft(state: TreeState, tool: string): number {
  const cap = toolCap(state, tool)?.most ?? 0;
  const used = countOf(state.guard.toolRuns, tool) ?? 0;
  const wanted = waitingCalls(state).filter(({ name }) => name === tool).length;
  return Math.max(cap - used - wanted - givenAway(state, tool), 0);
}

function cappedTools(state: CappedState): readonly string[] {
  const own = (state.snapshot?.tools ?? []).flatMap(({ name, maxCalls }) =>
    maxCalls === undefined ? [] : [name],
  );
  return [...new Set([...own, ...Object.keys(handed(state)?.toolCallsLeft ?? {})])];
}

function toolShares(
  state: TreeState,
  policies: readonly SubagentPolicy[],
): readonly Record<string, number>[] {
  const shares = policies.map(() => new Map<string, number>());
  const all = [...policies, ...waitingSubagents(state)];
  for (const tool of cappedTools(state)) {
    const takers = all.flatMap(({ tools }, index) => (tools.includes(tool) ? [index] : []));
    const left = callsLeft(state, tool);
    takers.forEach((taker, place) => {
      const share = Math.floor(left / takers.length) + (place < left % takers.length ? 1 : 0);
      shares[taker]?.set(tool, share);
    });
  }
  return shares.map((share) => Object.fromEntries(share));
}

/** Files that the current reply edits, or may edit: its edits are counted when all of it has settled. */
function editsOfReply(state: PhaseSlice): readonly string[] {
  return callsOf(state).flatMap(({ call, status }) => {
    const hadNoEffect =
      status.type === 'settled' &&
      status.error !== undefined &&
      !mayHaveTakenEffect(status.error.code);
    return call.editedFile === undefined || hadNoEffect ? [] : [shortHash(call.editedFile)];
  });
}

/** Edits that are left of the files edited so far; of another one all of `maxEditsPerFile` are. */
function editsLeft(state: TreeState): Record<string, number> {
  const wanted = editsOfReply(state);
  const known = new Set([
    ...Object.keys(handed(state)?.fileEditsLeft ?? {}),
    ...Object.keys(state.guard.fileEdits),
    ...wanted,
  ]);
  const entries = [...known].slice(-sharedFiles).map((file): readonly [string, number] => {
    const used = countOf(state.guard.fileEdits, file) ?? 0;
    const asked = wanted.filter((other) => other === file).length;
    return [file, Math.max(fileCap(state, file).most - used - asked, 0)];
  });
  return Object.fromEntries(entries);
}

/**
 * The caps of each of the subagents that start together.
 *
 * Contract: what is left of a tool's calls is divided by those that have the tool, so that no delegation passes it. Edits of a
 * file are not, since nobody knows who will edit which: side by side each may use what is left, and all of it counts.
 */
export function handedCaps(
  state: TreeState,
  policies: readonly SubagentPolicy[],
): readonly Pick<HandedLimits, 'toolCallsLeft' | 'fileEditsLeft' | 'maxEditsPerFile'>[] {
  const { maxEditsPerFile } = prepared(state).snapshot.limits;
  const fileEditsLeft = editsLeft(state);
  return toolShares(state, policies).map((toolCallsLeft) => ({
    toolCallsLeft,
    fileEditsLeft,
    maxEditsPerFile,
  }));
}
