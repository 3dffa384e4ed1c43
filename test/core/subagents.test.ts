/** Subagents in the core: what they are given, what comes back, and when the run may not roll over. */
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { RunCommand } from '../../workflows/core/run/protocol';
import type { SubagentEnd } from '../../workflows/core/run/outcome';
import { noUsage } from '../../workflows/core/budget/spend';
import {
  aCall,
  aLimits,
  aRunWithCalls,
  aTool,
  startMs,
  aToolResult,
  takeAll,
  typesOf,
} from '../support/builders';
import { transition } from '../../workflows/core/run/transition';
import { callsOf } from '../../workflows/core/tools/state';

const snapshot: Partial<AgentSnapshot> = {
  tools: [aTool('research', { subagent: { agent: 'researcher', tools: [] } })],
  budget: { nanoUsd: 1_000_000_000 },
  limits: aLimits({ maxToolCalls: 103, maxEvents: 100 }),
};

const three = ['a', 'b', 'c'].map((id) =>
  aCall(id, { name: 'research', input: { task: `part ${id}` } }),
);

type Start = Extract<RunCommand, { type: 'run-subagent' }>;

function startsOf(commands: readonly RunCommand[]): readonly Start[] {
  return commands.filter((command): command is Start => command.type === 'run-subagent');
}

function ended(
  activeMs: number,
  nanoUsd = 1_000,
): Extract<SubagentEnd, { readonly type: 'ended' }> {
  return {
    type: 'ended',
    status: 'completed',
    message: 'found',
    worked: [],
    head: 'child-head',
    consumed: {
      spend: { usage: { ...noUsage, outputTokens: 7 }, nanoUsd },
      unpricedCalls: 0,
      toolCalls: 2,
      events: 9,
      activeMs,
      guard: { toolRuns: { search: 2 }, fileEdits: { f1: 1 } },
    },
  };
}

test('the subagents of one reply share four fifths of the budget, and the limits that are left', () => {
  const [, commands] = aRunWithCalls(three, snapshot);
  const starts = startsOf(commands);
  expect(starts.map(({ runId }) => runId)).toEqual(['wf-1/t1.0', 'wf-1/t1.1', 'wf-1/t1.2']);
  for (const { request } of starts) {
    expect(request.parent?.allowance?.nanoUsd).toBeLessThanOrEqual(266_666_667);
    expect(request.parent).toMatchObject({ depth: 1, limits: { maxToolCalls: 33 } });
    expect(request.parent?.limits.maxEvents).toBeLessThanOrEqual(33);
  }
  const held = starts.map(({ request }) => request.parent?.allowance?.nanoUsd ?? 0);
  expect(held.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(800_000_000);
});

test('what they consumed is counted; side by side they take the time of the longest', () => {
  const [running] = aRunWithCalls(three, snapshot);
  const [after, commands] = takeAll(
    running,
    { type: 'subagent-ended', toolCallId: 'a', end: ended(5_000) },
    { type: 'subagent-ended', toolCallId: 'b', end: ended(8_000) },
    { type: 'subagent-ended', toolCallId: 'c', end: ended(2_000) },
  );
  expect(after.counters.toolCalls).toBe(running.counters.toolCalls + 6);
  expect(after.counters.events).toBe(running.counters.events + 27 + 3);
  expect(after.budget).toMatchObject({ spentNanoUsd: 3_000, reserved: {} });
  expect(after.guard).toMatchObject({ toolRuns: { search: 6 }, fileEdits: { f1: 3 } });
  expect(after.usage.outputTokens).toBe(running.usage.outputTokens + 21);
  // In the second after the longest had come back, its answer was brought in.
  expect(after.activeMs - running.activeMs).toBe(8_000 + 1_000);
  expect(commands.at(-1)).toMatchObject({
    type: 'run-tool',
    input: { answer: { runId: 'wf-1/t1.2', head: 'child-head' } },
  });
});

test('one that failed gives no answer, whatever it had said', () => {
  const [running] = aRunWithCalls(three, snapshot);
  const end: SubagentEnd = { ...ended(1), status: 'failed', message: 'out of money' };
  const [after, commands] = takeAll(running, { type: 'subagent-ended', toolCallId: 'a', end });
  expect(typesOf(commands)).not.toContain('run-tool');
  const call = callsOf(after).find(({ call: { toolCallId } }) => toolCallId === 'a');
  expect(call?.status).toMatchObject({ type: 'settled' });
  expect(JSON.stringify(call?.status)).toContain('out of money');
});

test('a second word of the same subagent changes nothing', () => {
  const [running] = aRunWithCalls(three, snapshot);
  const end = { type: 'subagent-ended', toolCallId: 'a', end: ended(1) } as const;
  const [once] = takeAll(running, end);
  const [twice, commands] = takeAll(once, end);
  expect(twice.budget).toEqual(once.budget);
  expect(commands).toEqual([]);
});

test('the run does not roll over while a subagent is at work', () => {
  const [running] = aRunWithCalls(three, snapshot);
  const [, commands] = transition(running, {
    type: 'message-added',
    text: 'hello',
    atMs: startMs + 60_000,
    rollOverSuggested: true,
  });
  expect(typesOf(commands)).not.toContain('roll-over');
});

test('a stop asks every subagent to land, and the last one ends the run with all that was spent', () => {
  const [running] = aRunWithCalls(three, snapshot);
  const [ending, commands] = takeAll(running, { type: 'stop-requested', reason: 'enough' });
  expect(commands).toContainEqual({
    type: 'cancel-activities',
    callIds: ['t1.0', 't1.1', 't1.2'],
  });
  const ids = ['a', 'b', 'c'];
  const [landed] = takeAll(
    ending,
    ...ids.map((toolCallId) => ({ type: 'subagent-ended', toolCallId, end: ended(1) }) as const),
  );
  // They had answered before they could be stopped: the answers are brought in.
  expect(landed.phase.type).toBe('ending');
  const [after] = takeAll(
    landed,
    ...ids.map(
      (toolCallId) => ({ type: 'tool-call-completed', toolCallId, result: aToolResult() }) as const,
    ),
  );
  expect(after.next.pendingResults).toHaveLength(3);
  expect(after.phase).toMatchObject({
    type: 'ended',
    outcome: { status: 'stopped', report: { cost: { usd: 0.000_003 }, subagents: { length: 3 } } },
  });
});
