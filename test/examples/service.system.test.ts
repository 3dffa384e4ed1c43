/** The example service as people run it: a worker and a web server as processes, Postgres, MCP, and every endpoint over HTTP. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { Client } from 'pg';
import { z } from 'zod';
import type { TextDelta, TimelineEntry } from '../../client/index';
import { reply, VendorEmulator } from '../../testing/index';
import type { TestPostgres } from '../support/postgres';
import { startPostgres } from '../support/postgres';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';

const folder = path.resolve(__dirname, '..', '..', 'examples', 'service');
const people = {
  ada: { name: 'Ada', customer: { customerId: 'C-1', plan: 'basic' } },
  bob: { name: 'Bob', customer: { customerId: 'C-2', plan: 'gold' } },
  grace: { name: 'Grace' },
} as const;
type Name = keyof typeof people;

let temporal: DevServer;
let postgres: TestPostgres;
let shop: Client;
let emulator: VendorEmulator;
let policies: Server;
let worker: WorkerProcess;
let web: WorkerProcess;
let address: string;
let env: Readonly<Record<string, string>>;

function policyServer(): McpServer {
  const server = new McpServer({ name: 'policies', version: '1.0.0' });
  server.registerTool('search', { inputSchema: { words: z.string() } }, ({ words }) => ({
    content: [{ type: 'text', text: `About ${words}: refunds are possible for 30 days.` }],
  }));
  return server;
}

async function startWeb(port: string): Promise<void> {
  const script = path.join(folder, 'web.ts');
  web = await startWorkerProcess({
    script,
    env: { ...env, PORT: port },
    readyLine: 'Listening at',
  });
  [, address = ''] = /Listening at (\S+)/.exec(web.output()) ?? [];
}

beforeAll(async () => {
  temporal = await startDevServer();
  postgres = await startPostgres();
  const [store, shopUrl] = [await postgres.newDatabase(), await postgres.newDatabase()];
  shop = new Client({ connectionString: shopUrl });
  await shop.connect();
  await shop.query(readFileSync(path.join(folder, 'shop.sql'), 'utf8'));
  emulator = await VendorEmulator.start();
  policies = createServer((request, response) => {
    const transport = new StreamableHTTPServerTransport();
    void policyServer()
      .connect(transport)
      .then(() => transport.handleRequest(request, response));
  });
  await new Promise<void>((resolve) => policies.listen(0, '127.0.0.1', resolve));
  const { port } = policies.address() as AddressInfo;
  env = {
    TEMPORAL_ADDRESS: temporal.address,
    HOLDFAST_TASK_QUEUE: uniqueName('service'),
    HOLDFAST_STORE: store,
    HOLDFAST_LOG_LEVEL: 'error',
    ANTHROPIC_API_KEY: 'test-key',
    ANTHROPIC_BASE_URL: emulator.url,
    SHOP_DATABASE: shopUrl,
    POLICIES_MCP: `http://127.0.0.1:${port}/mcp`,
    SERVICE_PEOPLE: JSON.stringify(
      Object.fromEntries(
        Object.entries(people).map(([token, person]) => [hash('sha256', token), person]),
      ),
    ),
  };
  const script = path.join(folder, 'worker.ts');
  worker = await startWorkerProcess({ script, env, readyLine: 'The worker is ready.' });
  await startWeb('0');
});

afterAll(async () => {
  expect(await web.terminate()).toBe(0);
  expect(await worker.terminate()).toBe(0);
  policies.closeAllConnections();
  policies.close();
  await emulator.stop();
  await shop.end();
  await postgres.stop();
  await temporal.close();
});
beforeEach(() => {
  emulator.clearScripts();
});

async function ask(who: Name | 'nobody', method: 'GET' | 'POST', place: string, body?: object) {
  const headers = { authorization: `Bearer ${who}`, 'content-type': 'application/json' };
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  const asked = body === undefined ? { authorization: headers.authorization } : headers;
  const response = await fetch(`${address}${place}`, { method, headers: asked, ...given });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function start(who: Name, goal: string): Promise<string> {
  const { status, body } = await ask(who, 'POST', '/runs', { goal });
  expect(status).toBe(201);
  return `/runs/${encodeURIComponent(String(body['runId']))}`;
}

type Told = TimelineEntry | TextDelta;

/** What a browser's `EventSource` reads: until the end, or until the connection breaks. */
async function* told(who: Name, run: string, lastEventId?: string): AsyncGenerator<Told, void> {
  const known = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await fetch(`${address}${run}/events`, {
    headers: { authorization: `Bearer ${who}`, ...known },
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let held = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (held + text).split('\n\n');
    held = events.pop() ?? '';
    for (const event of events) {
      const entry = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as Told;
      expect(/^id: (.*)$/m.exec(event)?.[1]).toBe(entry.id);
      yield entry;
    }
  }
}

/** Reads on until something waits for a person; returns its id and digest. */
async function untilWait(entries: AsyncIterable<Told>, into: Told[]) {
  for await (const entry of entries) {
    into.push(entry);
    if (entry.type === 'WaitStartedEvent' && 'id' in entry.wait)
      return { digest: '', ...entry.wait };
  }
  throw new Error('The run ended without a wait.');
}

const ids = (entries: readonly Told[]) => entries.flatMap(({ id }) => id ?? []);
const done = (refunded: readonly string[]) =>
  reply.toolCalls([{ name: 'complete_task', input: { summary: 'Done.', result: { refunded } } }], {
    text: 'All of it is done now, and nothing is left to do. '.repeat(6),
    charactersPerDelta: 8,
    delivery: { writeEveryMs: 40 },
  });
const call = (name: string, input: Readonly<Record<string, string>> = {}) =>
  reply.toolCalls([{ name, input }]);
const refunds = async () => (await shop.query('SELECT "order" FROM refunds')).rows as unknown[];

test('a refund with a question, an approval, a subagent and MCP goes on over a killed web server', async () => {
  emulator.script([
    call('list_orders'),
    call('ask_policies', { task: 'How long are refunds possible?' }),
    call('policies_search', { words: 'refunds' }),
    reply.text('For 30 days.'),
    call('ask_user', { question: 'Which order?' }),
    call('refund_order', { order: 'B-5' }),
    call('refund_order', { order: 'A-17' }),
    call('open_ticket', { subject: 'Fetch A-17' }),
    done(['A-17']),
  ]);
  const run = await start('ada', 'Refund my order.');
  const seen: Told[] = [];
  const question = await untilWait(told('ada', run), seen);
  expect(question.kind).toBe('question');
  expect(await ask('ada', 'GET', run)).toMatchObject({
    body: { status: 'waiting', pending: [{ question: 'Which order?', questionId: question.id }] },
  });
  expect(await ask('ada', 'POST', '/runs', { goal: 'And more.' })).toMatchObject({ status: 409 });
  await ask('ada', 'POST', `${run}/answers/${question.id}`, { answer: 'A-17' });

  // Somebody else's order: approved, and the shop still refuses it.
  const first = await untilWait(told('ada', run, ids(seen).at(-1)), seen);
  await ask('grace', 'POST', `${run}/decisions/${first.id}`, { digest: first.digest });

  // The server dies while the browser waits; the browser connects to the next one.
  const waiting = told('ada', run, ids(seen).at(-1));
  const second = await untilWait(waiting, seen);
  const [, port = ''] = /:(\d+)$/.exec(address) ?? [];
  const open = fetch(`${address}${run}/events`, { headers: { authorization: 'Bearer ada' } });
  await (await open).body?.getReader().read();
  await web.kill();
  await startWeb(port);

  const decision = `${run}/decisions/${second.id}`;
  expect(await ask('ada', 'POST', decision, { digest: second.digest })).toMatchObject({
    status: 403,
  });
  expect(await ask('grace', 'POST', decision, { digest: first.digest })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('is not the one that was shown') as string },
  });
  const { body: listed } = await ask('grace', 'GET', '/waiting');
  expect(JSON.stringify(listed)).toContain('support-C-1:1');
  expect(await refunds()).toEqual([]);
  await ask('grace', 'POST', decision, { digest: second.digest });
  for await (const entry of told('ada', run, ids(seen).at(-1))) seen.push(entry);

  // Each entry once, whoever reads it and when.
  const all: Told[] = [];
  for await (const entry of told('ada', run)) all.push(entry);
  expect(ids(seen)).toEqual(ids(all));
  expect(seen.at(-1)?.type).toBe('RunEndedEvent');
  expect(seen.filter(({ type }) => type === 'TextDelta').length).toBeGreaterThan(1);
  expect(await ask('ada', 'GET', run)).toMatchObject({
    status: 200,
    body: { status: 'completed', output: { refunded: ['A-17'] } },
  });
  expect(await refunds()).toEqual([{ order: 'A-17' }]);
  expect((await shop.query('SELECT customer, subject FROM tickets')).rows).toEqual([
    { customer: 'C-1', subject: 'Fetch A-17' },
  ]);
  const sent = emulator.requests.map(({ body }) => JSON.stringify(body));
  expect(sent.some((body) => body.includes('refunds are possible for 30 days'))).toBe(true);
  expect(sent.at(-1)).toContain('There is no order');
  emulator.assertDrained();
});

test('a rejection is read by the model, the conversation goes on, and a run is canceled', async () => {
  emulator.script([
    call('refund_order', { order: 'A-18' }),
    call('refund_order', { order: 'A-17' }),
  ]);
  const run = await start('ada', 'Refund A-18, too.');
  const seen: Told[] = [];
  const wait = await untilWait(told('ada', run), seen);
  const rejection = { digest: wait.digest, rejection: 'It was a present.' };
  expect((await ask('grace', 'POST', `${run}/decisions/${wait.id}`, rejection)).status).toBe(200);
  await untilWait(told('ada', run, ids(seen).at(-1)), seen);
  const told2 = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(told2).toContain('It was a present.');
  // The thread's first run.
  expect(told2).toContain('Which order?');
  expect(await ask('ada', 'POST', `${run}/cancel`)).toMatchObject({ status: 200 });
  for await (const entry of told('ada', run, ids(seen).at(-1))) seen.push(entry);
  expect(await ask('ada', 'GET', run)).toMatchObject({ body: { status: 'cancelled' } });
  expect(await ask('ada', 'POST', `${run}/cancel`)).toMatchObject({ status: 409 });
  expect(await refunds()).toEqual([{ order: 'A-17' }]);
});

test('nobody reaches what is not theirs, and what cannot work is refused with its status', async () => {
  emulator.script([call('refund_order', { order: 'B-5' }), done(['B-5'])]);
  const run = await start('bob', 'Refund B-5.');
  for await (const entry of told('bob', run)) expect(entry.type).not.toBe('WaitStartedEvent');
  const refused = [
    [await ask('nobody', 'GET', run), 401, 'Give a bearer token.'],
    [await ask('ada', 'GET', run), 404, 'There is no such run.'],
    [await ask('ada', 'GET', `${run}/events`), 404, 'There is no such run.'],
    [await ask('ada', 'POST', `${run}/cancel`), 404, 'There is no such run.'],
    [await ask('ada', 'GET', '/waiting'), 403, 'Only the staff may do this.'],
    [await ask('grace', 'POST', '/runs', { goal: 'x' }), 403, 'Only customers start runs.'],
    [await ask('bob', 'POST', '/runs', { gaol: 'x' }), 400, 'gaol'],
    [await ask('bob', 'POST', '/runs', { goal: '' }), 400, 'The goal is empty'],
    [await ask('grace', 'GET', '/runs/nothing'), 404, 'nothing'],
    [await ask('grace', 'GET', '/runs/nothing/events'), 404, 'nothing'],
    [await ask('bob', 'POST', `${run}/answers/q-1`, { answer: 'x' }), 409, 'has ended'],
  ] as const;
  for (const [{ status, body }, code, words] of refused) {
    expect([status, body['message']]).toEqual([code, expect.stringContaining(words)]);
  }
  emulator.assertDrained();
});
