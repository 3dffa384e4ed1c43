/** Gateway and worker as processes while Temporal is stopped, hangs, and is back: probes say so, every route answers, SIGTERM ends both. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { makeToken } from '../../server/http/access-tokens';
import { readEnvironment } from '../../workers/env';
import type { EmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { findFreePorts, startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { eventually } from '../support/agent-world';

const program = path.resolve('dist/workers/cli.js');
/** Milliseconds: far above the few seconds of the gateway, on a machine that is busy, and far below the SDK's 23 s. */
const boundMs = 15_000;
const { token, entry } = makeToken({ name: 'ada', role: 'operate' });

let folder: string;
let server: EmbeddedServer;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-outage-'));
  server = await startServer();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

function startServer(): Promise<EmbeddedServer> {
  const stateFile = path.join(folder, 'temporal.db');
  return startEmbeddedServer({ stateFile, untilExitOf: process.pid });
}

/** A command as a process. */
function start(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): ChildProcess & { readonly stdout: Readable } {
  const { searchPath, cacheDirectory } = readEnvironment();
  const child = spawn(process.execPath, [program, ...args, '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...{ PATH: searchPath, HOME: folder, HOLDFAST_CACHE_DIR: cacheDirectory },
      TEMPORAL_ADDRESS: server.address,
      HOLDFAST_STORE: path.join(folder, 'store.db'),
      HOLDFAST_MODEL: 'anthropic/claude-sonnet-5',
      ANTHROPIC_API_KEY: 'key',
      HOLDFAST_GATEWAY_TOKENS: JSON.stringify([entry]),
      ...variables,
    },
  });
  children.push(child);
  return child;
}

async function probe(url: string): Promise<{ readonly status: number; readonly body: string }> {
  const answer = await fetch(url);
  return { status: answer.status, body: await answer.text() };
}

const until = (url: string, status: number) =>
  eventually(
    () => probe(url).catch(() => ({ status: 0, body: '' })),
    (answer) => answer.status === status,
  );

const run = '/v1/runs/some-run';
const routes: readonly (readonly [string, object?])[] = [
  ...['/v1/runs', run, `${run}/result?waitMs=60000`, `${run}/events`, `${run}/timeline`].map(
    (at) => [at] as const,
  ),
  ...[`${run}/transcript`, '/v1/inbox'].map((at) => [at] as const),
  ['/v1/runs', { agent: 'coder', goal: 'x' }],
  [`${run}/fork`, { iteration: 0 }],
  [`${run}/approvals/a/approve`, { digest: 'd' }],
  [`${run}/questions/q/answer`, { answer: 'x' }],
  [`${run}/messages`, { message: 'x' }],
  [`${run}/stop`, { reason: 'x' }],
  [`${run}/cancel`, {}],
];

/** Asks every route at once; returns those that did not answer 503 in time. */
async function wrongOf(url: string): Promise<readonly string[]> {
  const wrong = routes.map(async ([at, body]) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const isEmpty = body === undefined || at.endsWith('/cancel');
    const begunAtMs = Date.now();
    const answer = await fetch(`${url}${at}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: isEmpty ? { authorization: headers.authorization } : headers,
      ...(isEmpty ? {} : { body: JSON.stringify(body) }),
    });
    const { code } = (await answer.json()) as { readonly code?: string };
    const tookMs = Date.now() - begunAtMs;
    return answer.status === 503 && tookMs < boundMs
      ? []
      : [`${at}: ${answer.status} ${code} ${tookMs} ms`];
  });
  return (await Promise.all(wrong)).flat();
}

/** SIGTERM; resolves with exit code and signal. */
async function end(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  return ended;
}

test('probes and routes follow Temporal as it hangs, goes on, stops, and comes back', async () => {
  const [port = 0] = await findFreePorts(1);
  const gateway = start(['serve', '--port', '0']);
  const worker = start(['worker', '--health-port', String(port)]);
  const [line] = (await once(createInterface({ input: gateway.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  const health = `http://127.0.0.1:${port}`;
  const both = [url, health];
  for (const at of both) await until(`${at}/readyz`, 200);

  process.kill(server.pid, 'SIGSTOP');
  expect(await wrongOf(url)).toEqual([]);
  for (const at of both) {
    const { body } = await until(`${at}/readyz`, 503);
    expect(body).toContain('No answer to this process: Temporal. ');
    expect((await probe(`${at}/healthz`)).status).toBe(200);
  }
  process.kill(server.pid, 'SIGCONT');
  for (const at of both) await until(`${at}/readyz`, 200);

  await server.kill();
  expect(await wrongOf(url)).toEqual([]);
  for (const at of both) await until(`${at}/readyz`, 503);
  server = await startServer();
  for (const at of both) await until(`${at}/readyz`, 200);

  process.kill(server.pid, 'SIGSTOP');
  expect(await end(gateway)).toEqual([0, null]);
  const ended = end(worker);
  await eventually(
    () => probe(`${health}/readyz`),
    ({ body }) => body.includes('This worker does not poll: it is '),
  );
  expect(await ended).toEqual([0, null]);
  process.kill(server.pid, 'SIGCONT');
});

test('a worker that waits for Temporal is alive and not ready, and SIGTERM ends it', async () => {
  const [port = 0] = await findFreePorts(1);
  const worker = start(['worker'], {
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    HOLDFAST_HEALTH_PORT: `127.0.0.1:${port}`,
  });
  const url = `http://127.0.0.1:${port}`;
  const { body } = await until(`${url}/readyz`, 503);
  expect(body).toContain('This worker starts');
  expect((await probe(`${url}/healthz`)).status).toBe(200);
  expect(await end(worker)).toEqual([0, null]);
});

test.each(['here', '65536', '127.0.0.1:', ':80'])('%p is no health port', async (value) => {
  const flag = start(['worker', `--health-port=${value}`]);
  const variable = start(['worker'], { HOLDFAST_HEALTH_PORT: value });
  expect(await Promise.all([flag, variable].map((child) => once(child, 'exit')))).toEqual([
    [2, null],
    [2, null],
  ]);
});
