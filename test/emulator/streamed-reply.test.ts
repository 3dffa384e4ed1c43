/** Whatever a script says, both SDKs read from the stream exactly that. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { ReplyPart, ReplyStop } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import { cases, fc } from '../support/properties';
import { rawBytes, rawHttp, rawSse } from '../../bench/scorecard/provider/recorded-answer';

let emulator: VendorEmulator;

beforeAll(async () => {
  emulator = await VendorEmulator.start();
});

afterAll(async () => {
  await emulator.stop();
});

const words = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
const partOf = fc.oneof(
  words.map((text): ReplyPart => ({ type: 'text', text })),
  fc
    .record({ name: fc.constantFrom('read_file', 'run'), input: fc.dictionary(words, fc.json()) })
    .map(({ name, input }): ReplyPart => ({
      type: 'tool-call',
      name,
      argumentsText: JSON.stringify(input),
    })),
);
const parts = fc.array(partOf, { minLength: 1, maxLength: 4 });
const delivery = fc.record(
  { crlf: fc.boolean(), bytesPerWrite: fc.integer({ min: 30, max: 500 }) },
  { requiredKeys: [] },
);
const replies = fc
  .record({ parts, delivery, charactersPerDelta: fc.integer({ min: 1, max: 20 }) })
  .map(({ parts: said, ...options }) => reply.parts(said, options));

function textOf(said: readonly ReplyPart[]): string {
  return said.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function callsOf(said: readonly ReplyPart[]): readonly unknown[] {
  return said.flatMap((part) =>
    part.type === 'tool-call' ? [[part.name, JSON.parse(part.argumentsText)]] : [],
  );
}

const user = { role: 'user', content: 'hello' } as const;

async function messages(): Promise<readonly [string, readonly unknown[]]> {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const body = { model: 'm', max_tokens: 9, messages: [user] };
  const message = await client.messages.stream(body).finalMessage();
  return [
    message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    message.content.flatMap((block) =>
      block.type === 'tool_use' ? [[block.name, block.input]] : [],
    ),
  ];
}

async function chat(): Promise<readonly [string, readonly unknown[]]> {
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat'), maxRetries: 0 });
  const body = { model: 'm', messages: [user] };
  const completion = await client.chat.completions.stream(body).finalChatCompletion();
  const message = completion.choices[0]?.message;
  return [
    message?.content ?? '',
    (message?.tool_calls ?? []).map((call) => [
      call.function.name,
      JSON.parse(call.function.arguments) as unknown,
    ]),
  ];
}

async function responses(): Promise<readonly [string, readonly unknown[]]> {
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('responses'), maxRetries: 0 });
  const body = { model: 'm', input: 'hello', store: false };
  const response = await client.responses.stream(body).finalResponse();
  return [
    response.output_text,
    response.output.flatMap((item) =>
      item.type === 'function_call' ? [[item.name, JSON.parse(item.arguments)]] : [],
    ),
  ];
}

const wires = { messages, chat, responses };

test.each(['messages', 'chat', 'responses'] as const)(
  'reads from %s whatever the script says',
  async (wire) => {
    await fc.assert(
      fc.asyncProperty(replies, async (step) => {
        emulator.script([step]);
        const [text, calls] = await wires[wire]();
        expect(text).toBe(textOf(step.parts));
        expect(calls).toEqual(callsOf(step.parts));
      }),
      cases(15),
    );
    emulator.assertDrained();
  },
);

test.each<[ReplyStop, string, string, string]>([
  ['end', 'end_turn', 'stop', 'completed'],
  ['max-tokens', 'max_tokens', 'length', 'incomplete max_output_tokens'],
  ['pause', 'pause_turn', 'stop', 'completed'],
  ['content-filter', 'refusal', 'content_filter', 'incomplete content_filter'],
  ['context-window', 'model_context_window_exceeded', 'length', 'incomplete max_output_tokens'],
])('ends a reply by %s in the words of each vendor', async (stop, anthropic, chatWord, status) => {
  emulator.script(() => reply.text('so far', { stop }));
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url });
  const openai = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat') });
  const message = await client.messages
    .stream({ model: 'm', max_tokens: 9, messages: [user] })
    .finalMessage();
  const completion = await openai.chat.completions
    .stream({ model: 'm', messages: [user] })
    .finalChatCompletion();
  const response = await openai.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
  emulator.clearScripts();
  expect(message.stop_reason).toBe(anthropic);
  expect(completion.choices[0]?.finish_reason).toBe(chatWord);
  const reason = response.incomplete_details?.reason;
  expect([response.status, ...(reason === undefined ? [] : [reason])].join(' ')).toBe(status);
});

test('refuses in the words of each vendor', async () => {
  emulator.script(() => reply.refusal('No.'));
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url });
  const openai = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat') });
  const message = await client.messages
    .stream({ model: 'm', max_tokens: 9, messages: [user] })
    .finalMessage();
  const completion = await openai.chat.completions
    .stream({ model: 'm', messages: [user] })
    .finalChatCompletion();
  const response = await openai.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
  emulator.clearScripts();
  expect(message.stop_reason).toBe('refusal');
  expect(message.stop_details).toMatchObject({ type: 'refusal' });
  expect(completion.choices[0]?.message.refusal).toBe('No.');
  expect(response.output[0]).toMatchObject({ content: [{ type: 'refusal', refusal: 'No.' }] });
});

test('answers raw captures byte by byte, as cases.jsonl gives them', async () => {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const body = { model: 'm', max_tokens: 9, messages: [user] };
  const billing = { type: 'error', error: { type: 'invalid_request_error', message: 'credit' } };
  emulator.script([
    rawHttp({ status: 400, headers: { 'x-should-retry': 'false' }, body: billing }),
    rawHttp({ status: 502, body_text: { repeat: '<p>', times: 1000 } }),
    rawSse({
      status: 200,
      events: [
        'event: ping\ndata: {"type": "ping"}',
        { wait_ms: 1 },
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
      ],
      end: 'eof',
    }),
    rawSse({ events: [], end: 'error', error: { cause: { code: 'ECONNRESET' } } }),
    rawBytes({ chunks_hex: ['65', '76656e743a2070', '696e670a'], end: 'eof' }),
  ]);
  const failures: unknown[] = [];
  for (let count = 0; count < 5; count += 1) {
    await client.messages
      .stream(body)
      .finalMessage()
      .catch((error: unknown) => failures.push(error));
  }
  expect(failures).toHaveLength(5);
  expect(failures[0]).toMatchObject({ status: 400, error: billing });
  expect(failures[1]).toMatchObject({ status: 502 });
  expect(String(failures[2])).toMatch(/overloaded_error/);
  expect(String(failures[3])).toMatch(/terminated/);
  expect(String(failures[4])).toMatch(/without sending any chunks/);
  emulator.assertDrained();
});

test.each(['nested', 'flat', 'failed'] as const)(
  'puts an error into a Responses stream in its %s shape',
  async (eventShape) => {
    const openai = new OpenAI({
      apiKey: 'k',
      baseURL: emulator.baseUrl('responses'),
      maxRetries: 0,
    });
    emulator.script([fault.errorInStream({ status: 503, eventShape })]);
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      const stream = await openai.responses.create({ model: 'm', input: 'hi', stream: true });
      for await (const event of stream) seen.push(event.type);
    };
    const failure = await read().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (eventShape === 'nested') {
      expect(failure).toMatchObject({ code: 'server_is_overloaded' });
    } else {
      expect(seen).toContain(eventShape === 'flat' ? 'error' : 'response.failed');
    }
  },
);
