/** A log on a full disk: lines are lost, the process goes on. Found by `npm run chaos`. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(__dirname, '../..');
const script = `
  const { createLogger } = require('./workers/logging.ts');
  // From here on no file may grow: each write fails, as on a full disk.
  require('node:child_process').execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=0']);
  const log = createLogger('info');
  log.info('one');
  setImmediate(() => { log.info('two'); setImmediate(() => console.log('goes on')); });
`;

test('a worker whose log cannot be written goes on', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-full-disk-'));
  const compile = path.join(root, 'test/support/compile-typescript.cjs');
  const command = `exec "$0" --require "$1" --eval "$2" 2>"$3"`;
  const args = ['-c', command, process.execPath, compile, script, path.join(folder, 'log')];
  const { stdout } = await promisify(execFile)('bash', args, { cwd: root });
  expect(stdout).toBe('goes on\n');
  await rm(folder, { recursive: true, force: true });
});
