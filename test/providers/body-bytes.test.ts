/** The body of a request as bytes: those of its JSON, whatever was sent before, and each part of a conversation encoded once. */
import { anthropicRequest } from '../../activities/providers/anthropic/request';
import type { ChatDialect } from '../../activities/providers/openai/chat-dialect';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { chatRequest } from '../../activities/providers/openai/chat-request';
import { responsesRequest } from '../../activities/providers/openai/responses-request';
import type { ModelRequest } from '../../activities/providers/provider';
import { bodyBytes } from '../../activities/providers/request/body-bytes';
import { losesUnauthorized } from '../../activities/providers/stream/observed-fetch';
import type { AssistantMessage } from '../../workflows/core/message';
import { cases, fc } from '../support/properties';
import { requestFor, userMessage } from './support/provider-bench';
import { anyTranscript, damagedTranscript } from './support/transcripts';

describe('the bytes', () => {
  const message = fc.record(
    { role: fc.constant('user'), content: fc.jsonValue(), other: fc.jsonValue() },
    { requiredKeys: ['role'] },
  );
  const body = fc.dictionary(
    fc.oneof(fc.constantFrom('messages', 'input', 'model', '__proto__', 'content'), fc.string()),
    fc.oneof(fc.jsonValue(), fc.array(fc.oneof(message, fc.jsonValue())), fc.constant(undefined)),
  );

  it('are those of JSON.stringify, at the first time and at the next', () => {
    fc.assert(
      fc.property(body, (given) => {
        const json = JSON.stringify(given);
        expect(bodyBytes(given).toString()).toBe(json);
        expect(bodyBytes(given).toString()).toBe(json);
      }),
      cases(500),
    );
  });

  it('hold texts of any script, and quotes', () => {
    const text = 'Grüße, 世界, 👋, "quoted"\n\u2028';
    const given = { messages: [{ role: 'user', content: [{ type: 'text', text }] }] };
    expect(JSON.parse(bodyBytes(given).toString())).toEqual(given);
  });

  it.each([
    ['a message', (part: object) => ({ messages: [part] })],
    ['an item of the Responses API', (part: object) => ({ input: [part, { role: 'user' }] })],
  ])('of %s are made once', (_what, bodyOf) => {
    const toJSON = jest.fn(() => ({ type: 'text', text: 'hi' }));
    const part = { toJSON };
    const bodies = [bodyBytes(bodyOf(part)), bodyBytes(bodyOf(part))];
    expect(toJSON).toHaveBeenCalledTimes(1);
    expect(String(bodies[1])).toContain('{"type":"text","text":"hi"}');
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
          expect(bodyBytes(bodyOf(request)).toString()).toBe(JSON.stringify(fresh));
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
      const result = { toolCallId, name: 'look', content: `${n}`, isError: false };
      return [
        { role: 'assistant', vendor: 'earlier', model: 'earlier', blocks: [call] },
        { role: 'tool', results: [{ type: 'tool-result', ...result }] },
      ];
    };
    const messages = [userMessage('Look.'), ...[1, 2, 3, 4, 5, 6].flatMap(turnOf)];
    bodyBytes(bodyOf(requestFor('chat', { messages })));
    const longer = bodyOf(requestFor('chat', { messages: [...messages, ...turnOf(7)] }));
    const stringify = jest.spyOn(JSON, 'stringify');
    try {
      bodyBytes(longer);
      const encoded = stringify.mock.calls.map(([value]: readonly unknown[]) => value);
      const parts = encoded.filter((value) => typeof value === 'object' && !Array.isArray(value));
      // The call, its result, a breakpoint that moved, and the message that had it.
      expect(parts.length).toBeLessThanOrEqual(4);
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
