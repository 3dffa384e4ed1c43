/** The command `holdfast` as a real process: the build in `dist`, a real server, the vendor emulator. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import { readEnvironment } from '../../workers/env';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';

const cli = path.resolve('dist/workers/cli.js');
const packageVersion = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string })
  .version;
let server: DevServer;
let emulator: VendorEmulator;
let folder: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await startDevServer();
  emulator = await VendorEmulator.start({ seed: 'cli' });
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-cli-'));
  await mkdir(path.join(folder, 'workspace'));
  await writeFile(path.join(folder, 'workspace', 'a.txt'), 'hello\n');
  const { cacheDirectory, searchPath } = readEnvironment();
  environment = {
    PATH: searchPath,
    TEMPORAL_ADDRESS: server.address,
    HOLDFAST_CACHE_DIR: cacheDirectory,
    HOLDFAST_TASK_QUEUE: uniqueName('cli'),
    HOLDFAST_MODEL: 'anthropic/claude-sonnet-4-5',
    ANTHROPIC_API_KEY: 'test-key',
    ANTHROPIC_BASE_URL: emulator.url,
  };
}, 300_000);
afterAll(async () => {
  await server.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function holdfast(args: readonly string[], extra: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: folder,
      env: { ...environment, ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (data: Buffer) => (out += data.toString('utf8')));
    child.stderr.on('data', (data: Buffer) => (err += data.toString('utf8')));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const workspace = ['--workspace', 'workspace'];

it.each<[string, readonly string[], NodeJS.ProcessEnv, number, string]>([
  ['an empty goal', ['run', ' '], {}, 2, 'The goal is empty'],
  ['a goal that is too long', ['run', 'x'.repeat(64_001)], {}, 2, 'at most 64000'],
  [
    'a workspace that is not there',
    ['run', 'x', '--workspace', 'nowhere'],
    {},
    2,
    'does not exist',
  ],
  ['an unknown agent', ['run', 'x', '--agent', 'poet'], {}, 2, 'There are: coder'],
  ['a missing key', ['run', 'x'], { ANTHROPIC_API_KEY: '' }, 2, 'ANTHROPIC_API_KEY'],
  ['a provider that nobody knows', ['run', 'x', '--model', 'acme/x'], {}, 2, 'Known: anthropic'],
  ['no model', ['run', 'x'], { HOLDFAST_MODEL: '' }, 2, 'HOLDFAST_MODEL'],
  ['an unknown command', ['fly'], {}, 2, "unknown command 'fly'"],
  ['a status that there is not', ['list', '--status', 'odd'], {}, 2, 'Allowed choices'],
  ['a run that there is not', ['show', 'nobody'], {}, 2, 'There is no run "nobody"'],
  [
    'a server that does not answer',
    ['list'],
    { TEMPORAL_ADDRESS: '127.0.0.1:1' },
    5,
    '127.0.0.1:1',
  ],
  ['nothing to replay', ['replay'], {}, 2, 'Nothing to replay'],
  ['no iterations', ['run', 'x', '--max-iterations', '0'], {}, 2, 'whole number from 1'],
  ['a store that is a folder', ['run', 'x'], { HOLDFAST_STORE: 'workspace' }, 2, 'HOLDFAST_STORE'],
  [
    'a store that does not answer',
    ['run', 'x'],
    { HOLDFAST_STORE: 'postgres://u:word@127.0.0.1:1/x' },
    2,
    'ECONNREFUSED',
  ],
  ["an agents' file that is not there", ['run', 'x', '--agents', 'no.cjs'], {}, 2, '--agents FILE'],
  [
    "an agents' file without the agent, for a worker elsewhere",
    ['run', 'x', '--detach', '--agents', path.resolve('test/client/fixtures/agents.cjs')],
    {},
    2,
    'There are: first, second',
  ],
  [
    'a cache folder that is a file',
    ['list'],
    { TEMPORAL_ADDRESS: '', HOLDFAST_CACHE_DIR: path.join('workspace', 'a.txt') },
    5,
    'HOLDFAST_CACHE_DIR',
  ],
])(
  'refuses %s with an exit code and a remedy',
  async (_what, args, extra, code, message) => {
    const ended = await holdfast(args, extra);
    expect(ended.err).toContain(message);
    expect(ended.err).not.toContain('    at ');
    expect(ended.code).toBe(code);
    expect(emulator.requests).toHaveLength(0);
  },
  120_000,
);

it('tells wrong usage as JSON too, and its version', async () => {
  const [usage, help, version] = await Promise.all([
    holdfast(['list', '--limit', '0', '--json']),
    holdfast(['list', '--help', '--json']),
    holdfast(['--version']),
  ]);
  expect(jsonLines(usage.out)).toEqual([
    { error: { exitCode: 2, message: expect.stringContaining('whole number') as string } },
  ]);
  expect(usage.err.match(/whole number/g)).toHaveLength(1);
  expect(help).toMatchObject({ code: 0, out: expect.stringContaining('Usage:') as string });
  expect(version).toMatchObject({ code: 0, out: `${packageVersion}\n` });
}, 120_000);

it('runs a goal to its end, in plain lines and as JSON lines', async () => {
  const script = [
    reply.toolCalls([{ name: 'read_file', input: { path: 'a.txt' } }]),
    reply.text('It says hello.'),
  ];
  emulator.script([...script, ...script]);
  const plain = await holdfast(['run', 'what is in a.txt?', ...workspace]);
  expect(plain.out).toContain('run read_file a.txt');
  expect(plain.out).toContain('completed\nIt says hello.');
  expect(plain.out).not.toContain('\u001B');
  expect(plain.code).toBe(0);
  const json = await holdfast(['run', 'what is in a.txt?', ...workspace, '--json']);
  const lines = jsonLines(json.out);
  expect(lines[0]).toMatchObject({ type: 'RunStartedEvent' });
  expect(lines.at(-1)).toMatchObject({ type: 'RunOutcome', status: 'completed' });
  expect(json.code).toBe(0);
}, 180_000);

it('starts a run to be worked on later, shows it, lists it, and stops it', async () => {
  const id = uniqueName('later');
  const started = await holdfast(['run', 'later', '--detach', '--json', '--id', id]);
  expect(jsonLines(started.out)[0]).toMatchObject({ runId: id, address: server.address });
  const shown = await holdfast(['show', id, '--json']);
  expect(jsonLines(shown.out)[0]).toMatchObject({ status: 'running', pending: [] });
  expect((await holdfast(['approve', id])).err).toContain('No approval waits');
  expect((await holdfast(['cancel', id])).code).toBe(0);
  emulator.script([]);
  const watching = holdfast(['watch', id]);
  const worker = spawn(process.execPath, [cli, 'worker', '--json'], {
    cwd: folder,
    env: environment,
  });
  const ended = await watching;
  expect(ended.out).toContain('cancelled: Workflow cancelled');
  expect(ended.code).toBe(4);
  const workerEnded = new Promise((resolve) => worker.once('close', resolve));
  worker.kill('SIGTERM');
  expect(await workerEnded).toBe(0);
}, 180_000);

it.each(['SIGINT', 'SIGTERM'] as const)(
  'lets go of a run that it watches on %s',
  async (signal) => {
    const id = uniqueName('watched');
    emulator.script([fault.connection('stall')]);
    const before = emulator.requests.length;
    const running = holdfast(['run', 'stall', '--id', id, ...workspace]);
    await emulator.waitForRequest(before);
    const watch = spawn(process.execPath, [cli, 'watch', id], { cwd: folder, env: environment });
    const ended = once(watch, 'close');
    await once(watch.stdout, 'data');
    watch.kill(signal);
    expect(await ended).toEqual([130, null]);
    await holdfast(['cancel', id]);
    expect((await running).code).toBe(4);
  },
  120_000,
);

it('replays histories, and names the command that changed', async () => {
  emulator.script([reply.text('done')]);
  const id = uniqueName('replayed');
  await holdfast(['run', 'x', '--id', id]);
  const histories = path.join(folder, 'histories');
  await mkdir(histories);
  const history = await server.client.getHandle(id).fetchHistory();
  const json = historyToJSON(history);
  await writeFile(path.join(histories, 'good.json'), json);
  expect(await holdfast(['replay', histories])).toMatchObject({ code: 0 });
  expect(await holdfast(['replay', '--run-id', id])).toMatchObject({ code: 0 });
  await writeFile(path.join(histories, 'old.json'), json.replaceAll('"callModel"', '"askModel"'));
  const failed = await holdfast(['replay', histories]);
  expect(failed.out).toContain('ok    good.json');
  expect(failed.out).toMatch(
    /FAIL {2}old\.json: event \d+: history has activity askModel m1, .* callModel/,
  );
  expect(failed.code).toBe(6);
  await writeFile(path.join(histories, 'old.json'), '{}');
  expect((await holdfast(['replay', histories])).err).toContain('old.json is not a history');
}, 180_000);
