/** The last line and the exit code of `.ci/run`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-ci-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const report = (passed: number, failed: number, brokenFiles: number): string =>
  JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    numRuntimeErrorTestSuites: brokenFiles,
    success: failed + brokenFiles === 0,
  });

it.each([
  ['all is well', report(9, 0, 0), 0, '9 passed, 0 failed', 0],
  ['a check fails', report(9, 0, 0), 1, '9 passed, 1 failed', 1],
  ['tests fail and so does their step', report(7, 2, 0), 1, '7 passed, 2 failed', 1],
  ['a test file cannot be loaded', report(7, 0, 1), 1, '7 passed, 1 failed', 1],
  ['tests and checks fail', report(7, 2, 0), 2, '7 passed, 3 failed', 1],
  ['no test ran', report(0, 0, 0), 0, '0 passed, 1 failed', 1],
  ['jest wrote no report', '', 1, '0 passed, 1 failed', 1],
])('says it when %s', (_case, text, failedSteps, line, code) => {
  const file = path.join(folder, 'report.json');
  writeFileSync(file, text);
  const { stdout, status } = spawnSync(
    process.execPath,
    [path.resolve('.ci/summarise.cjs'), file, String(failedSteps)],
    { encoding: 'utf8' },
  );
  expect(stdout).toBe(`${line}\n`);
  expect(status).toBe(code);
});
