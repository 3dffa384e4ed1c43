/** `holdfast worker` as a process that starts before its store or Temporal. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const dead = '127.0.0.1:1';

test.each([
  ['a store', { HOLDFAST_STORE: `postgres://u@${dead}/x`, TEMPORAL_ADDRESS: dead }, /Store /],
  ['Temporal', { HOLDFAST_STORE: 'here.db', TEMPORAL_ADDRESS: dead }, /Temporal does not answer/],
])('exits with 7 where %s stays down past the limit, and says so', (_what, variables, reason) => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [path.resolve('dist/workers/cli.js'), 'worker', '--wait', '1s'],
    {
      encoding: 'utf8',
      cwd: mkdtempSync(path.join(tmpdir(), 'holdfast-wait-')),
      env: {
        PATH: process.env['PATH'],
        ...variables,
        ANTHROPIC_API_KEY: 'key',
        HOLDFAST_MODEL: 'anthropic/claude-sonnet-5',
      },
    },
  );
  expect(stderr).toMatch(/^holdfast: Gave up after 1 s \(--wait\)\. /m);
  expect(stderr).toMatch(reason);
  expect(status).toBe(7);
});
