/** The API reference is that of the declarations that were built. */
import { spawnSync } from 'node:child_process';
import { root } from './documents';

test('docs/api is what "npm run api" writes', () => {
  const compile = './test/support/compile-typescript.cjs';
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--require', compile, 'scripts/write-api.ts', '--check'],
    { cwd: root, encoding: 'utf8' },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
