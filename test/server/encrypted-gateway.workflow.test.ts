/** `holdfast serve` and `holdfast worker` as processes with encryption on: a run over HTTP from start to end, and other keys. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import createApiClient from 'openapi-fetch';
import type { paths } from '../../examples/gateway-api';
import { makeToken } from '../../server/http/access-tokens';
import { reply } from '../../testing/index';
import type { CommandWorld } from '../client/command-world';
import { startCommandWorld } from '../client/command-world';
import { eventually } from '../support/agent-world';
import { readEvents } from './support/read-events';

const { token, entry } = makeToken({ name: 'ada', role: 'operate' });
const key = (): string => randomBytes(32).toString('base64');
const secret = 'zebra-goal-4711';

let world: CommandWorld;
let variables: Readonly<Record<string, string>>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  world = await startCommandWorld();
  variables = {
    HOLDFAST_ENCRYPTION_KEYS: `k1:${key()}`,
    HOLDFAST_STORE: path.join(world.folder, 'encrypted.db'),
    HOLDFAST_GATEWAY_TOKENS: JSON.stringify([entry]),
  };
});
afterAll(async () => {
  const running = children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  );
  const ended = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(ended);
  await world.dispose();
});

/** Starts a command that serves; resolves with the line by which it says so. */
async function start(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const child = world.spawn([...args, '--json'], { variables: { ...variables, ...more } });
  children.push(child);
  const lines = createInterface({ input: child.stdout as Readable });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${args[0] ?? ''} ended before it served`);
  });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  return JSON.parse(line) as { readonly url: string };
}

const apiOf = (baseUrl: string) =>
  createApiClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
type Api = ReturnType<typeof apiOf>;
const of = (runId: string) => ({ params: { path: { runId } } });

let url: string;
beforeAll(async () => {
  const setup = await world.holdfast(['setup']);
  expect([setup.code, setup.err]).toEqual([0, '']);
  await start(['worker']);
  ({ url } = await start(['serve', '--port', '0']));
});

/** Starts a run that asks before it runs a command, and resolves when it waits. */
async function waitingRun(api: Api) {
  world.emulator.script([
    reply.toolCalls([{ name: 'run_command', input: { command: 'echo hi' } }]),
    reply.text(`Done with ${secret}.`),
  ]);
  const workspace = path.join(world.folder, 'workspace');
  const { data: started, error } = await api.POST('/v1/runs', {
    body: { agent: 'coder', goal: `Say ${secret}.`, workspace },
  });
  if (started === undefined) throw new Error(JSON.stringify(error));
  const { runId } = started;
  const [item] = await eventually(
    async () => (await api.GET('/v1/runs/{runId}', of(runId))).data?.pending ?? [],
    (items) => items.length > 0,
  );
  if (item?.type !== 'approval') throw new Error('it waits for no approval');
  return { runId, item };
}

async function approvedResult(api: Api, { runId, item }: Awaited<ReturnType<typeof waitingRun>>) {
  const { approvalId, digest } = item;
  const decided = await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
    params: { path: { runId, approvalId } },
    body: { digest },
  });
  expect(decided.response.status).toBe(204);
  const { data } = await api.GET('/v1/runs/{runId}/result', {
    params: { path: { runId }, query: { waitMs: 60_000 } },
  });
  return data;
}

test('a run is started, decided, read, and explained over HTTP, and no part of it is plain text', async () => {
  const api = apiOf(url);
  const waiting = await waitingRun(api);
  const { runId } = waiting;
  const { data: inbox } = await api.GET('/v1/inbox');
  expect(inbox?.waits).toMatchObject([{ run: { runId }, item: { tool: 'run_command' } }]);
  const answer = `Done with ${secret}.`;
  expect(await approvedResult(api, waiting)).toMatchObject({ status: 'completed', answer });
  const { data: transcript } = await api.GET('/v1/runs/{runId}/transcript', of(runId));
  expect(JSON.stringify(transcript)).toContain(`Say ${secret}.`);
  const events = [];
  const at = `${url}/v1/runs/${encodeURIComponent(runId)}/events`;
  for await (const event of readEvents({ url: at, token })) events.push(event);
  expect(events.at(-1)).toMatchObject({ name: 'end', data: { status: 'completed' } });
  expect(JSON.stringify(events)).toContain('approval');
  const why = await world.inProcess(['why', runId], { variables });
  expect([why.code, why.out]).toEqual([0, expect.stringContaining('completed')]);
  const history = await world.client.getHandle(runId).fetchHistory();
  const store = await readFile(variables['HOLDFAST_STORE'] ?? '');
  for (const bytes of [Buffer.from(JSON.stringify(history)), store])
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(2, -4)])
      expect(bytes.includes(form)).toBe(false);
});

test('a gateway with other keys does not start with that store', async () => {
  const wrong = { ...variables, HOLDFAST_ENCRYPTION_KEYS: `k1:${key()}` };
  const { code, err } = await world.inProcess(['serve', '--port', '0', '--wait', '0s'], {
    variables: wrong,
  });
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('encrypted with another encryption key'),
  ]);
});

test.each([
  ['another key', `k1:${key()}`],
  ['no key', ''],
])('a gateway with %s and another store says so, and harms no run', async (_what, keys) => {
  const waiting = await waitingRun(apiOf(url));
  const { runId, item } = waiting;
  const other = await start(['serve', '--port', '0'], {
    HOLDFAST_ENCRYPTION_KEYS: keys,
    HOLDFAST_STORE: path.join(world.folder, `other-${keys.length}.db`),
  });
  const run = `/v1/runs/${encodeURIComponent(runId)}`;
  const asked: readonly (readonly [string, object?])[] = [
    ...['', '/events', '/timeline', '/transcript'].map((at) => [`${run}${at}`] as const),
    ['/v1/inbox'],
    ['/v1/runs', { agent: 'coder', goal: 'x' }],
    [`${run}/messages`, { message: 'x' }],
    [`${run}/stop`, { reason: 'x' }],
    [`${run}/escalate`, { reason: 'x' }],
    [`${run}/fork`, { iteration: 0 }],
    [`${run}/approvals/${encodeURIComponent(item.approvalId)}/approve`, { digest: item.digest }],
  ];
  const answers = asked.map(async ([at, body]) => {
    const answer = await fetch(`${other.url}${at}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { code } = (await answer.json()) as { readonly code?: string };
    return [at, answer.status, code];
  });
  expect(await Promise.all(answers)).toEqual(asked.map(([at]) => [at, 503, 'converter-mismatch']));
  expect(await approvedResult(apiOf(url), waiting)).toMatchObject({ status: 'completed' });
});
