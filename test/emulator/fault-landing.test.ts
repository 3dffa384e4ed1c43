/** Each family of faults lands on the vendors' real SDKs as research/llm-mocks.md saw it. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { WireName } from '../../testing/emulator/wire';

let emulator: VendorEmulator;

beforeEach(async () => {
  emulator = await VendorEmulator.start();
});

afterEach(async () => {
  await emulator.stop();
});

interface Seen {
  readonly text: string;
  readonly ended: string | undefined;
  readonly error: unknown;
}

/** Text or arguments, and the word that ends the reply. */
type Piece = readonly [string, (string | undefined)?];

const user = { role: 'user', content: 'hello' } as const;

async function* anthropicEvents(signal: AbortSignal | undefined): AsyncGenerator<Piece> {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const stream = await client.messages.create(
    { model: 'm', max_tokens: 9, messages: [user], stream: true },
    signal === undefined ? {} : { signal },
  );
  for await (const event of stream) {
    if (event.type === 'content_block_delta') {
      if (event.delta.type === 'text_delta') yield [event.delta.text];
      if (event.delta.type === 'input_json_delta') yield [event.delta.partial_json];
    }
    if (event.type === 'message_delta') yield ['', event.delta.stop_reason ?? undefined];
  }
}

async function* chatEvents(signal: AbortSignal | undefined): AsyncGenerator<Piece> {
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat'), maxRetries: 0 });
  const stream = await client.chat.completions.create(
    { model: 'm', messages: [user], stream: true },
    signal === undefined ? {} : { signal },
  );
  for await (const chunk of stream) {
    const choice = chunk.choices[0];
    const args = choice?.delta.tool_calls?.[0]?.function?.arguments ?? '';
    yield [(choice?.delta.content ?? '') + args, choice?.finish_reason ?? undefined];
  }
}

async function* responsesEvents(signal: AbortSignal | undefined): AsyncGenerator<Piece> {
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('responses'), maxRetries: 0 });
  const stream = await client.responses.create(
    { model: 'm', input: 'hello', stream: true },
    signal === undefined ? {} : { signal },
  );
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') yield [event.delta];
    if (event.type === 'response.function_call_arguments.delta') yield [event.delta];
    if (event.type === 'response.completed' || event.type === 'response.incomplete') {
      yield ['', event.response.status];
    }
  }
}

const readers = { anthropic: anthropicEvents, chat: chatEvents, responses: responsesEvents };

async function see(wire: WireName, signal?: AbortSignal): Promise<Seen> {
  let text = '';
  let ended: string | undefined;
  try {
    for await (const [piece, end] of readers[wire](signal)) {
      text += piece;
      ended = end ?? ended;
    }
    return { text, ended, error: undefined };
  } catch (error) {
    return { text, ended, error };
  }
}

async function seeStep(wire: WireName, step: Step): Promise<Seen> {
  emulator.script([step]);
  const seen = await see(wire);
  await emulator.waitFor(({ requests }) => requests.at(-1)?.progress.finished === true);
  expect(emulator.requests.at(-1)?.progress.landed).toBe(true);
  emulator.assertDrained();
  return seen;
}

const wires: readonly WireName[] = ['anthropic', 'chat', 'responses'];
const endWords = { anthropic: 'end_turn', chat: 'stop', responses: 'completed' };

describe.each(wires)('%s', (wire) => {
  test.each([400, 401, 402, 403, 404, 413, 429, 500, 503, 504, 529])(
    'answers HTTP %i in the vendor shape',
    async (status) => {
      const { error } = await seeStep(
        wire,
        fault.http(status, { headers: { 'retry-after': '7' } }),
      );
      expect(error).toMatchObject({ status });
      const { error: body } = error as { error: unknown };
      const inner = wire === 'anthropic' ? (body as { error: unknown }).error : body;
      expect(inner).toHaveProperty('type');
      expect(inner).toHaveProperty('message');
      expect((error as { headers: Headers }).headers.get('retry-after')).toBe('7');
    },
  );

  test('answers HTTP 502 with a page of HTML', async () => {
    const { error } = await seeStep(wire, fault.http(502, { bodyText: '<h1>Bad gateway</h1>' }));
    expect(error).toMatchObject({ status: 502 });
  });

  test('sends an overloaded error inside a 200 stream, after the text', async () => {
    const { error, text, ended } = await seeStep(
      wire,
      fault.overloadedInStream({ afterText: 'I begin' }),
    );
    expect(String(error)).toMatch(/overloaded/i);
    expect((error as { status: unknown }).status).toBeUndefined();
    expect(text).toBe('I begin');
    expect(ended).toBeUndefined();
  });

  test.each(['reset', 'fin'] as const)('breaks a stream by TCP %s', async (how) => {
    const { error, text } = await seeStep(wire, fault.cutStream({ afterText: 'I begin', how }));
    expect(String(error)).toMatch(/terminated/);
    expect(text).toBe('I begin');
  });

  test('ends a stream cleanly without the closing event', async () => {
    const { ended, text } = await seeStep(wire, fault.missingEnd(reply.text('whole text')));
    expect(text).toBe('whole text');
    expect(ended).toBeUndefined();
  });

  test('cuts a stream after a number of events', async () => {
    const { text } = await seeStep(
      wire,
      fault.cutStream({
        during: reply.text('abcdef', { charactersPerDelta: 1 }),
        afterEvents: 5,
        how: 'eof',
      }),
    );
    expect(text).toBe({ anthropic: 'ab', chat: 'abcd', responses: 'a' }[wire]);
    expect(emulator.requests[0]?.progress.eventsSent).toBe(5);
  });

  test.each(['reset', 'fin'] as const)(
    'ends the connection before the head by TCP %s',
    async (how) => {
      const { error } = await seeStep(wire, fault.connection(how));
      expect(String(error)).toMatch(/Connection error/);
    },
  );

  test('breaks the connection after the head', async () => {
    const { error } = await seeStep(wire, fault.connection('reset', 'after-headers'));
    expect(String(error)).toMatch(/terminated/);
  });

  test.each([undefined, 5])('stalls for ever (pings every %s ms)', async (pingEveryMs) => {
    const step = fault.stall({
      afterText: 'I begin',
      ...(pingEveryMs === undefined ? {} : { pingEveryMs }),
    });
    emulator.script([step]);
    const stop = new AbortController();
    const seen = see(wire, stop.signal);
    await emulator.waitFor(({ requests }) => requests[0]?.progress.landed === true);
    expect(emulator.requests[0]?.progress.finished).toBe(false);
    stop.abort();
    expect((await seen).ended).toBeUndefined();
    await emulator.waitFor(({ requests }) => requests[0]?.progress.finished === true);
  });

  test('stalls before the head', async () => {
    emulator.script([fault.connection('stall')]);
    const stop = new AbortController();
    const seen = see(wire, stop.signal);
    await emulator.waitFor(({ requests }) => requests[0]?.progress.landed === true);
    stop.abort();
    expect(String((await seen).error)).toMatch(/aborted/i);
  });

  test('sends a malformed data line', async () => {
    const { error } = await seeStep(wire, fault.malformedData({ afterText: 'I begin' }));
    expect(error).toBeInstanceOf(SyntaxError);
  });

  test('answers 200 with an empty stream', async () => {
    expect(await seeStep(wire, fault.emptyBody())).toMatchObject({ text: '', ended: undefined });
  });

  test.each([{ error: { message: 'no', type: 'x' } }, '<html></html>'])(
    'answers 200 with %j, which is no stream',
    async (body) => {
      expect(await seeStep(wire, fault.notSse(body))).toMatchObject({ text: '', ended: undefined });
    },
  );

  test.each([
    ['CRLF line ends', fault.crlf(reply.text('whole ä😀'))],
    ['one byte per write', fault.oneByteChunks(reply.text('whole ä😀'))],
    ['a slow drip', fault.drip(64, 1, reply.text('whole ä😀'))],
    ['a late head', fault.lateHeaders(20, reply.text('whole ä😀'))],
    ['a storm of pings', fault.storm(500, 'ping', { during: reply.text('whole ä😀') })],
    ['a storm of comments', fault.storm(500, 'comment', { during: reply.text('whole ä😀') })],
    ['a pause with pings', fault.pause(30, { pingEveryMs: 5, during: reply.text('whole ä😀') })],
  ])('delivers a whole reply in spite of %s', async (_name, step) => {
    expect(await seeStep(wire, step)).toEqual({
      text: 'whole ä😀',
      ended: endWords[wire],
      error: undefined,
    });
  });

  test.each([
    ['cut', '{"path": "a'],
    ['doubled', '{"path":"a"}{"path":"a"}'],
    ['no JSON at all', 'path = a'],
    ['empty', ''],
  ])('streams %s tool arguments as they are', async (_name, argumentsText) => {
    const { text } = await seeStep(wire, reply.rawToolArguments('read_file', argumentsText));
    expect(text).toBe(argumentsText);
  });

  test('lets two events change places', async () => {
    const during = reply.text('abcd', { charactersPerDelta: 2 });
    const afterEvents = { anthropic: 3, chat: 1, responses: 4 }[wire];
    const { text } = await seeStep(wire, fault.wrongOrder({ during, afterEvents }));
    expect(text).toBe('cdab');
  });
});
