/** Ratios, medians, bars and tables of the speed benchmark, from rows. */
import type { Measured, Row } from '../../bench/speed/cells';
import { resultLine, resultOf } from '../../bench/speed/result';
import { rotated } from '../../bench/speed/run-speed';
import { heartbeatsIn } from '../../bench/speed/server-usage';
import { ratiosOf, spreadOf, summarize } from '../../bench/speed/statistics';
import { tablesOf } from '../../bench/speed/tables';

const single = 'single 100 x 1024 B';
const concurrent = 'concurrent 100 runs x 10 x 1024 B';

function row(engine: string, round: number, cell: string, measured: Measured): Row {
  return { engine, round, cell, load: 1, measured };
}

/** Three rounds on a machine that is slower each time: the ratio of a round is what counts. */
const rows: readonly Row[] = [1, 2, 4].flatMap((slow, index) => [
  row('floor', index + 1, single, {
    wallMs: 10 * slow,
    workerCpuMs: 5 * slow,
    historyBytes: 1_000,
  }),
  row('holdfast', index + 1, single, {
    wallMs: 11 * slow + index,
    workerCpuMs: 10 * slow,
    historyBytes: 1_300,
    actions: 2.1,
  }),
  row('floor', index + 1, concurrent, { wallMs: 4 }),
  row('holdfast', index + 1, concurrent, { wallMs: 5 }),
]);

const seen = { rows, rounds: 3, serverVersion: '1.32.0', versions: {} };

test.each([
  [[3, 1, 2], { median: 2, min: 1, max: 3 }],
  [[4, 1, 2, 3], { median: 2.5, min: 1, max: 4 }],
  [[7], { median: 7, min: 7, max: 7 }],
  [[], undefined],
])('the spread of %j', (values, spread) => {
  expect(spreadOf(values)).toEqual(spread);
});

describe('ratios', () => {
  test('are taken round by round, so that a slow round does not count twice', () => {
    expect(ratiosOf(rows, single, 'holdfast', 'floor', 'wallMs')).toEqual([1.1, 1.15, 1.15]);
    const { overFloor } = summarize(rows, 'floor')[single]?.['holdfast'] ?? {};
    expect(overFloor?.wallMs).toEqual({ median: 1.15, min: 1.1, max: 1.15 });
    expect(overFloor?.workerCpuMs?.median).toBe(2);
  });

  test('leave out a round in which one of the two measured nothing', () => {
    const broken = rows.map((each) =>
      each.engine === 'floor' && each.round === 2
        ? { ...each, measured: {}, failed: 'died' }
        : each,
    );
    expect(ratiosOf(broken, single, 'holdfast', 'floor', 'wallMs')).toEqual([1.1, 1.15]);
    expect(summarize(broken, 'floor')[single]?.['floor']?.failed).toBe('died');
  });
});

describe('the result', () => {
  test('is one line that begins with the headline', () => {
    const line = JSON.parse(resultLine(resultOf(seen))) as Record<string, unknown>;
    expect(Object.keys(line).slice(0, 2)).toEqual(['ratios', 'actionsPerIteration']);
    expect(line['ratios']).toEqual({
      wallPerIteration: 1.15,
      cpuPerIteration: 2,
      concurrent100: 1.25,
      historyBytes: 1.3,
      replay: null,
    });
    expect(line['actionsPerIteration']).toBe(2.1);
  });

  test('has the other kinds of tools beside the headline', () => {
    const read = rows.map((each) =>
      each.engine === 'holdfast' ? { ...each, engine: 'holdfast-read' } : each,
    );
    const line = JSON.parse(resultLine(resultOf({ ...seen, rows: [...rows, ...read] }))) as {
      read: { ratios: { wallPerIteration: number } };
    };
    expect(line.read.ratios.wallPerIteration).toBe(1.15);
  });

  test('says of each bar whether it passes, fails, or was not measured', () => {
    const verdicts = new Map(resultOf(seen).bars.map(({ bar, passes }) => [bar, passes]));
    expect(verdicts.get('holdfast: wall time, one run')).toBe(true);
    expect(verdicts.get('holdfast: wall time, 100 runs')).toBe(false);
    expect(verdicts.get('holdfast: worker CPU')).toBe(false);
    expect(verdicts.get('holdfast: replay of 1,000')).toBeNull();
    const { passes } = resultOf({
      ...seen,
      rows: [
        ...rows,
        { ...row('holdfast', 1, 'concurrent 1000 runs x 10 x 1024 B', {}), failed: 'died' },
      ],
    }).bars.find(({ bar }) => bar === 'holdfast: GiB of 1,000 runs') ?? { passes: true };
    expect(passes).toBe(false);
  });

  test('compares with a peer at the size at which Holdfast is worst', () => {
    const peer = [
      row('ai-sdk', 1, single, { wallMs: 22, workerCpuMs: 40 }),
      row('ai-sdk', 1, concurrent, { wallMs: 4 }),
    ];
    const { bars } = resultOf({ ...seen, rows: [...rows, ...peer] });
    const of = (name: string) => bars.find(({ bar }) => bar === name);
    expect(of('holdfast: wall time over ai-sdk')).toMatchObject({ measured: 1.25, passes: false });
    expect(of('holdfast: worker CPU over ai-sdk')).toMatchObject({ measured: 0.25, passes: true });
  });

  test('tells growth of history from its start', () => {
    const sizes = [
      [10, 2_000],
      [100, 1_100],
      [1_000, 1_100],
    ] as const;
    const grown = sizes.map(([n, historyBytes]) =>
      row('holdfast', 1, `single ${n} x 1024 B`, { historyBytes }),
    );
    const bar = resultOf({ ...seen, rows: grown }).bars.find(({ bar: name }) =>
      name.startsWith('holdfast: growth'),
    );
    expect(bar).toMatchObject({ measured: 1.1, passes: true });
  });

  test('is a table of medians and ratios with their spread, and says what failed', () => {
    const died = { ...row('ai-sdk', 1, single, {}), failed: 'history too large' };
    const tables = tablesOf(resultOf({ ...seen, rows: [...rows, died] }));
    expect(tables).toContain('| holdfast | 23.0: 1.15 (1.10–1.15) | 5.00: 1.25 |');
    expect(tables).toContain('| holdfast: worker CPU | 1.5 | 2 | FAIL |');
    expect(tables).toContain(`- ai-sdk, ${single}: history too large`);
  });
});

test('each round begins with another engine', () => {
  expect([0, 1, 2, 3].map((by) => rotated(['a', 'b', 'c'], by).join(''))).toEqual([
    'abc',
    'bca',
    'cab',
    'abc',
  ]);
});

test("heartbeats are read off the server's metrics, once", () => {
  const metrics = [
    '# TYPE service_requests counter',
    'service_requests{namespace="default",operation="RecordActivityTaskHeartbeat",service_name="frontend"} 41',
    'service_requests{namespace="default",operation="RecordActivityTaskHeartbeat",service_name="history"} 41',
    'service_requests{namespace="other",operation="RecordActivityTaskHeartbeat",service_name="frontend"} 1',
    'service_requests{namespace="default",operation="RecordWorkerHeartbeat",service_name="frontend"} 27',
  ].join('\n');
  expect(heartbeatsIn(metrics)).toBe(42);
  expect(heartbeatsIn('')).toBe(0);
});
