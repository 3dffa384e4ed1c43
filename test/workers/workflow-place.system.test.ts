/** Workflow code in the thread of the worker: what it does to the process, and the process to it. */
import { execFile } from 'node:child_process';
import path from 'node:path';

const preload = path.join(__dirname, '..', 'support', 'run-typescript.cjs');
const script = path.join(__dirname, 'fixtures', 'rejections.ts');

/** How the process ends, and all that it says. */
function rejection(...args: readonly string[]): Promise<{ failed: boolean; said: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--require', preload, script, ...args],
      { timeout: 60_000 },
      (error, stdout, stderr) => {
        resolve({ failed: error !== null, said: `${stdout}${stderr}` });
      },
    );
  });
}

test('a promise of a run that nobody handles fails its workflow task, and not the process', async () => {
  const { failed, said } = await rejection('run');
  expect(said).toContain('failed: Unhandled promise rejection: TypeError: of a run');
  expect(said).toContain('goes on');
  expect(failed).toBe(false);
});

test("an error's stack says where in the source it was made", async () => {
  const { said } = await rejection('run');
  expect(said).toMatch(/TypeError: of a run\n {4}at stack \(.*source\.ts:5:\d+\)/);
});

test('a promise of the process that nobody handles ends it, as without a worker', async () => {
  const { failed, said } = await rejection('process');
  expect(said).toContain('RangeError: of the process');
  expect(said).not.toContain('goes on');
  expect(failed).toBe(true);
});

test('a promise of the process is left to listeners of its own', async () => {
  const { failed, said } = await rejection('process', 'listener');
  expect(said).toContain('heard');
  expect(said).toContain('failed: undefined');
  expect(said).toContain('goes on');
  expect(failed).toBe(false);
});
