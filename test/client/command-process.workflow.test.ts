/** The command `holdfast` as a real process: what it loads, signals, and a worker with an agents' file. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fault, reply } from '../../testing/emulator/script';
import { widthOf } from '../../workers/cli/display/terminal-text';
import { codeBlocks, sourceText } from '../docs/documents';
import type { Receiver } from '../notifiers/receiver';
import { startReceiver } from '../notifiers/receiver';
import { eventually } from '../support/agent-world';
import { uniqueName } from '../support/temporal';
import type { CommandWorld } from './command-world';
import { startCommandWorld } from './command-world';

const packageVersion = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string })
  .version;
let world: CommandWorld;
let receiver: Receiver;
beforeAll(async () => {
  world = await startCommandWorld();
  receiver = await startReceiver();
  await world.holdfast(['setup', '--no-schedule']);
});
afterAll(async () => {
  await receiver.stop();
  await world.dispose();
});

/** The first line that a process prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (data: string) => (text += data));
  return eventually(
    () => Promise.resolve(text),
    (said) => said.includes('\n'),
  );
}

/** The packages that a command had loaded when it ended. */
async function loadedBy(...args: readonly string[]): Promise<string> {
  const preload = path.resolve('test/client/fixtures/loaded-modules.cjs');
  const { err } = await world.inProcess(args, { node: ['--require', preload] });
  return /^loaded (.*)$/m.exec(err)?.[1] ?? err;
}

it('prints its version, and loads no more than help, reading, and a detached run need', async () => {
  const detached = ['run', 'later', '--detach', '--id', uniqueName('detached')];
  const [version, help, ...light] = await Promise.all([
    world.inProcess(['--version']),
    loadedBy('run', '--help'),
    loadedBy('list'),
    // Only the worker needs a named agent: its file is not even read here.
    loadedBy(...detached, '--agents', 'no-such-file.cjs', '--agent', 'support'),
  ]);
  expect(version).toMatchObject({ code: 0, out: `${packageVersion}\n`, err: '' });
  expect(help).toBe('commander');
  for (const loaded of light) {
    expect(loaded).toContain('@temporalio/client');
    expect(loaded).not.toMatch(/@temporalio\/worker|anthropic|openai|gpt-tokenizer/);
  }
});

it('prints an error, its exit code and no colors in a pipe', async () => {
  const ended = await world.inProcess(['show', 'nobody']);
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toMatch(/^holdfast: There is no run "nobody".*\n$/);
});

it('lets go on a signal of a run that it works on and of one that it watches', async () => {
  const id = uniqueName('watched');
  world.emulator.script([fault.connection('stall')]);
  const run = world.spawn(['run', 'stall', '--id', id, '--workspace', 'workspace']);
  await world.emulator.waitForRequest(0);
  const watches = [world.spawn(['watch', id]), world.spawn(['watch', id])] as const;
  const ended = Promise.all([...watches, run].map((child) => once(child, 'close')));
  await Promise.all(watches.map(firstLine));
  watches[0].kill('SIGINT');
  watches[1].kill('SIGTERM');
  run.kill('SIGINT');
  expect(await ended).toEqual([
    [130, null],
    [130, null],
    [130, null],
  ]);
  expect((await world.holdfast(['show', id])).out).toMatch(/^status {5}running$/m);
  await world.client.getHandle(id).terminate();
  world.emulator.clearScripts();
});

it("works on runs with the agents' file of docs/cli.md, tells people by its notifier, and ends on SIGTERM", async () => {
  const block = codeBlocks({ file: 'docs/cli.md', text: sourceText('docs/cli.md') }).find(
    ({ language }) => language === 'js',
  );
  await writeFile(path.join(world.folder, 'agents.mjs'), block?.code ?? '');
  const modules = path.join(world.folder, 'node_modules');
  await mkdir(modules);
  await symlink(process.cwd(), path.join(modules, 'holdfast'));
  await symlink(path.resolve('node_modules', 'zod'), path.join(modules, 'zod'));
  const id = uniqueName('told');
  world.emulator.script([
    reply.toolCalls([{ name: 'refund', input: { order: 'A7' } }]),
    reply.text('done'),
  ]);
  const worker = world.spawn(['worker', '--json', '--agents', 'agents.mjs'], {
    variables: { SLACK_WEBHOOK_URL: `${receiver.url}/services/hook` },
  });
  const ended = once(worker, 'close');
  expect(JSON.parse(await firstLine(worker))).toMatchObject({
    type: 'WorkerReady',
    agents: ['support'],
    notifiers: ['slack'],
  });
  await world.holdfast(['run', 'refund it', '--agent', 'support', '--detach', '--id', id]);
  const [told] = await eventually(
    () => Promise.resolve(receiver.of('/services/hook')),
    ({ length }) => length > 0,
  );
  expect(told?.body).toContain(`holdfast approve ${id}`);
  expect(told?.body).toContain('http://localhost:8233/');
  await world.holdfast(['approve', id]);
  expect(await world.holdfast(['watch', id])).toMatchObject({ code: 0 });
  worker.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

it.each([
  ['that is not there', 'no.cjs', 'cannot be loaded'],
  [
    'without the agent',
    path.resolve('test/client/fixtures/agents.cjs'),
    'Available: first, second',
  ],
])("refuses an agents' file %s, also for a worker elsewhere", async (_what, file, message) => {
  const ended = await world.inProcess(['run', 'x', '--detach', '--agents', file]);
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toContain(message);
  expect(ended.err).not.toContain('    at ');
});

it('watches the words of a reply while they arrive, on terminals of 60 and 120 columns and as JSON', async () => {
  const id = uniqueName('spoken');
  const words = Array.from({ length: 40 }, (_, n) => `word-${n}`).join(' ');
  const slow = { charactersPerDelta: 10, delivery: { writeEveryMs: 100 } };
  world.emulator.script([reply.text(words, slow)]);
  const start = ['run', 'speak', '--agent', 'writer', '--detach', '--id', id];
  await world.holdfast(start, world.elsewhere);
  const [narrow, wide, json] = await Promise.all([
    world.holdfast(['watch', id], {}, 60),
    world.holdfast(['watch', id], {}, 120),
    world.holdfast(['watch', id, '--json']),
  ]);
  for (const [{ out }, columns] of [[narrow, 60] as const, [wide, 120] as const]) {
    // Before the whole is there, frames show a part; of the whole only its last lines.
    const frames = out.split('\u001B[1A');
    expect(frames.some((text) => /word-5 word-6/.test(text) && !text.includes('word-30'))).toBe(
      true,
    );
    // The end is told by lines that may be longer; frames stay within the terminal.
    const until = out.slice(0, out.indexOf('model'));
    const lines = until.replaceAll('\u001B', '\n').split(/[\r\n]/);
    // What is left of a terminal sequence takes four columns at most.
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns + 4);
  }
  type Line = { readonly type: string; readonly offset: number; readonly text: string };
  const lines = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const deltas = lines.filter(({ type }) => type === 'TextDelta');
  expect(deltas.length).toBeGreaterThan(3);
  expect(deltas.reduce((text, { offset, text: more }) => text.slice(0, offset) + more, '')).toBe(
    words,
  );
});
