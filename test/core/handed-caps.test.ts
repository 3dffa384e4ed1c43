/** Caps over a tree of runs: what a subagent is handed of them, how it keeps to it, and that no delegation passes a tool's cap. */
import { fileCap, toolCap } from '../../workflows/core/guard/handed-caps';
import { countToolRuns, stopBeforeTools } from '../../workflows/core/guard/call-and-edit-caps';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { ProposedToolCall } from '../../workflows/core/tools/ports';
import type { RunState } from '../../workflows/core/run/state';
import type { HandedLimits } from '../../workflows/core/limits';
import type { SubagentEnd } from '../../workflows/core/run/outcome';
import { noUsage } from '../../workflows/core/budget/spend';
import {
  aCall,
  aLimits,
  aNewRun,
  aPreparedRun,
  aRunWithCalls,
  aSnapshot,
  aTool,
  aToolReply,
  aToolResult,
  takeAll,
} from '../support/builders';
import { cases, fc } from '../support/properties';

const coder = aTool('code', { subagent: { agent: 'coder', tools: ['edit', 'look'] } });
const reader = aTool('read', { subagent: { agent: 'reader', tools: ['look'] } });

function snapshot(changes: Partial<AgentSnapshot> = {}): Partial<AgentSnapshot> {
  return {
    tools: [
      aTool('edit', { maxCalls: 8, editsFile: 'path' }),
      aTool('look', { effect: 'read', maxCalls: 3 }),
      coder,
      reader,
    ],
    ...changes,
  };
}

function edit(id: string, path: string, changes: Partial<ProposedToolCall> = {}): ProposedToolCall {
  return aCall(id, { name: 'edit', input: { path }, editedFile: path, ...changes });
}
const task = (id: string, name = 'code'): ProposedToolCall =>
  aCall(id, { name, input: { task: `part ${id}` } });

function handedBy(commands: ReturnType<typeof aRunWithCalls>[1]): readonly HandedLimits[] {
  return commands.flatMap((command) =>
    command.type === 'run-subagent' && command.request.parent !== undefined
      ? [command.request.parent.limits]
      : [],
  );
}

/** A run that was handed these limits by the one above. */
function aRunBelow(limits: Partial<HandedLimits>): RunState {
  const parent = {
    runId: 'wf-0',
    depth: 1,
    limits: {
      maxEvents: 100,
      maxToolCalls: 100,
      maxActiveMs: 1_000,
      maxSubagentDepth: 3,
      maxEditsPerFile: 4,
      toolCallsLeft: {},
      fileEditsLeft: {},
      ...limits,
    },
  };
  return takeAll(aNewRun({ parent })[0], {
    type: 'run-prepared',
    result: { snapshot: aSnapshot(snapshot()), head: 'head-0' },
  })[0];
}

function ended(guard: { toolRuns?: object; fileEdits?: object }): SubagentEnd {
  return {
    type: 'ended',
    status: 'failed',
    message: 'enough',
    worked: [],
    consumed: {
      spend: { usage: noUsage, nanoUsd: 0 },
      unpricedCalls: 0,
      toolCalls: 0,
      events: 0,
      activeMs: 0,
      guard: { toolRuns: { ...guard.toolRuns }, fileEdits: { ...guard.fileEdits } },
    },
  };
}

test('hands down what is left of each cap, divided by the subagents that have the tool', () => {
  const calls = [edit('e', 'a.ts'), task('x'), task('y', 'read'), task('z')];
  const handed = handedBy(aRunWithCalls(calls, snapshot())[1]);
  expect(handed.map(({ toolCallsLeft }) => toolCallsLeft)).toEqual([
    { edit: 4, look: 1 },
    { look: 1 },
    { edit: 3, look: 1 },
  ]);
  expect(handed[0]).toMatchObject({
    maxEditsPerFile: 4,
    fileEditsLeft: { [shortHash('a.ts')]: 3 },
  });
});

test('keeps the place of a call that waits for approval, and of a subagent that is at work', () => {
  const calls = [edit('e', 'a.ts', { approvalDigest: 'd' }), task('x')];
  const [running, commands] = aRunWithCalls(
    calls,
    snapshot({ limits: aLimits({ maxToolCalls: 9 }) }),
  );
  const [handed] = handedBy(commands);
  expect(handed).toMatchObject({
    toolCallsLeft: { edit: 7 },
    fileEditsLeft: { [shortHash('a.ts')]: 3 },
    // Nine, less the subagent's own call and the one that waits.
    maxToolCalls: 7,
  });
  const [after] = takeAll(running, {
    type: 'approval-resolved',
    approvalId: 'e',
    decision: 'approve',
  });
  expect(stopBeforeTools(after, [])).toBeUndefined();
  expect(after.guard.toolRuns).toMatchObject({ edit: 1 });
});

test('keeps the part of a subagent that a person has yet to approve', () => {
  const calls = [task('x'), { ...task('y'), approvalDigest: 'd' }];
  const limits = aLimits({ maxToolCalls: 22 });
  const [running, commands] = aRunWithCalls(calls, snapshot({ limits }));
  const [first] = handedBy(commands);
  expect(first).toMatchObject({ toolCallsLeft: { edit: 4, look: 2 }, maxToolCalls: 10 });
  const [, later] = takeAll(running, {
    type: 'approval-resolved',
    approvalId: 'y',
    decision: 'approve',
  });
  expect(handedBy(later)).toMatchObject([
    { toolCallsLeft: { edit: 4, look: 1 }, maxToolCalls: 10 },
  ]);
});

test('a subagent hands its own subagents what it was handed, less what it used, also of tools that it has not', () => {
  const above = aRunBelow({ toolCallsLeft: { edit: 5, deploy: 2 }, fileEditsLeft: { f1: 1 } });
  const withAny: RunState = {
    ...above,
    snapshot: aSnapshot({
      ...snapshot(),
      tools: [
        aTool('edit', { maxCalls: 8 }),
        aTool('any', { subagent: { agent: 'any', tools: ['edit', 'deploy'] } }),
      ],
    }),
  };
  const [, started] = takeAll(withAny, {
    type: 'model-call-completed',
    callId: 'm1',
    result: aToolReply([edit('e', 'a.ts'), aCall('x', { name: 'any', input: { task: 't' } })]),
  });
  expect(handedBy(started)).toMatchObject([
    { toolCallsLeft: { edit: 4, deploy: 2 }, fileEditsLeft: { f1: 1, [shortHash('a.ts')]: 3 } },
  ]);
});

test('a subagent ends at what the run above had left, and says so', () => {
  const below = aRunBelow({
    toolCallsLeft: { edit: 2 },
    fileEditsLeft: { [shortHash('a.ts')]: 1 },
  });
  expect(toolCap(below, 'edit')).toEqual({ most: 2, isHanded: true });
  expect(toolCap(below, 'look')).toEqual({ most: 3, isHanded: false });
  expect(fileCap(below, shortHash('b.ts'))).toEqual({ most: 4, isHanded: false });
  expect(stopBeforeTools(below, [edit('1', 'a.ts'), edit('2', 'b.ts')])).toBeUndefined();
  expect(stopBeforeTools(below, [edit('1', 'a.ts'), edit('2', 'a.ts')])).toMatchObject({
    reason: 'guard_file_edits',
  });
  const used = countToolRuns(below, [edit('1', 'a.ts'), edit('2', 'b.ts')]);
  expect(stopBeforeTools(used, [edit('3', 'c.ts')])).toMatchObject({
    reason: 'guard_tool_cap',
    message: expect.stringContaining(
      'reached maximum of 2 edit invocations, all that the parent run had left.',
    ) as string,
  });
});

interface Round {
  readonly own: number;
  readonly waits: number;
  /** What part of its share each subagent uses up. */
  readonly greed: readonly number[];
}

const round: fc.Arbitrary<Round> = fc.record({
  own: fc.nat(2),
  waits: fc.nat(1),
  greed: fc.array(fc.constantFrom(0, 0.5, 1), { minLength: 0, maxLength: 4 }),
});

/** Edits that a round makes in the whole tree, and the state after it; undefined where the guard ended the run. */
function play(state: RunState, turn: number, { own, waits, greed }: Round) {
  if (state.phase.type !== 'calling-model') return undefined;
  const name = (kind: string, index: number): string => `${kind}${turn}-${index}`;
  const calls = [
    ...greed.map((_share, index) => task(name('s', index))),
    ...Array.from({ length: own }, (_, index) => edit(name('e', index), name('f', index))),
    ...Array.from({ length: waits }, (_, index) =>
      edit(name('w', index), name('g', index), { approvalDigest: 'd' }),
    ),
  ];
  if (calls.length === 0) return { state, edits: 0 };
  const [taken, commands] = takeAll(state, {
    type: 'model-call-completed',
    callId: state.phase.callId,
    result: aToolReply(calls),
  });
  let current = taken;
  if (current.phase.type === 'ended') return undefined;
  let edits = own + waits;
  greed.forEach((share, index) => {
    const left = handedBy(commands)[index]?.toolCallsLeft['edit'] ?? 0;
    const used = Math.ceil(left * share);
    edits += used;
    [current] = takeAll(current, {
      type: 'subagent-ended',
      toolCallId: name('s', index),
      end: ended({ toolRuns: { edit: used } }),
    });
  });
  for (const call of calls.slice(greed.length)) {
    const { toolCallId } = call;
    if (call.approvalDigest !== undefined)
      [current] = takeAll(current, {
        type: 'approval-resolved',
        approvalId: toolCallId,
        decision: 'approve',
      });
    const result = aToolResult({ fingerprint: toolCallId, preview: `wrote ${toolCallId}` });
    [current] = takeAll(current, { type: 'tool-call-completed', toolCallId, result });
  }
  return { state: current, edits };
}

test('no delegation passes the cap of a tool, however greedy the subagents are', () => {
  fc.assert(
    fc.property(fc.array(round, { maxLength: 6 }), (rounds) => {
      let state = aPreparedRun(snapshot());
      let edits = 0;
      for (const [turn, each] of rounds.entries()) {
        const played = play(state, turn, each);
        if (played === undefined) break;
        state = played.state;
        edits += played.edits;
        expect(edits).toBeLessThanOrEqual(8);
      }
    }),
    cases(200),
  );
});
