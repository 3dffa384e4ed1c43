/** The body of a request as bytes: those of its JSON, whatever was sent before, and each part of a conversation encoded once. */
import { anthropicRequest } from '../../activities/providers/anthropic/request';
import type { ChatDialect } from '../../activities/providers/openai/chat-dialect';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { chatRequest } from '../../activities/providers/openai/chat-request';
import { responsesRequest } from '../../activities/providers/openai/responses-request';
import type { ModelRequest } from '../../activities/providers/provider';
import {
  bodyPieces,
  encodedBody,
  losesUnauthorized,
} from '../../activities/providers/request/encoded-body';
import { isRecord } from '../../activities/providers/untrusted-json';
import type { AssistantMessage } from '../../workflows/core/message';
import { cases, fc } from '../support/properties';
import { requestFor, userMessage } from './support/provider-bench';
import { anyTranscript, damagedTranscript } from './support/transcripts';

const encoded = (body: object): string => Buffer.concat(bodyPieces(body)).toString();

describe('the bytes', () => {
  const message = fc.record(
    { role: fc.constant('user'), content: fc.jsonValue(), other: fc.jsonValue() },
    { requiredKeys: ['role'] },
  );
  const body = fc.dictionary(
    fc.oneof(fc.constantFrom('messages', 'input', 'model', '__proto__'), fc.string()),
    fc.oneof(fc.jsonValue(), fc.array(fc.oneof(message, fc.jsonValue())), fc.constant(undefined)),
  );

  it('are those of JSON.stringify', () => {
    fc.assert(
      fc.property(body, (given) => {
        expect(encoded(given)).toBe(JSON.stringify(given));
      }),
      cases(500),
    );
  });

  it('are those of JSON.stringify whatever was sent before', () => {
    const size = fc.constantFrom(10, 20_000, 40_000, 70_000);
    const journey = fc.record({
      sizes: fc.array(size, { minLength: 6, maxLength: 6 }),
      // Each request has some of the messages, in an order of its own.
      requests: fc.array(fc.array(fc.nat(5), { maxLength: 8 }), { minLength: 2, maxLength: 6 }),
    });
    fc.assert(
      fc.property(journey, ({ sizes, requests }) => {
        const pool = sizes.map((chars, n) => ({ role: 'user', content: `${n} ü`.padEnd(chars) }));
        for (const indices of requests) {
          const given = { messages: indices.map((index) => pool[index]), model: 'm' };
          // Not `toBe`, which would print the whole of them.
          expect(encoded(given) === JSON.stringify(given)).toBe(true);
        }
      }),
      cases(200),
    );
  });

  it('hold texts of any script, and quotes', () => {
    const text = 'Grüße, 世界, 👋, "quoted"\n\u2028';
    const given = { messages: [{ role: 'user', content: [{ type: 'text', text }] }] };
    expect(JSON.parse(encoded(given))).toEqual(given);
  });

  it.each([
    ['a short body', 10, Buffer],
    ['a long body', 70_000, ReadableStream],
  ])('of %s are sent whole, with their number', async (_what, chars, form) => {
    const { body, headers } = encodedBody({ messages: [{ content: 'ü'.repeat(chars) }] });
    expect(body).toBeInstanceOf(form);
    const bytes = Buffer.from(await new Response(body).arrayBuffer());
    expect(JSON.parse(bytes.toString())).toEqual({ messages: [{ content: 'ü'.repeat(chars) }] });
    expect(headers['content-length']).toBe(`${bytes.length}`);
  });

  it.each(['messages', 'input'])('of %s are made once where they fill a piece', (field) => {
    const toJSON = jest.fn(() => 'a'.repeat(30_000));
    const list = Array.from({ length: 7 }, () => ({ toJSON }));
    const first = bodyPieces({ [field]: list });
    expect(toJSON).toHaveBeenCalledTimes(7);
    const next = bodyPieces({ [field]: [...list, { role: 'user' }] });
    // The first one alone fills none.
    expect(toJSON).toHaveBeenCalledTimes(8);
    expect(next[2]).toBe(first[2]);
  });
});

/** A way in which a conversation is sent. */
type Sending = readonly [name: string, bodyOf: (request: ModelRequest) => object];

const sendings: readonly Sending[] = [
  ...['anthropic', 'deepseek'].map((vendor): Sending => [
    `anthropic ${vendor}`,
    (each) => anthropicRequest(each, { vendor }),
  ]),
  ...['openai', 'azure'].map((vendor): Sending => [
    `responses ${vendor}`,
    (each) => responsesRequest(each, vendor),
  ]),
  ...Object.entries<ChatDialect>(chatDialects).flatMap(([name, dialect]) =>
    [name, 'anthropic'].map((vendor): Sending => [
      `chat ${name}, thoughts of ${vendor}`,
      (each) => chatRequest(each, vendor, dialect),
    ]),
  ),
];

function bodyOfSending(index: number): Sending[1] {
  const [, bodyOf] = sendings[index] ?? [];
  if (bodyOf === undefined) throw new Error(`there is no sending ${index}`);
  return bodyOf;
}

/** A call with a signature of Gemini's, and details of a thought as OpenRouter gives them for one model. */
const signed: AssistantMessage = {
  ...{ role: 'assistant', vendor: 'gemini', model: 'gemini-3-pro' },
  blocks: [
    {
      ...{ type: 'reasoning', vendor: 'gemini', text: '' },
      opaque: { toolCallExtras: [{ index: 0, content: { google: { thought_signature: 'sig' } } }] },
    },
    {
      ...{ type: 'reasoning', vendor: 'openrouter', text: 'Thought.' },
      opaque: { reasoningDetails: [{ type: 'reasoning.text', text: 'Thought.' }], model: 'gpt-5' },
    },
    { type: 'tool-call', toolCallId: 'call-of-gemini', name: 'read_file', input: {} },
  ],
};

describe('a conversation', () => {
  const turn = fc.record({
    isFirst: fc.boolean(),
    thoughts: fc.constantFrom(undefined, 'omitted', 'with-text', 'with-signatures'),
    model: fc.constantFrom('claude-opus-5-5', 'gpt-5'),
    left: fc.constantFrom(0, 0, 1, 2),
  });
  const journey = fc.record({
    messages: fc.oneof(anyTranscript, damagedTranscript),
    first: fc.nat(sendings.length - 1),
    second: fc.nat(sendings.length - 1),
    // The same wire and dialect, with the thoughts of another vendor.
    areNeighbors: fc.boolean(),
    turns: fc.array(turn, { minLength: 3, maxLength: 8 }),
  });

  it('is sent the same after other requests of it as without them', () => {
    fc.assert(
      fc.property(journey, ({ messages: drawn, first, second, areNeighbors, turns }) => {
        const whole = [...drawn, signed, userMessage('Go on.')];
        for (const { isFirst, thoughts, model, left } of turns) {
          const bodyOf = bodyOfSending(isFirst ? first : areNeighbors ? first ^ 1 : second);
          const messages = whole.slice(0, Math.max(1, whole.length - left));
          const request = requestFor('chat', { model, messages, ...(thoughts && { thoughts }) });
          const fresh = bodyOf({ ...request, messages: structuredClone(messages) });
          expect(JSON.stringify(bodyOf(request))).toBe(JSON.stringify(fresh));
        }
      }),
      cases(400),
    );
  });

  it('goes to another model without the details of the first one', () => {
    const messages = [userMessage('Go on.'), signed, userMessage('Go on.')];
    const sent = ['gpt-5', 'claude-opus-5-5', 'gpt-5'].map((model) =>
      JSON.stringify(
        chatRequest(requestFor('chat', { model, messages }), 'openrouter', chatDialects.openrouter),
      ),
    );
    expect(sent.map((each) => each.includes('reasoning_details'))).toEqual([true, false, true]);
  });

  it.each(sendings)('that goes on is encoded from where it went on: %s', (_name, bodyOf) => {
    const turnOf = (n: number): ModelRequest['messages'] => {
      const toolCallId = `call-${n}`;
      const call = { type: 'tool-call', toolCallId, name: 'look', input: { n } } as const;
      const result = { toolCallId, name: 'look', content: `${n}`.padEnd(8_000), isError: false };
      return [
        { role: 'assistant', vendor: 'earlier', model: 'earlier', blocks: [call] },
        { role: 'tool', results: [{ type: 'tool-result', ...result }] },
      ];
    };
    const messages = [userMessage('Look.'), ...[...Array(20).keys()].flatMap(turnOf)];
    bodyPieces(bodyOf(requestFor('chat', { messages })));
    const longer = bodyOf(requestFor('chat', { messages: [...messages, ...turnOf(20)] }));
    const stringify = jest.spyOn(JSON, 'stringify');
    try {
      bodyPieces(longer);
      const made = stringify.mock.calls.filter(([value]: readonly unknown[]) => isRecord(value));
      // Two pieces of eight turns each are known; the rest, tools, and the first message are not.
      expect(made.length).toBeLessThanOrEqual(12);
    } finally {
      stringify.mockRestore();
    }
  });
});

it.each([
  ['6.24.1', false],
  ['7.18.2', false],
  ['7.19.0', true],
  ['7.24.7', true],
  ['7.25.0', false],
  ['8.0.2', true],
  ['8.1.0', false],
  ['18.0.1', false],
  [undefined, false],
])('the fetch of undici %s takes a 401 to a stream for a network error: %s', (version, does) => {
  expect(losesUnauthorized(version)).toBe(does);
});
