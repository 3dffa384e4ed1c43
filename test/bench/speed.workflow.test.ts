/** The speed benchmark in small, end to end: real engines in processes of their own, on a server of its own. */
import path from 'node:path';
import { speedBench } from '../../bench/speed/command-line';
import type { SpeedResult } from '../../bench/speed/result';

const execArgv = ['--require', path.join(__dirname, '..', 'support', 'run-typescript.cjs')];

const iterations = 3;

test('measures each engine at each cell, and prints one line of JSON last', async () => {
  const [printed, rows]: [string[], string[]] = [[], []];
  const code = await speedBench(
    [
      ...['--json', '--engines', 'floor-local,holdfast', '--rounds', '1'],
      ...['--iterations', String(iterations), '--sizes', '64', '--concurrent', '2'],
    ],
    { result: (text) => printed.push(text), people: (text) => rows.push(text) },
    { execArgv },
  );
  expect(code).toBe(0);
  const result = JSON.parse(printed.at(-1) ?? '') as Pick<SpeedResult, 'summary' | 'versions'>;
  const { summary } = result;
  const engines = ['floor', 'holdfast', 'floor-local'];
  const failed = Object.entries(summary).flatMap(([cell, byEngine]) =>
    Object.entries(byEngine).flatMap(([engine, { failed: why }]) =>
      why === undefined ? [] : [`${engine}, ${cell}: ${why}`],
    ),
  );
  expect(failed).toEqual([]);

  const single = summary[`single ${iterations} x 64 B`] ?? {};
  const median = (engine: string, name: 'actions' | 'events' | 'historyBytes' | 'workerCpuMs') =>
    single[engine]?.measured[name]?.median ?? NaN;
  for (const engine of engines) {
    expect(median(engine, 'historyBytes')).toBeGreaterThan(0);
    expect(median(engine, 'workerCpuMs')).toBeGreaterThan(0);
    expect(single[engine]?.overFloor.wallMs?.median).toBeGreaterThan(0);
    expect(Object.keys(result.versions[engine] ?? {})).toContain('@temporalio/worker');
  }
  // A start, four model calls, and three tools: activities, or markers of three workflow tasks.
  expect(median('floor', 'actions')).toBeCloseTo(8 / iterations, 2);
  expect(median('floor-local', 'actions')).toBeCloseTo(8 / iterations, 2);
  expect(median('holdfast', 'actions')).toBeGreaterThanOrEqual(8 / iterations - 0.001);
  // Six events for an activity with its workflow task; the start and the end are five.
  expect(median('floor', 'events')).toBeCloseTo((7 * 6 + 5) / iterations, 2);

  const others = ['start', 'concurrent 2 runs x 10 x 64 B', `replay ${iterations} x 64 B`];
  for (const cell of others)
    expect(Object.keys(summary[cell] ?? {}).sort()).toEqual([...engines].sort());
  expect(Object.keys(summary['memory'] ?? {}).sort()).toEqual(
    engines.filter((engine) => engine !== 'floor-local').sort(),
  );
  expect(rows).toHaveLength(engines.length * 4 + engines.length - 1);
});
