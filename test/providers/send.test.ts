/** What a send brings back on each wire, through the real SDKs and a real server. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import {
  models,
  providerOn,
  requestFor,
  sendOptions,
  testKey,
  textOf,
  userMessage,
  wires,
} from './support/provider-bench';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start({ vendor: 'one' });
});
afterEach(async () => {
  await emulator.stop();
});

describe.each(wires)('a send on the wire %s', (wire) => {
  it('streams text and ends with the closing event', async () => {
    emulator.script([reply.text('The file says hello 👋 to you.')]);
    const pieces: string[] = [];
    const got = await providerOn(emulator, wire).send(
      requestFor(wire),
      sendOptions({ onText: (text) => pieces.push(text) }),
    );
    expect(textOf(got)).toBe('The file says hello 👋 to you.');
    expect(pieces.join('')).toBe('The file says hello 👋 to you.');
    expect(got).toMatchObject({ stopReason: 'end', toolCalls: [], model: models[wire] });
    expect(got.requestId).toEqual(expect.any(String));
    emulator.assertDrained();
  });

  it.each([10, 60_000])('sends %i lines whole, and says how long they are', async (lines) => {
    emulator.script([reply.text('done')]);
    const text = Array.from({ length: lines }, (_, n) => `${n} ü`).join('\n');
    const request = requestFor(wire, { messages: [userMessage(text)] });
    await providerOn(emulator, wire).send(request, sendOptions());
    const [sent] = emulator.requests;
    expect(JSON.stringify(sent?.body)).toContain(JSON.stringify(text));
    expect(sent?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': `${Buffer.byteLength(JSON.stringify(sent?.body))}`,
    });
    expect(sent?.headers).not.toHaveProperty('transfer-encoding');
  });

  it('is billed by the emulator for what the reply says that it used', async () => {
    emulator.script([reply.toolCalls([{ name: 'read_file', input: { path: 'a.txt' } }])]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    await emulator.waitFor(({ requests: [sent] }) => sent?.progress.usage !== undefined);
    expect(emulator.requests[0]?.progress.usage).toMatchObject({
      outputTokens: got.usage.outputTokens,
    });
  });

  it('keeps parallel tool calls apart and their arguments as raw text', async () => {
    emulator.script([
      reply.toolCalls(
        [
          { name: 'read_file', input: { path: 'a.txt' } },
          { name: 'read_file', input: { path: 'ü/b "c".txt' } },
        ],
        { text: 'I read both.', charactersPerDelta: 3 },
      ),
    ]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.stopReason).toBe('tool-use');
    expect(got.toolCalls.map((call) => call.name)).toEqual(['read_file', 'read_file']);
    expect(got.toolCalls.map((call) => JSON.parse(call.argumentsText) as unknown)).toEqual([
      { path: 'a.txt' },
      { path: 'ü/b "c".txt' },
    ]);
    expect(new Set(got.toolCalls.map((call) => call.vendorId)).size).toBe(2);
    expect(textOf(got)).toBe('I read both.');
  });

  it.each(['{"path": "poem.txt", "content": "The sea', '{{"path":"a"}}', 'null', '{"a":1}{"b":2}'])(
    'hands on broken arguments as they came: %s',
    async (argumentsText) => {
      emulator.script([reply.rawToolArguments('read_file', argumentsText)]);
      const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
      expect(got.toolCalls[0]?.argumentsText).toBe(argumentsText);
    },
  );

  it('reads a call without arguments as an empty object', async () => {
    emulator.script([reply.rawToolArguments('read_file', '')]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.toolCalls[0]?.argumentsText).toBe('{}');
  });

  it('says that a reply was truncated in the middle of a tool call', async () => {
    emulator.script([reply.rawToolArguments('read_file', '{"path":"poe', { stop: 'max-tokens' })]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.stopReason).toBe('truncated');
    expect(got.toolCalls[0]?.argumentsText).toBe('{"path":"poe');
  });

  it('tells a refusal from an end', async () => {
    emulator.script([reply.refusal('I do not do that.')]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.stopReason).toBe('refusal');
    expect(JSON.stringify(got.blocks)).toContain('I do not do that.');
  });

  it('gives an empty reply as one without blocks', async () => {
    emulator.script([reply.empty()]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.blocks.filter((block) => block.type !== 'reasoning')).toEqual([]);
    expect(got).toMatchObject({ stopReason: 'end', toolCalls: [] });
  });

  it('counts each token in one class', async () => {
    const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 7 };
    emulator.script([reply.text('ok', { usage: { ...usage, cacheWriteTokens: 0 } })]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(got.usage).toEqual({ ...usage, cacheWriteTokens: 0 });
  });

  it.each([
    ['CRLF line ends', fault.crlf(reply.text('whole ✓'))],
    ['one byte a write', fault.oneByteChunks(reply.text('whole ✓'))],
    ['a storm of pings', fault.storm(50, 'ping', { during: reply.text('whole ✓') })],
    ['comments', fault.storm(5, 'comment', { during: reply.text('whole ✓') })],
  ])('reads a stream with %s', async (_name, step) => {
    emulator.script([step]);
    const got = await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    expect(textOf(got)).toBe('whole ✓');
  });

  it('sends no retry of its own', async () => {
    emulator.script([fault.http(429), fault.http(529), fault.http(500), fault.connection('reset')]);
    const provider = providerOn(emulator, wire);
    for (let sent = 1; sent <= 4; sent += 1) {
      await expect(provider.send(requestFor(wire), sendOptions())).rejects.toThrow();
      expect(emulator.requests).toHaveLength(sent);
    }
  });

  it('sends reasoning back to its own vendor, which knows its seal', async () => {
    emulator.script([
      reply.toolCalls([{ name: 'read_file', input: { path: 'a' } }], { reasoning: 'I must look.' }),
      reply.text('done'),
    ]);
    const provider = providerOn(emulator, wire);
    const first = await provider.send(requestFor(wire), sendOptions());
    const messages = [
      userMessage('Read a.txt'),
      {
        role: 'assistant',
        vendor: provider.vendor,
        model: first.model,
        blocks: [
          ...first.blocks,
          { type: 'tool-call', toolCallId: 'r_1_0', name: 'read_file', input: { path: 'a' } },
        ],
      },
      {
        role: 'tool',
        results: [
          {
            type: 'tool-result',
            toolCallId: 'r_1_0',
            name: 'read_file',
            content: 'A',
            isError: false,
          },
        ],
      },
    ] as const;
    await provider.send(requestFor(wire, { messages }), sendOptions());
    expect(emulator.refusals).toEqual([]);
    const kinds = first.blocks.map((block) => block.type);
    if (wire !== 'chat') {
      expect(kinds).toContain('reasoning');
      expect(JSON.stringify(emulator.requests[1]?.body)).toMatch(/"signature"|"encrypted_content"/);
    }
  });
});

describe('the environment', () => {
  const names = [
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_CUSTOM_HEADERS',
    'ANTHROPIC_LOG',
    'OPENAI_ORG_ID',
    'OPENAI_PROJECT_ID',
    'OPENAI_BASE_URL',
    'OPENAI_CUSTOM_HEADERS',
    'OPENAI_ADMIN_KEY',
  ];
  const before = names.map((name) => [name, process.env[name]] as const);
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  });

  it.each(wires)('changes nothing of a request on the wire %s', async (wire) => {
    for (const name of names) process.env[name] = 'http://surprise.test';
    process.env['ANTHROPIC_CUSTOM_HEADERS'] = 'X-Surprise: 1\nAuthorization: Bearer surprise';
    process.env['OPENAI_CUSTOM_HEADERS'] = 'X-Surprise: 1\nAuthorization: Bearer surprise';
    emulator.script([reply.text('ok')]);
    await providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    const headers = emulator.requests[0]?.headers ?? {};
    expect(Object.keys(headers)).not.toContain('x-surprise');
    expect(Object.keys(headers).filter((name) => name.startsWith('openai-'))).toEqual([]);
    expect(wire === 'anthropic' ? headers['authorization'] : headers['x-api-key']).toBeUndefined();
  });
});

describe('a configuration', () => {
  it.each([
    [anthropicProvider(), 'no API key'],
    [anthropicProvider({ apiKey: ' ' }), 'no API key'],
    [openaiProvider({ api: 'chat', apiKey: `${testKey}\n` }), 'a header cannot carry'],
    [
      openaiProvider({ api: 'chat', apiKey: testKey, baseUrl: 'localhost:80' }),
      'not an http(s) URL',
    ],
    [openaiProvider({ api: 'chat', apiKey: testKey, baseUrl: 'http://a:b@host' }), 'credentials'],
    [openaiProvider({ api: 'chat', apiKey: testKey, name: 'a/b' }), 'route names'],
  ])('that cannot work is told before anything is sent (%#)', (provider, words) => {
    expect(provider.problem()).toContain(words);
    expect(provider.problem()).not.toContain(testKey);
  });

  it('that is complete has no problem', () => {
    expect(anthropicProvider({ apiKey: testKey }).problem()).toBeUndefined();
    expect(openaiProvider({ api: 'responses', apiKey: testKey }).problem()).toBeUndefined();
  });
});

it('has sent nothing where a proxy resets the connection before it is used', async () => {
  const proxy = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const provider = anthropicProvider({ apiKey: testKey, baseUrl: `http://127.0.0.1:${port}` });
  let progress = (): { readonly reach: string } => ({ reach: 'never asked' });
  const sending = provider.send(
    requestFor('anthropic'),
    sendOptions({
      onSending: (asked) => {
        progress = asked;
      },
    }),
  );
  await expect(sending).rejects.toThrow(/ECONNRESET/);
  expect(progress().reach).toBe('unsent');
  proxy.close();
});
