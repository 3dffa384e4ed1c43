/** Nothing that started vanishes at an end: each way to end a run, with each kind of work that is unsettled then. */
import type { RunReport } from '../../../workflows/core/run/outcome';
import type { RunState } from '../../../workflows/core/run/state';
import type { Transition } from '../../../workflows/core/run/transition';
import type { PendingResult } from '../../../workflows/core/tools/ports';
import type { SubagentEnd } from '../../../workflows/core/run/outcome';
import {
  endOfSubagent,
  outcomeForParent,
  subagentError,
} from '../../../workflows/core/subagents/outcome';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { UnstampedEvent } from '../../support/builders';
import {
  aCall,
  aLimits,
  aMeasure,
  aPreparedRun,
  aRunWithCalls,
  aTool,
  aToolResult,
  anAgentError,
  anInfraError,
  entriesOf,
  takeAll,
  typesOf,
} from '../../support/builders';

const tools = [
  aTool('search'),
  aTool('pay', { effect: 'irreversible', onUnknown: 'ask-person' }),
  aTool('research', { subagent: { agent: 'researcher', tools: [] } }),
];

const stop = { type: 'stop-requested', reason: 'enough' } as const;
const failed = (toolCallId: string, code: 'tool_infrastructure' | 'store_unavailable') =>
  ({ type: 'tool-call-failed', toolCallId, failure: anInfraError(code) }) as const;
const lost = (toolCallId: string) =>
  ({ type: 'tool-call-failed', toolCallId, failure: anInfraError('worker_lost') }) as const;
const done = (toolCallId: string, result = `blob-${toolCallId}`) =>
  ({ type: 'tool-call-completed', toolCallId, result: aToolResult({ result }) }) as const;
const unknown = (toolCallId: string) =>
  ({
    type: 'tool-call-completed',
    toolCallId,
    result: aToolResult({
      result: `evidence-${toolCallId}`,
      error: anAgentError({ code: 'outcome_unknown', message: 'the worker died' }),
      isOutcomeUnknown: true,
    }),
  }) as const;

function reportOf(state: RunState): RunReport {
  if (state.phase.type !== 'ended') throw new Error(`it has not ended: ${state.phase.type}`);
  return state.phase.outcome.report;
}

function resultOf(state: RunState, toolCallId: string): PendingResult | undefined {
  return state.next.pendingResults.find((pending) => pending.toolCallId === toolCallId);
}

/** Takes events one after the other, with the commands of all. */
function play(run: RunState, events: readonly UnstampedEvent[]): Transition {
  return events.reduce<Transition>(
    ([state, commands], event) => {
      const [after, more] = takeAll(state, event);
      return [after, [...commands, ...more]];
    },
    [run, []],
  );
}

const cancel = { type: 'cancel-requested', reason: 'off' } as const;
const broken = failed('b', 'tool_infrastructure');

/** The ways to end a run while the calls `b` and `c` run. */
const endings: readonly (readonly [string, (run: RunState) => Transition])[] = [
  ['a sibling that breaks', (run) => play(run, [broken, done('c')])],
  ['two siblings that break', (run) => play(run, [broken, failed('c', 'store_unavailable')])],
  ['a stop', (run) => play(run, [stop, lost('b'), done('c')])],
  ['a cancel', (run) => play(run, [cancel, lost('c'), lost('b')])],
  ['a stop, then a cancel', (run) => play(run, [stop, cancel, done('c'), lost('b')])],
  ['a broken sibling, then a stop', (run) => play(run, [broken, stop, lost('c')])],
  [
    'the limit of active time',
    (run) => {
      const timerId = run.guard.activeTimer?.timerId ?? '';
      return play(run, [{ type: 'timer-fired', timerId }, lost('b'), lost('c')]);
    },
  ],
];

describe.each(endings)('at %s', (_how, end) => {
  const twoCalls = (name: string): RunState =>
    aRunWithCalls([aCall('a', { name, label: 'rent' }), aCall('b'), aCall('c')], {
      tools,
      limits: aLimits({ maxActiveMs: 2_500 }),
    })[0];
  const unsettled: readonly (readonly [string, UnstampedEvent])[] = [
    ['of unknown outcome, about which a person is asked,', unknown('a')],
    ['that is paused', failed('a', 'store_unavailable')],
  ];

  test.each(unsettled)('a call %s is reported and never said not to have run', (_what, event) => {
    const [after, commands] = end(takeAll(twoCalls('pay'), event)[0]);
    const { didNotWork, toolCallsFailed } = reportOf(after);
    expect(didNotWork.filter((line) => /^pay rent: .*not known/.test(line))).toHaveLength(1);
    expect(toolCallsFailed).toBeGreaterThanOrEqual(2);
    const result = resultOf(after, 'a');
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toMatch(/evidence-a|not known/);
    expect(JSON.stringify(result)).not.toMatch(/not run|try again/);
    expect(after.next.pendingResults.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b', 'c']);
    expect(typesOf(commands).filter((type) => type === 'end-run')).toHaveLength(1);
  });

  test('a paused call that only reads may be made again', () => {
    const [after] = end(takeAll(twoCalls('search'), failed('a', 'store_unavailable'))[0]);
    expect(resultOf(after, 'a')?.text).toContain('Call it again');
    expect(reportOf(after).didNotWork.join()).not.toContain('not known');
  });

  test('a call that waits for approval is said not to have run', () => {
    const calls = [aCall('a', { name: 'pay', approvalDigest: 'd' }), aCall('b'), aCall('c')];
    const limits = aLimits({ maxActiveMs: 1_500 });
    const [after] = end(aRunWithCalls(calls, { tools, limits })[0]);
    expect(resultOf(after, 'a')?.text).toContain('was not run');
    expect(reportOf(after).didNotWork.join()).not.toContain('pay');
  });

  test('every wait that the timeline shows ends in it', () => {
    const calls = [
      aCall('a', { name: 'pay' }),
      aCall('b'),
      aCall('c'),
      aCall('d', { approvalDigest: 'd' }),
      aCall('e', { name: 'ask_user', input: { question: 'which?' } }),
      aCall('f', { name: 'pay' }),
    ];
    const limits = aLimits({ maxActiveMs: 3_500 });
    const [first, began] = aRunWithCalls(calls, { tools, limits });
    const [run, more] = takeAll(first, unknown('a'));
    const [paused, last] = takeAll(run, failed('f', 'store_unavailable'));
    const entries = entriesOf([...began, ...more, ...last, ...end(paused)[1]]);
    const started = entries.flatMap((e) => (e.type === 'WaitStartedEvent' ? [e.waitingFor] : []));
    const over = entries.flatMap((e) => (e.type === 'WaitEndedEvent' ? [e.waitedFor] : []));
    expect(started.length).toBeGreaterThanOrEqual(3);
    expect(over.sort()).toEqual([...new Set(started)].sort());
  });
});

test('a broken call that changes the world is of unknown outcome, and one that reads is not', () => {
  const [after] = takeAll(
    aRunWithCalls([aCall('a', { name: 'pay' }), aCall('b')], { tools })[0],
    failed('a', 'tool_infrastructure'),
    failed('b', 'tool_infrastructure'),
  );
  expect(resultOf(after, 'a')?.text).toContain('outcome_unknown');
  expect(resultOf(after, 'b')?.text).toContain('tool_execution_failed');
  expect(reportOf(after).didNotWork.filter((line) => line.includes('not known'))).toHaveLength(1);
});

test('all of many unsettled calls are reported', () => {
  const calls = Array.from({ length: 40 }, (_, index) =>
    aCall(`p${index}`, { name: 'pay', label: `bill ${index}` }),
  );
  const [after] = takeAll(
    aRunWithCalls(calls, { tools })[0],
    ...calls.map(({ toolCallId }) => failed(toolCallId, 'store_unavailable')),
    stop,
  );
  const { didNotWork } = reportOf(after);
  expect(didNotWork.filter((line) => line.includes('not known'))).toHaveLength(40);
  expect(after.next.pendingResults).toHaveLength(40);
});

test('results that come while the run ends are kept in the order of the calls', () => {
  const calls = ['a', 'b', 'c', 'd'].map((id) =>
    aCall(id, id === 'b' ? { approvalDigest: 'd' } : {}),
  );
  const [after] = takeAll(
    aRunWithCalls(calls, { tools })[0],
    { type: 'approval-resolved', approvalId: 'b', decision: 'reject' },
    stop,
    done('d'),
    done('a'),
    done('c'),
  );
  expect(after.next.pendingResults.map(({ toolCallId }) => toolCallId)).toEqual([
    'a',
    'b',
    'c',
    'd',
  ]);
  expect(reportOf(after).toolCallsSucceeded).toBe(3);
});

describe('a subagent that completes in a race with the end', () => {
  const completed: SubagentEnd = {
    type: 'ended',
    status: 'completed',
    message: 'the answer',
    worked: [],
    head: 'sub-head',
    consumed: {
      spend: { usage: noUsage, nanoUsd: 1_000 },
      unpricedCalls: 0,
      toolCalls: 0,
      events: 1,
      activeMs: 500,
      guard: { toolRuns: {}, fileEdits: {} },
    },
  };
  const ended = { type: 'subagent-ended', toolCallId: 'a', end: completed } as const;
  const run = (): RunState => aRunWithCalls([aCall('a', { name: 'research' })], { tools })[0];

  test('has its answer brought in, for a run that continues', () => {
    const [landed, commands] = takeAll(takeAll(run(), stop)[0], ended);
    expect(commands.at(-1)).toMatchObject({
      type: 'run-tool',
      input: { answer: { head: 'sub-head' } },
    });
    const [after] = takeAll(landed, done('a', 'the-answer'));
    expect(resultOf(after, 'a')).toMatchObject({ result: 'the-answer', isError: false });
    expect(reportOf(after)).toMatchObject({ subagents: [{ status: 'completed' }] });
  });

  test.each([
    ['the store is down', failed('a', 'store_unavailable')],
    ['the activity breaks', failed('a', 'tool_infrastructure')],
  ])('is named with its run where %s', (_what, event) => {
    const [after] = takeAll(run(), stop, ended, event);
    expect(resultOf(after, 'a')?.text).toContain('had answered in run wf-1/t1.0');
    expect(reportOf(after).didNotWork.join()).toContain('had answered in run wf-1/t1.0');
  });

  test('is named too where its answer was paused', () => {
    const [after] = takeAll(run(), ended, failed('a', 'store_unavailable'), stop);
    expect(resultOf(after, 'a')?.text).toContain('had answered in run wf-1/t1.0');
  });
});

test('active time beside a subagent counts once, also when the run ends meanwhile', () => {
  const calls = [aCall('a', { name: 'research' }), aCall('b')];
  const back: SubagentEnd = {
    type: 'ended',
    status: 'failed',
    message: 'no',
    worked: [],
    consumed: {
      spend: { usage: noUsage, nanoUsd: 0 },
      unpricedCalls: 0,
      toolCalls: 0,
      events: 1,
      activeMs: 3_000,
      guard: { toolRuns: {}, fileEdits: {} },
    },
  };
  const [run] = aRunWithCalls(calls, { tools });
  const said = { type: 'message-added', text: 'hello' } as const;
  const ended = { type: 'subagent-ended', toolCallId: 'a', end: back } as const;
  const [beside] = takeAll(run, said, said, ended);
  expect(beside.activeMs - run.activeMs).toBe(3_000);
  const [ending] = takeAll(run, said, stop, ended);
  expect(ending.activeMs - run.activeMs).toBe(3_000);
});

test('the timer of active time starts again when a subagent used some of what is left', () => {
  const calls = [aCall('a', { name: 'research' }), aCall('b', { approvalDigest: 'd' })];
  const [run] = aRunWithCalls(calls, { tools, limits: aLimits({ maxActiveMs: 100_000 }) });
  const [both] = takeAll(run, { type: 'approval-resolved', approvalId: 'b', decision: 'approve' });
  const consumed = {
    spend: { usage: noUsage, nanoUsd: 0 },
    unpricedCalls: 0,
    toolCalls: 0,
    events: 1,
    activeMs: 60_000,
    guard: { toolRuns: {}, fileEdits: {} },
  };
  const end: SubagentEnd = { type: 'ended', status: 'failed', message: 'no', worked: [], consumed };
  const [after, commands] = takeAll(both, { type: 'subagent-ended', toolCallId: 'a', end });
  expect(commands).toContainEqual({
    type: 'cancel-timer',
    timerId: both.guard.activeTimer?.timerId,
  });
  const timer = commands.find(({ type }) => type === 'start-timer');
  expect(timer).toMatchObject({ delayMs: 100_000 - after.activeMs });
});

test('nothing stays reserved at an end: a request that was held back while the run ended cost nothing', () => {
  const run = aPreparedRun({ tools, budget: { nanoUsd: 1_000_000 } });
  const heldBack = { headBefore: 'head-1', heldBack: aMeasure({ tokens: 195_000 }) };
  const [after] = takeAll(run, stop, {
    type: 'model-call-held-back',
    callId: 'm1',
    result: heldBack,
  });
  expect(reportOf(after).cost.usd).toBe(0);
  expect(after.budget.reserved).toEqual({});
});

test('a notification is called back before the run ends', () => {
  const notifiers = { names: ['log'], on: ['approval'] as const };
  const [run] = aRunWithCalls([aCall('a', { approvalDigest: 'd' })], { tools, notifiers });
  expect(run.notifications.inFlight).toHaveLength(1);
  const [after, commands] = takeAll(run, stop);
  expect(commands.at(-1)).toMatchObject({ type: 'end-run' });
  expect(commands).toContainEqual({ type: 'cancel-activities', callIds: ['n1'] });
  expect(after.notifications.inFlight).toEqual([]);
});

test("a person's edit does not pass the cap on edits of a file", () => {
  const calls = [
    aCall('a', { name: 'search', editedFile: 'f1' }),
    aCall('b', { name: 'pay', editedFile: 'f2', approvalDigest: 'd' }),
  ];
  const [run] = aRunWithCalls(calls, { tools, limits: aLimits({ maxEditsPerFile: 1 }) });
  const edit = (editedFile: string): readonly UnstampedEvent[] => [
    {
      type: 'approval-resolved',
      approvalId: 'b',
      decision: 'approve',
      input: { file: editedFile },
    },
    {
      type: 'edit-checked',
      callId: 'e1.1',
      result: { type: 'accepted', call: { fingerprint: 'f', editNotice: 'changed', editedFile } },
    },
  ];
  const [refused, commands] = takeAll(takeAll(run, done('a'))[0], ...edit('f1'));
  expect(typesOf(commands)).toContain('EditRefusedEvent');
  expect(typesOf(commands)).not.toContain('run-tool');
  expect(refused.approvals.refusedEdits[0]?.problems).toContain('edits of the file f1');
  expect(typesOf(takeAll(run, ...edit('f1'))[1])).toContain('EditRefusedEvent');
  expect(typesOf(takeAll(run, ...edit('f3'))[1])).toContain('run-tool');
});

test('what a subagent left unsettled is known to its parent run, however much else went wrong', () => {
  const calls = Array.from({ length: 9 }, (_, index) =>
    aCall(`p${index}`, { name: index < 3 ? 'pay' : 'search', label: `bill ${index}` }),
  );
  const [after] = takeAll(
    aRunWithCalls(calls, { tools })[0],
    ...calls.map(({ toolCallId }) => failed(toolCallId, 'store_unavailable')),
    stop,
  );
  if (after.phase.type !== 'ended') throw new Error('it has not ended');
  const end = endOfSubagent(outcomeForParent(after.phase.outcome));
  if (end.type !== 'ended' || end.status === 'completed') throw new Error('it gave an answer');
  expect(end.unsettled).toHaveLength(3);
  const error = subagentError('research', end);
  expect(error.message).toContain('3 not settled: pay bill 0: stopped with the run');
  expect(error.hint).toContain('Find out what took effect');
  expect(error.message.length).toBeLessThanOrEqual(500);
});
