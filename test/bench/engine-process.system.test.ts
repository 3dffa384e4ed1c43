/** A real engine process that dies, hangs or fails becomes a result that says so. */
import path from 'node:path';
import type { EngineProcess } from '../../bench/speed/engine-process';
import { startEngine } from '../../bench/speed/engine-process';

const execArgv = ['--require', path.join(__dirname, '..', 'support', 'run-typescript.cjs')];
const order = {
  type: 'run',
  workflowIds: ['one'],
  task: { iterations: 1, resultBytes: 1 },
} as const;

function start(variant: string): Promise<EngineProcess> {
  const settings = {
    file: path.join(__dirname, 'fixtures', 'dying-engine.ts'),
    variant,
    mode: 'serve',
    address: '',
    taskQueue: '',
    directory: '',
  } as const;
  return startEngine(settings, execArgv);
}

test.each([
  ['dies', 60_000, 'its process ended with code 3', false],
  ['hangs', 1_000, 'not done within 1 s', false],
  ['refuses', 60_000, 'no (history too large)', true],
])('an engine that %s', async (variant, limitMs, failed, lives) => {
  const engine = await start(variant);
  expect(engine.versions).toEqual({ dying: '1.0.0' });
  expect(engine.startMs).toBeGreaterThan(0);
  expect(await engine.order(order, limitMs)).toEqual({ failed });
  expect(engine.isAlive()).toBe(lives);
  if (!lives) expect(await engine.order(order, 1_000)).toHaveProperty('failed');
  await engine.stop();
  expect(engine.isAlive()).toBe(false);
});

test('an engine that never serves', async () => {
  await expect(start('never-serves')).rejects.toThrow(
    'never-serves did not start (serve): no bundle',
  );
});
