/** The embedded server: its runs outlive it, one process serves a state file, it dies with its owner if asked to. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  EmbeddedServer,
  EmbeddedServerOptions,
} from '../../workers/temporal-server/embedded-server';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { isAlive, waitForExit } from '../../workers/temporal-server/server-process';
import { connectTo, temporalExecutable, uniqueName } from '../support/temporal';

let folder: string;
let executable: string;
const servers: EmbeddedServer[] = [];

async function start(options: EmbeddedServerOptions = {}): Promise<EmbeddedServer> {
  const server = await startEmbeddedServer({ executable, untilExitOf: process.pid, ...options });
  servers.push(server);
  return server;
}

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      resolve(server);
    });
  });
}

/** No rights on a file that is gone; rethrows what else went wrong. */
function goneIsClosed(thrown: unknown): number {
  if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
  return 0;
}

beforeAll(async () => {
  executable = await temporalExecutable();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-server-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()));
  await rm(folder, { recursive: true, force: true });
});

it('keeps its runs and its address across SIGKILL', async () => {
  const stateFile = path.join(folder, 'temporal.db');
  const first = await start({ stateFile });
  const before = await connectTo(first);
  const workflowId = uniqueName('waiting');
  await before.client.start('waiting', { taskQueue: 'nobody', workflowId });
  await before.close();
  // Goals and arguments are private: no file is open to other users.
  const files = (await readdir(folder)).map((name) => path.join(folder, name));
  // SQLite's journal is there for moments only.
  const open = await Promise.all(
    files.map((file) => stat(file).then(({ mode }) => mode & 0o077, goneIsClosed)),
  );
  expect(open.length).toBeGreaterThan(3);
  expect(new Set(open)).toEqual(new Set([0]));
  await first.kill();
  expect(await isAlive(first.pid)).toBe(false);

  const second = await start({ stateFile });
  expect(second.attached).toBe(false);
  expect(second.pid).not.toBe(first.pid);
  expect(second.address).toBe(first.address);
  const after = await connectTo(second);
  const description = await after.client.getHandle(workflowId).describe();
  expect(description.status.name).toBe('RUNNING');
  await after.close();
});

it('is one process for callers that start it at once', async () => {
  const stateFile = path.join(folder, 'temporal.db');
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => start({ stateFile })));
  expect(new Set(others.map((server) => server.pid))).toEqual(new Set([first?.pid]));
  expect([first, ...others].filter((server) => server?.attached === false)).toHaveLength(1);
});

it.each([
  ['damaged', '{"pid": 12'],
  ['lost', undefined],
  ['about a process that is gone', '{"pid": 4194000, "port": 1, "uiPort": 2, "logFile": "x"}'],
])('is found again although the note about it is %s', async (_what, note) => {
  const stateFile = path.join(folder, 'temporal.db');
  const first = await start({ stateFile });
  const noteFile = `${stateFile}.server.json`;
  await (note === undefined ? rm(noteFile) : writeFile(noteFile, note));
  const second = await start({ stateFile });
  expect(second).toMatchObject({ attached: true, pid: first.pid, address: first.address });
  expect(JSON.parse(await readFile(noteFile, 'utf8'))).toMatchObject({ pid: first.pid });
});

it('takes other ports when its last ones are in use', async () => {
  const stateFile = path.join(folder, 'temporal.db');
  const first = await start({ stateFile });
  await first.stop();
  const blocker = await listenOn(Number(first.address.split(':')[1]));
  try {
    const second = await start({ stateFile });
    expect(second.address).not.toBe(first.address);
  } finally {
    blocker.close();
  }
});

it('ends soon after its owner was killed', async () => {
  const owner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const server = await start({ untilExitOf: owner.pid ?? 0, logFile: path.join(folder, 'log') });
  expect(await isAlive(server.pid)).toBe(true);
  owner.kill('SIGKILL');
  expect(await waitForExit(server.pid, Date.now() + 60_000)).toBe(true);
});

it('says what is wrong with a program that is no server', async () => {
  const logFile = path.join(folder, 'log');
  await expect(start({ executable: '/bin/false', logFile })).rejects.toThrow(
    /did not start .* it ended with exit code 1\. Its log is/,
  );
  expect(await readFile(logFile, 'utf8')).toBe('');
});

it('serves the Web UI', async () => {
  const server = await start({ logFile: path.join(folder, 'log') });
  const answer = await fetch(server.uiUrl);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('<!doctype html>');
});
