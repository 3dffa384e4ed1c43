/** Keys of a worker that the command line runs are out of reach of its agents' commands, however they came to it. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import type { SentToolResult } from '../../testing/emulator/wire';
import { uniqueName } from '../support/temporal';
import type { CommandWorld } from './command-world';
import { startCommandWorld } from './command-world';

let world: CommandWorld;
beforeAll(async () => {
  world = await startCommandWorld();
  await world.holdfast(['setup', '--no-schedule']);
  const modules = path.join(world.folder, 'node_modules');
  await mkdir(modules);
  await symlink(process.cwd(), path.join(modules, 'holdfast'));
  await symlink(path.resolve('node_modules', 'zod'), path.join(modules, 'zod'));
});
afterAll(() => world.dispose());

/** A key of no known shape, and a part of it that no redaction recognizes. */
const key = `plain-${randomUUID()}`;
const part = key.slice(6, 19);
const reversed = Array.from(part).reverse().join('');

/** Looks for the part, which no command line holds, where other processes show their variables and files; each line ends with the number of finds. */
const search = [
  `part=$(echo ${reversed} | rev)`,
  'echo by $PPID $(tr "\\0" "\\n" < /proc/$PPID/environ | grep -c $part)',
  'echo everywhere $(cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c $part)',
  'shown=$(ps axewww); echo ps $(echo "$shown" | grep -c $part)',
  'echo own $(env | grep -c $part)',
  'echo input $(timeout 1 cat /proc/$PPID/fd/0 | grep -c $part)',
].join('; ');
const nothing = /by \d+ 0\neverywhere 0\nps 0\nown 0\ninput 0/;

const lastResult = (request: RecordedRequest | undefined): SentToolResult | undefined =>
  request?.conversation.turns.at(-1)?.toolResults.at(-1);

/** What the model read of the search, which it asked for. */
async function found(work: () => Promise<unknown>): Promise<string> {
  const first = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([{ name: 'run_command', input: { command: ['sh', '-c', search] } }]),
    reply.text('done'),
  ]);
  await work();
  const result = lastResult(world.emulator.requests.slice(first).at(-1));
  return JSON.stringify(result?.content).replaceAll('\\n', '\n');
}

it('a key of the environment is in no environment of any process, once the command works', async () => {
  const read = await found(async () => {
    const ended = await world.inProcess(
      ['run', 'look', '--unattended', '--workspace', 'workspace'],
      {
        variables: { ANTHROPIC_API_KEY: key },
      },
    );
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.err).not.toContain('could not be overwritten');
  });
  expect(read).toMatch(nothing);
});

const agents = `
const { defineTool, anthropicProvider, workspaceTools } = require('holdfast');
const { z } = require('zod');
const seen = process.env.OWN_TOKEN;
exports.providers = [anthropicProvider({ apiKey: process.env.ANTHROPIC_API_KEY, baseUrl: process.env.ANTHROPIC_BASE_URL })];
exports.agents = [{
  name: 'own', instructions: 'x', chain: [{ provider: 'anthropic', model: process.env.MODEL }],
  programs: 'may-approve',
  tools: [...workspaceTools(), defineTool({
    name: 'variables', description: 'x', effect: 'read', input: z.object({}),
    execute: () => ({ atLoad: seen?.length, later: process.env.OWN_TOKEN ?? 'gone', plain: process.env.PLAIN }),
  })],
}];`;

it("keys by standard input are in no environment at all, and agents' files read them while they load", async () => {
  await writeFile(path.join(world.folder, 'own.cjs'), agents);
  const { HOLDFAST_MODEL: model = '' } = world.variables;
  const worker = world.spawn(['worker', '--json', '--agents', 'own.cjs'], {
    variables: {
      HOLDFAST_SECRETS_FILE: '-',
      ANTHROPIC_API_KEY: '',
      PLAIN: 'kept',
      MODEL: model.replace('anthropic/', ''),
    },
    input: `ANTHROPIC_API_KEY=${key}\nOWN_TOKEN="${key}"\n`,
  });
  const ended = once(worker, 'close');
  try {
    const [ready] = (await once(createInterface(worker.stdout ?? process.stdin), 'line')) as [
      string,
    ];
    expect(JSON.parse(ready)).toMatchObject({ type: 'WorkerReady', agents: ['own'] });
    expect(readlinkSync(`/proc/${worker.pid}/fd/0`)).toBe('/dev/null');
    expect(readFileSync(`/proc/${worker.pid}/environ`, 'latin1').replaceAll('\0', '')).toBe('');
    const ask = async (): Promise<void> => {
      const id = uniqueName('own');
      await world.holdfast([
        'run',
        'look',
        '--agent',
        'own',
        '--detach',
        '--id',
        id,
        '--workspace',
        'workspace',
      ]);
      expect(await world.holdfast(['watch', id])).toMatchObject({ code: 0 });
    };
    expect(await found(ask)).toMatch(nothing);
    world.emulator.script([
      reply.toolCalls([{ name: 'variables', input: {} }]),
      reply.text('done'),
    ]);
    await ask();
    const result = lastResult(world.emulator.requests.at(-1));
    expect(JSON.stringify(result?.content)).toMatch(/atLoad.*42.*later.*gone.*plain.*kept/);
  } finally {
    worker.kill('SIGTERM');
  }
  expect(await ended).toEqual([0, null]);
});

it('the built-in agent runs its commands in the sandbox where it is told to, or not at all', async () => {
  const variables = { HOLDFAST_SANDBOX: 'true' };
  const port = world.address.split(':')[1] ?? '';
  const look = `ls -d /proc/[0-9]* | wc -l; cat ${world.variables['HOLDFAST_STORE'] ?? ''}; node -e "require('net').connect(${port}, '127.0.0.1').on('connect', () => console.log('OPEN')).on('error', (e) => console.log(e.code))"; touch ../x made`;
  world.emulator.script([
    reply.toolCalls([{ name: 'run_command', input: { command: ['sh', '-c', look] } }]),
    reply.text('done'),
  ]);
  const run = ['run', 'look', '--workspace', 'workspace'];
  const sandboxed = await world.inProcess(run, { variables });
  expect(sandboxed).toMatchObject({ code: 0, err: expect.stringContaining('run ') as string });
  const read = JSON.stringify(lastResult(world.emulator.requests.at(-1)));
  expect(read).toContain('ECONNREFUSED');
  expect(read).toContain('No such file or directory');
  expect(read).not.toContain('SQLite');
  expect(existsSync(path.join(world.folder, 'workspace/made'))).toBe(true);
  expect(existsSync(path.join(world.folder, 'x'))).toBe(false);

  const without = await world.holdfast(run, { ...variables, HOLDFAST_SANDBOX: 'maybe' });
  expect(without).toMatchObject({ code: 2 });
  expect(without.err).toContain('HOLDFAST_SANDBOX is "maybe": set it to true');
  const noProgram = await world.inProcess(run, { variables: { ...variables, PATH: world.folder } });
  expect(noProgram).toMatchObject({ code: 2 });
  expect(noProgram.err).toContain('Install the package bubblewrap');
  const ownAgents = await world.holdfast([...run, '--agents', 'own.cjs'], variables);
  expect(ownAgents).toMatchObject({ code: 2 });
  expect(ownAgents.err).toContain('HOLDFAST_SANDBOX is for the built-in agent');
});
