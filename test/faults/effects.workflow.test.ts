/** The scorecard's effects section in small: kills at points of every kind leave no effect doubled, lost or untold. */
import path from 'node:path';
import { judgeCall } from '../../bench/scorecard/effects/judge-call';
import type { PlannedCall } from '../../bench/scorecard/effects/kill-plan';
import { planKills } from '../../bench/scorecard/effects/kill-plan';
import { scoreEffects } from '../../bench/scorecard/effects/score-effects';

const execArgv = ['--require', path.join(__dirname, '..', 'support', 'run-typescript.cjs')];

test('workers killed in the middle of tool calls of each effect leave nothing doubled, lost or untold', async () => {
  const { summary, rows } = await scoreEffects({
    kills: 24,
    runsAtOnce: 6,
    heartbeatTimeoutMs: 3_000,
    execArgv,
  });
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(summary).toEqual({ kills: 24, duplicateEffects: 0, lostKeyedEffects: 0, undecided: 0 });
});

test('the plan has 500 kills, a quarter for each effect, at every point', () => {
  const calls = planKills(500);
  const kills = (tools: readonly string[]): number =>
    calls.filter(({ tool }) => tools.includes(tool)).flatMap(({ points }) => points).length;
  expect([kills(['read']), kills(['keyed']), kills(['reconcilable'])]).toEqual([125, 125, 125]);
  expect(kills(['irreversible', 'ask'])).toBe(125);
  expect(new Set(calls.flatMap(({ points }) => points)).size).toBe(10);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
});

describe('a call is judged wrong', () => {
  const call = (tool: PlannedCall['tool'], point: PlannedCall['points'][number]): PlannedCall => ({
    id: 'r:x',
    runId: 'r',
    tool,
    points: [point],
  });
  const entry = (key: string) => ({ callId: 'r:x', key });

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

  test('that was not killed where it should have been', () => {
    const paid = call('keyed', 'applied');
    expect(judgeCall(paid, { type: 'done' }, [entry('1')], [])).toMatchObject({
      wrong: expect.stringContaining('killed at no point') as string,
    });
  });
});
