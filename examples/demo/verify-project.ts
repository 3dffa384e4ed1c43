/** Copies the demo's project, runs its tests, and reports whether anybody changed them. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The result of the tests. */
export interface TestRun {
  readonly passed: number;
  readonly failed: number;
  readonly isGreen: boolean;
}

/** The project is in the source tree only; compiled code finds it from `dist`. */
function fixtureFolder(): string {
  const beside = path.join(__dirname, 'fixture-project');
  return existsSync(beside)
    ? beside
    : path.resolve(__dirname, '../../../examples/demo/fixture-project');
}

/** Copies the project to a new temporary workspace. */
export async function copyProject(): Promise<string> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'latency-report-'));
  await cp(fixtureFolder(), folder, { recursive: true });
  return folder;
}

function countOf(tap: string, what: string): number {
  return Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(tap)?.[1] ?? 0);
}

/** Runs the project's tests, as its `npm test` does. */
export async function runTests(workspace: string): Promise<TestRun> {
  const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: workspace, env }, (error, stdout) => {
      const passed = countOf(stdout, 'pass');
      const failed = countOf(stdout, 'fail') + countOf(stdout, 'cancelled');
      resolve({ passed, failed, isGreen: error === null && failed === 0 && passed > 0 });
    });
  });
}

/** Identity of all that decides what the tests are: the files in `test` and the package's script. */
export async function testsDigest(workspace: string): Promise<string> {
  const entries = await readdir(path.join(workspace, 'test'), {
    recursive: true,
    withFileTypes: true,
  });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash('sha256');
  for (const file of [...files, path.join(workspace, 'package.json')])
    hash.update(path.relative(workspace, file)).update(await readFile(file));
  return hash.digest('hex');
}
