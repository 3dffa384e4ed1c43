/**
 * Servers that are silent in a lively way: what keeps a call alive, for how long, and what is progress, through the real SDKs.
 *
 * Sources of the inputs: api-docs.deepseek.com (rate limit: `: keep-alive`, empty lines), openclaw/openclaw#152535 (comments
 * before the first event), AntigmaLabs/ante#187 (Azure's `event: keepalive`, lifecycle events), frontman-ai/frontman#731
 * (Anthropic's pings before any block), ollama/ollama#14932 (empty deltas while a tool call is composed), antirez/ds4#1006
 * (`: generating` while a call is withheld), anomalyco/opencode#43519 (comments for ever).
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { ModelReply, SendOptions } from '../../activities/providers/provider';
import type { WireName } from '../../testing/emulator/wire';
import { failureOf, requestFor, sendOptions, testKey, textOf } from './support/provider-bench';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string }): string => `event: ${value.type}\n${data(value)}`;
const chunk = (delta: object, more: object = {}): string =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...more }] });

const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'claude' };
const started = event({
  type: 'message_start',
  message: { ...message, usage: { input_tokens: 9, output_tokens: 1 } },
} as { type: string });
const item = { type: 'message', id: 'i', role: 'assistant', status: 'completed' };
const said = { ...item, content: [{ type: 'output_text', text: 'done' }] };
const response = { id: 'r', object: 'response', model: 'gpt-5', output: [] };

/** Of each wire: what comes first, and a whole answer behind it. */
const answers: Readonly<Record<WireName, readonly [first: string, rest: string]>> = {
  anthropic: [
    started,
    [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
      .map(event)
      .join(''),
  ],
  responses: [
    event({ type: 'response.created', response } as { type: string }),
    [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.output_item.done', output_index: 0, item: said },
      {
        type: 'response.completed',
        response: { ...response, status: 'completed', output: [said] },
      },
    ]
      .map(event)
      .join(''),
  ],
  chat: [
    chunk({ role: 'assistant', content: '' }),
    `${chunk({ content: 'done' })}${chunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`,
  ],
};

/** What is written every 40 ms, with the wire and who sends it. */
const lively: readonly (readonly [name: string, wire: WireName, ping: string])[] = [
  ["OpenRouter's comments", 'chat', ': OPENROUTER PROCESSING\n\n'],
  ["DeepSeek's comments", 'chat', ': keep-alive\n\n'],
  ['empty lines', 'chat', '\n'],
  ['empty deltas', 'chat', chunk({ role: 'assistant', content: '' })],
  ['empty choices', 'chat', data({ id: 'c', object: 'chat.completion.chunk', choices: [] })],
  [
    'counts alone',
    'chat',
    data({ id: 'c', choices: [], usage: { prompt_tokens: 9, completion_tokens: 0 } }),
  ],
  ['comments on withheld calls', 'chat', ': generating\n\n'],
  ["Anthropic's pings", 'anthropic', event({ type: 'ping' })],
  ['comments', 'anthropic', ': keepalive\n\n'],
  ["Azure's keepalive events", 'responses', 'event: keepalive\ndata: {"type":"keepalive"}\n\n'],
  [
    'lifecycle events',
    'responses',
    event({ type: 'response.in_progress', response } as { type: string }),
  ],
  ["xAI's comments", 'responses', ': keepalive\n\n'],
];

const pingEveryMs = 40;

interface Script {
  readonly wire: WireName;
  readonly first: string;
  readonly ping: string;
  /** For ever, if absent. */
  readonly forMs?: number;
}

/** Plays a script on a server of its own, to one call of the real provider. */
async function play(
  { wire, first, ping, forMs }: Script,
  options: Partial<SendOptions>,
): Promise<ModelReply> {
  const server = createServer((request, answer) => {
    request.resume();
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write(first);
    void (async () => {
      const endAtMs = performance.now() + (forMs ?? Infinity);
      while (performance.now() < endAtMs && !answer.destroyed) {
        answer.write(ping);
        await sleep(pingEveryMs);
      }
      answer.end(answers[wire][1]);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider =
    wire === 'anthropic'
      ? anthropicProvider({ apiKey: testKey, baseUrl })
      : openaiProvider({ api: wire, apiKey: testKey, baseUrl });
  try {
    return await provider.send(requestFor(wire), sendOptions(options));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const limits = { firstByteMs: 20_000, betweenBytesMs: 1_500, thinkingMs: 60_000 };

test.concurrent.each(
  lively.flatMap(([name, wire, ping]) => [
    [name, wire, 'before any event', { wire, ping, first: '' }] as const,
    [name, wire, 'behind the first event', { wire, ping, first: answers[wire][0] }] as const,
  ]),
)('%s on the wire %s outlive the deadline of silence, %s', async (_name, _wire, _at, script) => {
  expect(textOf(await play({ ...script, forMs: 2_500 }, limits))).toBe('done');
});

test.concurrent.each(lively)(
  '%s on the wire %s end at the limit of thoughts, and ask for the next route',
  async (_name, wire, ping) => {
    const shorter = { ...limits, thinkingMs: 1_600 };
    const failure = await failureOf(play({ wire, first: answers[wire][0], ping }, shorter));
    expect(failure).toMatchObject({ code: 'timeout', refusesRetry: true });
    expect(failure.message).toContain('no piece of content for 1600 ms');
  },
);

test.concurrent.each([
  ['reasoning_content', { reasoning_content: 'hm ' }],
  ['reasoning', { reasoning: 'hm ' }],
  ['arguments', { tool_calls: [{ index: 0, id: 't', function: { name: 'a', arguments: ' ' } }] }],
])(
  'a stream of nothing but %s is progress, beyond every limit of silence',
  async (_name, delta) => {
    const script = { wire: 'chat', first: '', ping: chunk(delta), forMs: 3_500 } as const;
    const reply = await play(script, { ...limits, thinkingMs: 1_500 });
    expect(reply.blocks.length).toBeGreaterThan(0);
  },
);

test('silence between two pings that is too long is silence', async () => {
  const script = { wire: 'chat', first: '', ping: ': OPENROUTER PROCESSING\n\n' } as const;
  const failure = await failureOf(play(script, { ...limits, betweenBytesMs: 20 }));
  expect(failure.message).toContain('no byte for 20 ms');
  expect(failure.refusesRetry).toBeUndefined();
});
