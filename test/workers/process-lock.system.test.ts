/** The lock between processes: one at a time, free again when its holder was killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withProcessLock } from '../../workers/process-lock';
import { startWorkerProcess } from '../support/worker-process';

let folder: string;
let lockFile: string;
const holder = path.join(__dirname, 'fixtures', 'hold-lock.ts');

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-lock-'));
  lockFile = path.join(folder, 'x.lock');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('lets one caller in at a time', async () => {
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 5 }, () => withProcessLock(lockFile, 60_000, work)));
  expect(most).toBe(1);
});

it('is free after an error', async () => {
  const failing = withProcessLock(lockFile, 1_000, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(await withProcessLock(lockFile, 1_000, () => Promise.resolve('in'))).toBe('in');
});

it('gives up with a clear error, and is free once its holder was killed', async () => {
  const process = await startWorkerProcess({ script: holder, args: [lockFile], readyLine: 'held' });
  await expect(withProcessLock(lockFile, 100, () => Promise.resolve())).rejects.toThrow(
    `Another process has held ${lockFile}`,
  );
  await process.kill();
  expect(await withProcessLock(lockFile, 1_000, () => Promise.resolve('in'))).toBe('in');
});
