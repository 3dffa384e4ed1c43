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
  const running = children.filter(({ exitCode }) => exitCode === null);
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
  const [line] = (await once(lines, 'line')) as [string];
  return JSON.parse(line) as { readonly url: string };
}

const apiOf = (baseUrl: string) =>
  createApiClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const of = (runId: string) => ({ params: { path: { runId } } });

test('a run is started, decided, read, and explained over HTTP, and no part of it is plain text', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'run_command', input: { command: 'echo hi' } }]),
    reply.text(`Done with ${secret}.`),
  ]);
  await start(['worker']);
  const { url } = await start(['serve', '--port', '0']);
  const api = apiOf(url);
  const workspace = path.join(world.folder, 'workspace');
  const { data: started } = await api.POST('/v1/runs', {
    body: { agent: 'coder', goal: `Say ${secret}.`, workspace },
  });
  const runId = started?.runId ?? '';
  const pending = await eventually(
    async () => (await api.GET('/v1/runs/{runId}', of(runId))).data?.pending ?? [],
    (items) => items.length > 0,
  );
  const [item] = pending;
  if (item?.type !== 'approval') throw new Error('it waits for no approval');
  const { data: inbox } = await api.GET('/v1/inbox');
  expect(inbox?.waits).toMatchObject([{ run: { runId }, item: { tool: 'run_command' } }]);
  const { approvalId, digest } = item;
  const decided = await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
    params: { path: { runId, approvalId } },
    body: { digest },
  });
  expect(decided.response.status).toBe(204);
  const { data: outcome } = await api.GET('/v1/runs/{runId}/result', {
    params: { path: { runId }, query: { waitMs: 60_000 } },
  });
  expect(outcome).toMatchObject({ status: 'completed', answer: `Done with ${secret}.` });
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

test('a gateway with another key says so: it does not start with that store, and answers no 500', async () => {
  const wrong = { HOLDFAST_ENCRYPTION_KEYS: `k1:${key()}` };
  const refused = await world.inProcess(['serve', '--port', '0', '--wait', '0s'], {
    variables: { ...variables, ...wrong },
  });
  expect(refused.code).not.toBe(0);
  expect(refused.err).toMatch(/HOLDFAST_ENCRYPTION_KEYS|encrypt/);
  const other = { HOLDFAST_STORE: path.join(world.folder, 'other.db') };
  const { url } = await start(['serve', '--port', '0'], { ...wrong, ...other });
  console.log(refused.code, refused.err);
  const runs = (await world.holdfast(['list', '--json'], variables)).out;
  const { runId } = JSON.parse(runs.split('\n')[0] ?? '') as { runId: string };
  const run = `/v1/runs/${encodeURIComponent(runId)}`;
  const asked: readonly (readonly [string, object?])[] = [
    ...['/v1/runs', '/v1/inbox', run, `${run}/result`, `${run}/events`, `${run}/timeline`].map(
      (where) => [where] as const,
    ),
    [`${run}/transcript`],
    ['/v1/runs', { agent: 'coder', goal: 'x' }],
    [`${run}/messages`, { message: 'x' }],
    [`${run}/fork`, { iteration: 0 }],
  ];
  for (const [where, body] of asked) {
    const answer = await fetch(`${url}${where}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    console.log(where, answer.status, (await answer.text()).slice(0, 300));
  }
});
