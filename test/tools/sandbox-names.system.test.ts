/** Commands in the sandbox against the names of what is mounted in it: moved folders, links that appear, another command beside. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { runCommand } from '../../activities/tools/workspace/commands/run-command';
import { callTool, makeWorkspace, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

let ws: TestWorkspace;

beforeEach(() => {
  ws = makeWorkspace({ 'src/a.txt': 'inside' });
});
afterEach(() => {
  ws.remove();
});

const at = (path: string): string => join(ws.root, path);

/** Runs a line of shell in the sandbox. */
const sh = (line: string): Promise<string> =>
  callTool(runCommand({ sandbox: true, shell: true }), { command: line }, ws.context);

/** Waits until something holds; the test's own time limit ends it. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

test('a folder above one is not moved, so none gets another name or another in its stead', async () => {
  const state = at('var/lib/state');
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, 'x.db'), 'TRANSCRIPT');
  protectPath(state);
  mkdirSync(at('late/deep'), { recursive: true });
  protectPath(at('late/deep/state'));
  execFileSync('git', ['init', '--quiet', at('vendor/lib')]);
  for (const folder of ['var', 'var/lib', 'late', 'vendor', 'vendor/lib'])
    expect(await sh(`mv ${folder} away`)).not.toMatch(/^Exit code 0 /);
  expect(existsSync(at('vendor/lib/.git/HEAD'))).toBe(true);
  expect(await sh('cat */lib/state/x.db */*/state/*')).not.toContain('TRANSCRIPT');
  expect(await sh('echo x > var/x; mv src var/lib; mv var/lib/src var; ls var')).toMatch(
    /^Exit code 0 [^]*src/,
  );
});

test('a command that could put a link in the way of the next ends before the next begins', async () => {
  const plant = 'mkdir p && touch p/HEAD p/objects p/refs';
  const first = sh(`${plant}; until [ -e go ]; do sleep 0.02; done; rm -r p`);
  await until(() => existsSync(at('p/refs')));
  expect((await toolErrorOf(sh('touch begun'))).message).toContain('did not start');
  const third = sh('ls -d p');
  writeFileSync(at('go'), '');
  expect(await first).toMatch(/^Exit code 0 /);
  expect(await third).toContain('No such file');
  expect(existsSync(at('begun'))).toBe(false);
});

test('commands that can put no link in the way of each other run side by side', async () => {
  execFileSync('git', ['init', '--quiet', at('vendor/lib')]);
  const first = sh('touch begun; until [ -e go ]; do sleep 0.02; done');
  await until(() => existsSync(at('begun')));
  expect(await sh('touch go')).toMatch(/^Exit code 0 /);
  expect(await first).toMatch(/^Exit code 0 /);
});
