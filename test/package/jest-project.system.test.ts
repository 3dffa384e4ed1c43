/** The built package in a project of its own under Jest, as CommonJS and as ES modules; no process outlives a test's. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../support/agent-world';

const root = path.resolve(__dirname, '..', '..');
let project: string;

beforeEach(() => {
  project = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-jest-')));
  mkdirSync(path.join(project, 'node_modules'));
  symlinkSync(root, path.join(project, 'node_modules', 'holdfast'));
  symlinkSync(path.join(root, 'node_modules', 'zod'), path.join(project, 'node_modules', 'zod'));
  writeFileSync(path.join(project, 'package.json'), '{ "name": "user", "private": true }');
});
afterEach(() => {
  rmSync(project, { recursive: true, force: true });
});

const agent = `const look = defineTool({
  name: 'look', description: 'Looks.', input: z.object({}), effect: 'read', execute: () => 'found',
});
const agent = defineAgent({
  name: 'support', instructions: 'You help.', tools: [look],
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }, { provider: 'openai', model: 'gpt-5' }],
});`;

const body = `${agent}
let tested;
beforeAll(async () => { tested = await testAgent(agent); }, 600_000);
afterAll(() => tested.close());
test('works', async () => {
  const { result, prompts } = await tested.run({ goal: 'Look.' }, [
    fault.http(401),
    reply.toolCalls([{ name: 'look', input: {} }]),
    reply.text('Done.'),
  ]);
  expect(result).toMatchObject({ status: 'completed', answer: 'Done.' });
  expect(prompts.map(({ model }) => model)).toEqual(['claude-sonnet-4-5', 'gpt-5', 'gpt-5']);
});`;

const forms = {
  'agent.test.cjs': `const { z } = require('zod');
    const { defineAgent, defineTool } = require('holdfast');
    const { fault, reply, testAgent } = require('holdfast/testing');`,
  'agent.test.mjs': `import { z } from 'zod';
    import { defineAgent, defineTool } from 'holdfast';
    import { fault, reply, testAgent } from 'holdfast/testing';`,
};

it.each(Object.entries(forms))('%s passes', (file, imports) => {
  writeFileSync(path.join(project, file), `${imports}\n${body}`);
  const isModule = file.endsWith('.mjs');
  const jest = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const testMatch = [`<rootDir>/${file}`];
  // As for a package in node_modules: nothing of it is transformed.
  const config = JSON.stringify({ testMatch, testTimeout: 600_000, transform: {} });
  const said = execFileSync(
    process.execPath,
    [
      ...(isModule ? ['--experimental-vm-modules'] : []),
      jest,
      '--rootDir',
      project,
      '--config',
      config,
    ],
    { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  );
  // Jest says so on standard output if something keeps the process.
  expect(said).not.toContain('did not exit');
});

it('ends the server with a process that is killed', async () => {
  writeFileSync(
    path.join(project, 'main.cjs'),
    `${forms['agent.test.cjs']}\n${agent}
    testAgent(agent).then(() => console.log('started'));`,
  );
  const child = spawn(process.execPath, ['main.cjs'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const { pid = 0 } = child;
  const listed = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  const servers = listed.trim().split(/\s+/).map(Number);
  expect(servers).toHaveLength(1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const isGone = (server: number): boolean => {
    try {
      process.kill(server, 0);
      return false;
    } catch {
      return true;
    }
  };
  // Within the watchdog's second; jest's deadline ends the wait.
  await eventually(() => Promise.resolve(servers.every(isGone)), Boolean);
});
