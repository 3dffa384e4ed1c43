/** Faults to plant in a copy of the core: the explorer is worth something only if it finds them. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coreDirectory } from './core';

/** A fault: one fragment of a compiled file is replaced by another. */
export interface Mutant {
  /** What is wrong with the core then. */
  readonly about: string;
  /** The agent that shows it. */
  readonly agent: string;
  /** Under `workflows/core`, without `.js`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** All faults that are planted. */
export const mutants: readonly Mutant[] = [
  {
    about: 'a call that needs an approval runs without one',
    agent: 'par',
    file: 'tools/admission',
    from: "return { call, status: { type: 'awaiting-approval' } };",
    to: "return { call, status: { type: 'ready' } };",
  },
  {
    about: 'a rejected call runs',
    agent: 'par',
    file: 'people/decisions',
    from: "if (decision === 'approve') {",
    to: 'if (decision) {',
  },
  {
    about: 'an edited call runs as the model wrote it',
    agent: 'par',
    file: 'people/edit-approval',
    from: '...(change === undefined ? call : { toolCallId, name, ...change }),',
    to: '...call,',
  },
  {
    about: 'a paused call counts as one that never started',
    agent: 'par',
    file: 'tools/state',
    from: "case 'delegated':\n        case 'paused':\n            return true;",
    to: "case 'delegated':\n            return true;\n        case 'paused':\n            return false;",
  },
  {
    about: 'results wait in the wrong order',
    agent: 'par',
    file: 'tools/state',
    from: 'pendingResults: settled.map(({ pending }) => pending)',
    to: 'pendingResults: settled.map(({ pending }) => pending).toReversed()',
  },
  {
    about: 'the results of an interrupted reply are dropped',
    agent: 'par',
    file: 'run/ending',
    from: 'didNotWork: [...state.didNotWork, ...lines] };',
    to: 'didNotWork: [...state.didNotWork, ...lines], next: state.next };',
  },
  {
    about: 'a stop does not ask what is in flight to stop',
    agent: 'chain',
    file: 'run/ending',
    from: 'return callIds.length === 0',
    to: 'return callIds.length >= 0',
  },
  {
    about: 'a stop leaves the timers of waiting calls',
    agent: 'rejecting',
    file: 'tools/calls',
    from: '...(0, move_1.cancelTimers)(calls.flatMap(decision_wait_1.timersOfCall)), ',
    to: '',
  },
  {
    about: 'a wish to take over is not reported',
    agent: 'chain',
    file: 'people/messages',
    from: 'const wish = escalation === undefined ? []',
    to: 'const wish = escalation ? []',
  },
  {
    about: 'a message is dropped by a failed call',
    agent: 'chain',
    file: 'people/messages',
    from: 'const waiting = [...inbox.map(attachments_1.textOf), ...wish];',
    to: 'const waiting = [...wish];',
  },
  {
    about: 'what was held for a call stays held',
    agent: 'budget',
    file: 'budget/budget',
    from: 'const { [callId]: _released, ...reserved } = state.budget.reserved;',
    to: 'const reserved = state.budget.reserved;',
  },
  {
    about: 'what is held may be spent again',
    agent: 'tight-subagents',
    file: 'budget/budget',
    from: 'const held = Object.values(state.budget.reserved);',
    to: 'const held = [];',
  },
  {
    about: 'a failed call costs nothing',
    agent: 'chain',
    file: 'budget/budget',
    from: ': charge(state, callId, failure.spend ?? spend_1.noSpend);',
    to: ': charge(state, callId, spend_1.noSpend);',
  },
  {
    about: 'one tool call more than the limit',
    agent: 'tree',
    file: 'guard/hard-limits',
    from: 'state.counters.toolCalls + callCount <= maxToolCalls',
    to: 'state.counters.toolCalls + callCount <= maxToolCalls + 1',
  },
  {
    about: 'edits of a file are not counted',
    agent: 'tree',
    file: 'guard/call-and-edit-caps',
    from: "?? 0) + wanted > cap.most)\n            return (0, hard_limits_1.forcedStop)(state, 'guard_file_edits'",
    to: "?? 0) + wanted > cap.most + 1)\n            return (0, hard_limits_1.forcedStop)(state, 'guard_file_edits'",
  },
  {
    about: 'an id of a timer is used again',
    agent: 'chain',
    file: 'run/waiting',
    from: 'const timers = state.counters.timers + 1;',
    to: 'const timers = 1;',
  },
  {
    about: 'a new segment does not start the timers of waiting calls',
    agent: 'rejecting',
    file: 'people/decision-wait',
    from: "return 'expiry' in status ? [expiryTimer(progress, status.expiry, atMs)] : [];",
    to: 'return [];',
  },
  {
    about: 'a run rolls over while its subagent works',
    agent: 'subagents',
    file: 'run/transition',
    from: "if ((0, state_4.callsOf)(state).some(({ status }) => status.type === 'delegated'))\n        return decided;",
    to: '',
  },
  {
    about: 'a new segment forgets what people said',
    agent: 'chain',
    file: 'run/restore',
    from: 'return { ...state_1.initialSlices, ...value };',
    to: 'return { ...state_1.initialSlices, ...value, inbox: [] };',
  },
  {
    about: 'a new segment counts errors from the beginning',
    agent: 'learning',
    file: 'run/restore',
    from: 'return { ...state_1.initialSlices, ...value };',
    to: 'return { ...state_1.initialSlices, ...value, breaker: state_1.initialSlices.breaker };',
  },
  {
    about: 'a notification is not called back when its wait is over',
    agent: 'rejecting',
    file: 'notifications/notifications',
    from: 'const { state, commands } = cancelMoot(decided.state, new Set());',
    to: 'const { state, commands } = { state: decided.state, commands: [] };',
  },
  {
    about: 'an answer is checked after it was dropped',
    agent: 'guardrails',
    file: 'run/waiting',
    from: "{ ...state, phase: { type: 'ready' } }, waitEnd(wait)",
    to: 'state, waitEnd(wait)',
  },
  {
    about: 'time beside a subagent counts twice',
    agent: 'subagents',
    file: 'subagents/return',
    from: 'sinceActiveMs + ownMs)',
    to: 'after.activeMs + ownMs)',
  },
  {
    about: 'a call of unknown outcome is not reported',
    agent: 'unknown',
    file: 'tools/calls',
    from: 'if (!(0, state_2.isUnsettled)(progress))',
    to: 'if ((0, state_2.isUnsettled)(progress))',
  },
];

/**
 * A copy of the core with the fault, as long as `use` runs.
 *
 * Errors: the fragment must occur exactly once, so that a change of the core cannot make a mutant idle.
 */
export function withMutant<Result>(mutant: Mutant, use: (directory: string) => Result): Result {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  try {
    const copy = join(directory, 'core');
    cpSync(coreDirectory, copy, { recursive: true });
    const file = join(copy, `${mutant.file}.js`);
    const code = readFileSync(file, 'utf8');
    const places = code.split(mutant.from).length - 1;
    if (places !== 1)
      throw new Error(
        `The mutant "${mutant.about}" does not fit ${mutant.file}.js: its fragment occurs ${places} times, not once. Change it in mutants.ts.`,
      );
    writeFileSync(
      file,
      code.replace(mutant.from, () => mutant.to),
    );
    return use(copy);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
