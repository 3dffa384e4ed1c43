/** Caps over a tree of runs: what a run hands down of its caps on tools and files, and what it was handed itself (ADR 0021). */
import type { Counts } from './counts';
import { shortHash } from '../errors/fingerprint';
import { mayHaveTakenEffect } from '../tools/unknown-outcome';
import type { ProposedToolCall } from '../tools/ports';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';
import type { HandedLimits, SubagentPolicy } from '../subagents/subagent';

/** Newest files of which a run below is told how many edits are left, as many as it tells back. */
const toldFiles = 200;

/** The count of this key; undefined where there is none, whatever the key is called. */
export function countOf(counts: Counts | undefined, key: string): number | undefined {
  return counts !== undefined && Object.hasOwn(counts, key) ? counts[key] : undefined;
}

/** What the run above has left for this one; undefined for a run of its own, and one that an earlier release prepared. */
function handed(state: RunState): HandedLimits | undefined {
  return hasRules(state, 3) ? state.request.parent?.limits : undefined;
}

/** A cap, and whether it is what the run above had left, rather than the run's own. */
export interface Cap {
  readonly most: number;
  readonly isHanded: boolean;
}

function lower(own: number | undefined, left: number | undefined): Cap | undefined {
  if (left !== undefined && left < (own ?? Infinity)) return { most: left, isHanded: true };
  return own === undefined ? undefined : { most: own, isHanded: false };
}

/** How often this run may call a tool; undefined where nothing caps it. */
export function toolCap(state: RunState, tool: string): Cap | undefined {
  const own = state.snapshot?.tools.find(({ name }) => name === tool)?.maxCalls;
  return lower(own, countOf(handed(state)?.toolCallsLeft, tool));
}

/** How often this run may edit a file. */
export function fileCap(state: RunState, fileHash: string): Cap {
  const most = state.snapshot?.limits.maxEditsPerFile ?? 0;
  const left = countOf(handed(state)?.fileEditsLeft, fileHash);
  return lower(most, left) ?? { most, isHanded: false };
}

/** Calls of the current reply that wait for a person and may run then, so that they keep their place under the caps. */
function waiting(state: RunState): readonly ProposedToolCall[] {
  if (state.phase.type !== 'running-tools') return [];
  return state.phase.calls.flatMap(({ call, status }) =>
    status.type === 'awaiting-approval' || status.type === 'checking-edit' ? [call] : [],
  );
}

/** Calls that wait for a person. */
export function waitingCalls(state: RunState): number {
  return waiting(state).length;
}

/** Subagents of the current reply that may start once a person has approved them: their part is kept for them. */
export function waitingSubagents(state: RunState): readonly SubagentPolicy[] {
  return waiting(state).flatMap(({ name }) => {
    const policy = state.snapshot?.tools.find((tool) => tool.name === name)?.subagent;
    return policy === undefined ? [] : [policy];
  });
}

function givenAway(state: RunState, tool: string): number {
  if (state.phase.type !== 'running-tools') return 0;
  return state.phase.calls.reduce(
    (sum, { status }) =>
      status.type === 'delegated' ? sum + (countOf(status.limits.toolCallsLeft, tool) ?? 0) : sum,
    0,
  );
}

/** Calls of a tool that are left: not made, not waiting for a person, not in the hands of a subagent that is at work. */
function callsLeft(state: RunState, tool: string): number {
  const cap = toolCap(state, tool)?.most ?? 0;
  const used = countOf(state.guard.toolRuns, tool) ?? 0;
  const wanted = waiting(state).filter(({ name }) => name === tool).length;
  return Math.max(cap - used - wanted - givenAway(state, tool), 0);
}

function cappedTools(state: RunState): readonly string[] {
  const own = (state.snapshot?.tools ?? []).flatMap(({ name, maxCalls }) =>
    maxCalls === undefined ? [] : [name],
  );
  return [...new Set([...own, ...Object.keys(handed(state)?.toolCallsLeft ?? {})])];
}

/** Where a snapshot does not say which tools a subagent has, it may have any. */
function has({ tools }: SubagentPolicy, tool: string): boolean {
  return tools === undefined || tools.includes(tool);
}

function toolShares(
  state: RunState,
  policies: readonly SubagentPolicy[],
): readonly Record<string, number>[] {
  const shares = policies.map(() => new Map<string, number>());
  const all = [...policies, ...waitingSubagents(state)];
  for (const tool of cappedTools(state)) {
    const takers = all.flatMap((policy, index) => (has(policy, tool) ? [index] : []));
    const left = callsLeft(state, tool);
    takers.forEach((taker, place) => {
      const share = Math.floor(left / takers.length) + (place < left % takers.length ? 1 : 0);
      shares[taker]?.set(tool, share);
    });
  }
  return shares.map((share) => Object.fromEntries(share));
}

/** Files that the current reply edits, or may edit: its edits are counted when all of it has settled. */
function editsOfReply(state: RunState): readonly string[] {
  if (state.phase.type !== 'running-tools') return [];
  return state.phase.calls.flatMap(({ call, status }) => {
    const isVain =
      status.type === 'settled' &&
      status.error !== undefined &&
      !mayHaveTakenEffect(status.error.code);
    return call.editedFile === undefined || isVain ? [] : [shortHash(call.editedFile)];
  });
}

/** Edits that are left of the files edited so far; of another one all of `maxEditsPerFile` are. */
function editsLeft(state: RunState): Record<string, number> {
  const wanted = editsOfReply(state);
  const known = new Set([
    ...Object.keys(handed(state)?.fileEditsLeft ?? {}),
    ...Object.keys(state.guard.fileEdits),
    ...wanted,
  ]);
  const entries = [...known].slice(-toldFiles).map((file): readonly [string, number] => {
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
  state: RunState,
  policies: readonly SubagentPolicy[],
): readonly Pick<HandedLimits, 'toolCallsLeft' | 'fileEditsLeft' | 'maxEditsPerFile'>[] {
  const maxEditsPerFile = state.snapshot?.limits.maxEditsPerFile;
  const fileEditsLeft = editsLeft(state);
  return toolShares(state, policies).map((toolCallsLeft) => ({
    toolCallsLeft,
    fileEditsLeft,
    ...(maxEditsPerFile === undefined ? {} : { maxEditsPerFile }),
  }));
}
