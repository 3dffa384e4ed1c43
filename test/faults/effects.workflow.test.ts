/** The scorecard's effects section in small: kills and stalls at points of every kind leave no effect doubled, lost or untold. */
import path from 'node:path';
import type { CallVerdict } from '../../bench/scorecard/effects/judge-call';
import { judgeCall } from '../../bench/scorecard/effects/judge-call';
import type { PlannedCall } from '../../bench/scorecard/effects/kill-plan';
import { planKills, planStalls } from '../../bench/scorecard/effects/kill-plan';
import { scoreEffects } from '../../bench/scorecard/effects/score-effects';

const execArgv = ['--require', path.join(__dirname, '..', 'support', 'run-typescript.cjs')];

test('workers killed and stalled in the middle of tool calls of each effect leave nothing doubled, lost or untold', async () => {
  const { summary, rows } = await scoreEffects({
    kills: 12,
    runsAtOnce: 6,
    stalls: 6,
    slow: 2,
    forks: 2,
    continued: 5,
    lanes: 2,
    heartbeatTimeoutMs: 3_000,
    execArgv,
  });
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(summary).toEqual({
    faults: 72,
    kills: 12,
    stalls: 24,
    slowStores: 8,
    forks: 8,
    continuedRuns: 20,
    separateStalls: 6,
    duplicateEffects: 0,
    lostKeyedEffects: 0,
    undecided: 0,
    // Of the one stall inside a tool, the call whose service honors no key.
    inNamedWindow: 1,
  });
});

test('the plan has 60 separate stalls, ten at every point, half of them stops, and ten slow stores', () => {
  const planned = planStalls(60, 10);
  const of = (how: string): readonly string[] =>
    planned.filter((stall) => stall.how === how).map(({ point }) => point);
  for (const how of ['stop', 'block'])
    for (const point of [
      'before-intent',
      'after-intent',
      'executing',
      'started',
      'applied',
      'before-outcome',
    ])
      expect(of(how).filter((each) => each === point)).toHaveLength(5);
  expect(of('slow')).toHaveLength(10);
  expect(planned.flatMap(({ calls }) => calls)).toHaveLength(280);
});

test('the plan has 500 kills, a quarter for each effect, at every point', () => {
  const calls = planKills(500);
  const kills = (tools: readonly string[]): number =>
    calls.filter(({ tool }) => tools.includes(tool)).flatMap(({ points }) => points).length;
  expect([kills(['read']), kills(['keyed']), kills(['reconcilable'])]).toEqual([125, 125, 125]);
  expect(kills(['irreversible', 'ask'])).toBe(125);
  expect(new Set(calls.flatMap(({ points }) => points)).size).toBe(11);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
});

describe('a call is judged wrong', () => {
  const call = (tool: PlannedCall['tool'], point: PlannedCall['points'][number]): PlannedCall => ({
    id: 'r:x',
    runId: 'r',
    tool,
    points: [point],
    fault: 'kill',
  });
  const entry = (key: string) => ({ callId: 'r:x', key, atMs: 0 });

  test('that was applied twice', () => {
    const paid = call('keyed', 'applied');
    const verdict = judgeCall(paid, { type: 'done' }, [entry('1'), entry('2')], paid.points);
    expect(verdict).toMatchObject({ isDuplicate: true, wrong: expect.any(String) as string });
  });

  test('that is told as done and never happened', () => {
    const paid = call('reconcilable', 'request-dropped');
    const verdict = judgeCall(paid, { type: 'done' }, [], paid.points);
    expect(verdict).toMatchObject({ isLost: true, wrong: expect.any(String) as string });
  });

  test('of which nothing is told', () => {
    const paid = call('irreversible', 'applied');
    const nothing = { type: 'nothing', why: 'the run has not ended' } as const;
    expect(judgeCall(paid, nothing, [entry('1')], paid.points)).toMatchObject({
      isUndecided: true,
    });
  });

  test.each([
    [
      'that woke up and was started after another attempt had answered',
      'irreversible',
      'executing',
    ],
    ['that nobody had started and was not run', 'irreversible', 'after-intent'],
  ] as const)('%s', (_which, tool, point) => {
    const paid: PlannedCall = { ...call(tool, point), fault: 'stall' };
    const ledger = point === 'executing' ? [entry('1')] : [];
    expect(judgeCall(paid, { type: 'unknown' }, ledger, paid.points)).toMatchObject({
      wrong: expect.stringContaining('reported unknown') as string,
    });
  });

  test('that was repeated after a stall, unless that was in the one named window', () => {
    const stalled = (point: PlannedCall['points'][number]): PlannedCall => ({
      ...call('reconcilable', point),
      fault: 'stall',
    });
    const twice = [entry('1'), entry('1')];
    const judged = (point: PlannedCall['points'][number]): CallVerdict =>
      judgeCall(stalled(point), { type: 'done' }, twice, [point]);
    expect(judged('executing')).toMatchObject({ isDuplicate: true, isInWindow: false });
    const inWindow = judged('started');
    expect(inWindow).toMatchObject({ isDuplicate: false, isInWindow: true });
    expect(inWindow.wrong).toBeUndefined();
  });

  test('that was not killed where it should have been', () => {
    const paid = call('keyed', 'applied');
    expect(judgeCall(paid, { type: 'done' }, [entry('1')], [])).toMatchObject({
      wrong: expect.stringContaining('kill at no point') as string,
    });
  });
});
