/** Accounts at a cloud: the author's client of the vendor's own SDK carries the request, once, within our bounds. */
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Anthropic } from '@anthropic-ai/sdk';
import { AzureOpenAI } from 'openai';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { observedFetch } from '../../activities/providers/stream/observed-fetch';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import { failureOf, requestFor, sendOptions, textOf } from './support/provider-bench';

let emulator: VendorEmulator;
beforeAll(async () => {
  emulator = await VendorEmulator.start();
});
afterAll(() => emulator.stop());
beforeEach(() => {
  emulator.clearScripts();
});

const key = 'azure-key-0123456789abcdef';

describe.each(['chat', 'responses'] as const)('Azure OpenAI, %s', (api) => {
  const azure = openaiProvider({
    name: 'azure',
    api,
    apiKey: key,
    client: (options) =>
      new AzureOpenAI({
        ...options,
        baseURL: `${emulator.url}/openai`,
        apiVersion: '2025-04-01-preview',
        apiKey: key,
      }),
  });

  test('sends the request of this wire to the deployment, with its key and extra headers', async () => {
    emulator.script([reply.text('hello')]);
    const settings = {
      reasoning: { effort: 'low' },
      extraHeaders: { 'x-team': 'billing' },
    } as const;
    const request = requestFor('chat', { model: 'gpt-5', settings });
    expect(azure.problem()).toBeUndefined();
    expect(textOf(await azure.send(request, sendOptions()))).toBe('hello');
    const last = emulator.requests.at(-1);
    expect(last?.path).toBe(
      api === 'chat' ? '/openai/deployments/gpt-5/chat/completions' : '/openai/responses',
    );
    expect(last?.headers).toMatchObject({ 'api-key': '[redacted]', 'x-team': 'billing' });
    expect(last?.headers).not.toHaveProperty('authorization');
    expect(JSON.stringify(last?.body)).toMatch(/"(?:reasoning_)?effort":"low"/);
    expect(emulator.refusals).toEqual([]);
  });

  test('is asked once, and its failure is classified without the key', async () => {
    const before = emulator.requests.length;
    emulator.script([fault.http(401, { error: { message: `Bad key ${key}.` } })]);
    const asked = azure.send(requestFor('chat', { model: 'gpt-5' }), sendOptions());
    const failure = await failureOf(asked);
    expect(failure).toMatchObject({ code: 'auth', status: 401, route: 'azure/gpt-5' });
    expect(failure.message).not.toContain(key);
    expect(emulator.requests.length - before).toBe(1);
  });
});

test("a client of Anthropic's SDK carries the request, also its extra headers", async () => {
  emulator.script([reply.text('hello', { reasoning: 'hm' })]);
  const provider = anthropicProvider({
    name: 'cloud',
    client: (options) =>
      new Anthropic({
        ...options,
        apiKey: 'cloud-key',
        baseURL: emulator.baseUrl('anthropic', 'cloud'),
      }),
  });
  const settings = { extraHeaders: { 'anthropic-beta': 'some-beta' } };
  const request = requestFor('anthropic', { settings });
  expect(textOf(await provider.send(request, sendOptions()))).toBe('hello');
  expect(emulator.requests.at(-1)).toMatchObject({
    mount: 'cloud',
    headers: { authorization: 'Bearer [redacted]', 'anthropic-beta': 'some-beta' },
  });
});

const client = (): never => {
  throw new Error('no credentials: run "cloud login"');
};

test('a client that cannot be made is a failure of the route, in its own words', async () => {
  const provider = openaiProvider({ name: 'azure', api: 'chat', client });
  const failure = await failureOf(provider.send(requestFor('chat'), sendOptions()));
  expect(failure).toMatchObject({ route: 'azure/gpt-4.1' });
  expect(failure.message).toContain('run "cloud login"');
});

test.each([
  ['an address beside the client', { client, baseUrl: 'https://x.example' }, /both `client` and/],
  ['a client that is not a function', { client: {} as never }, /`client` that is not a function/],
])('refuses %s when the worker starts', (_name, more, words) => {
  expect(openaiProvider({ api: 'chat', name: 'azure', ...more }).problem()).toMatch(words);
  expect(anthropicProvider({ name: 'bedrock', ...more }).problem()).toMatch(words);
});

test('frames that their SDK takes apart are passed on as they come, and counted', async () => {
  const arrived = new EventEmitter();
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    response.write('a frame without any line');
    arrived.once('first', () => response.end(' and its end'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  let bytes = 0;
  const observed = observedFetch({ headers: {}, onBytes: () => (bytes += 1) });
  const answer = await observed.fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  let text = '';
  // The server ends only once its first bytes have come through.
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString();
    arrived.emit('first');
  }
  expect(text).toBe('a frame without any line and its end');
  expect(bytes).toBeGreaterThanOrEqual(2);
  expect(observed.bytes()).toBe(text.length);
  server.close();
});
