/** Each dialect against its server, played as strictly as it is: real SDKs over HTTP, inputs from public reports. */
import { pixel } from '../../../bench/scorecard/transcripts/pixels';
import { z } from 'zod';
import { chatDialects } from '../../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { ModelRequest } from '../../../activities/providers/provider';
import { reply } from '../../../testing/emulator/script';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { JsonObject } from '../../../workflows/core/json';
import type { AssistantMessage, Message, ToolCallBlock } from '../../../workflows/core/message';
import {
  failureOf,
  requestFor,
  sendOptions,
  testKey,
  userMessage,
} from '../support/provider-bench';
import type { Served } from './served';
import { sendTo, startServers } from './served';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await startServers();
});
afterEach(async () => {
  await emulator.stop();
});

const called = (toolCallId: string, input: JsonObject = { path: 'a.txt' }): ToolCallBlock => ({
  type: 'tool-call',
  toolCallId,
  name: 'read_file',
  input,
});

function said(vendor: string, ...blocks: AssistantMessage['blocks']): AssistantMessage {
  return { role: 'assistant', vendor, model: 'm', blocks };
}

function results(...ids: readonly string[]): Message {
  return {
    role: 'tool',
    results: ids.map((toolCallId) => ({
      type: 'tool-result',
      toolCallId,
      name: 'read_file',
      content: 'content',
      isError: false,
    })),
  };
}

const thought = (vendor: string): AssistantMessage['blocks'][number] => ({
  type: 'reasoning',
  vendor,
  text: 'I should look.',
});
const picture: Message = {
  role: 'user',
  blocks: [pixel.png],
};

/** After a call of another vendor, whose id no Mistral template takes (anomalyco/opencode#1680). */
const afterCall: readonly Message[] = [
  userMessage('Read a.txt'),
  said('anthropic', called('call_PTLP8xhu3uwZk4l3nlnrrJha')),
  results('call_PTLP8xhu3uwZk4l3nlnrrJha'),
];

type Row = readonly [string, Served, readonly Message[], Partial<ModelRequest>?];
type FullRow = readonly [string, Served, readonly Message[], Partial<ModelRequest>];

const rows: readonly Row[] = [
  ['an id of another vendor (anomalyco/opencode#1680)', 'mistral', afterCall],
  [
    'a note after a result (avante-corp/avante.nvim#2562)',
    'mistral',
    afterCall,
    { note: 'Go on.' },
  ],
  ['an image after a result (onyx-dot-app/onyx#6458)', 'mistral', [...afterCall, picture]],
  [
    'thoughts of its own (charmbracelet/crush#1590)',
    'mistral',
    [userMessage('a'), said('mistral', thought('mistral'), called('x1')), results('x1')],
  ],
  [
    'two calls with one id (editor-code-assistant/eca#233)',
    'mistral',
    [
      userMessage('a'),
      said('mistral', called('abcDEF123')),
      results('abcDEF123'),
      said('mistral', called('abcDEF123')),
      results('abcDEF123'),
    ],
  ],
  ['a temperature', 'mistral', afterCall, { settings: { temperature: 0.2 } }],
  [
    'a call with its thought (MoonshotAI, deer-flow#3043)',
    'kimi',
    [userMessage('a'), said('kimi', thought('kimi'), called('x1')), results('x1')],
  ],
  [
    'a call of another vendor, which has no thought (Lapis0x0/obsidian-yolo#243)',
    'kimi',
    afterCall,
  ],
  [
    'a temperature (java.agentscope.io, Kimi)',
    'kimi',
    afterCall,
    { settings: { temperature: 0.2 } },
  ],
  [
    'every message with its thought (earendil-works/pi#3636)',
    'deepseek',
    [
      userMessage('a'),
      said('deepseek', thought('deepseek'), called('x1')),
      results('x1'),
      said('openai', { type: 'text', text: 'So.' }),
      userMessage('b'),
    ],
  ],
  ['a call without a signature (Gitlawb/openclaude#67)', 'gemini', afterCall],
  [
    'a call after words of the model (lobehub/lobehub#10049)',
    'gemini',
    [
      userMessage('a'),
      said('x', { type: 'text', text: 'b' }),
      said('x', called('x1')),
      results('x1'),
    ],
  ],
  ['the key of a prompt cache', 'gemini', afterCall, { cacheKey: 'holdfast-1' }],
  ['a message that only calls (pydantic/pydantic-ai#5206)', 'ollama', afterCall],
  ['people who speak twice (microsoft/autogen#1037)', 'vllm', [userMessage('a'), userMessage('b')]],
  ['a note after people', 'vllm', [userMessage('a')], { note: 'Go on.' }],
  [
    'two messages of the model in a row',
    'vllm',
    [
      userMessage('a'),
      said('x', { type: 'text', text: 'b' }),
      said('x', called('x1')),
      results('x1'),
    ],
  ],
  [
    'people after a result (mistralai/mistral-vibe#1006)',
    'vllm-mistral',
    [...afterCall, userMessage('b'), said('x', called('x2')), results('x2'), userMessage('c')],
  ],
];

const fullRows = rows.map(([title, name, messages, more = {}]): FullRow => [
  title,
  name,
  messages,
  more,
]);

test.each(fullRows)('%s is taken by %s', async (_title, name, messages, more) => {
  emulator.script([reply.text('done')]);
  await sendTo(emulator, name, messages, more);
  expect(emulator.refusals.map(({ error }) => error.message)).toEqual([]);
});

test.each<readonly [Served, readonly Message[], Partial<ModelRequest>, RegExp]>([
  [
    'mistral',
    afterCall,
    {},
    /Tool call id was call_\w+ but must be a-z, A-Z, 0-9, with a length of 9/,
  ],
  ['kimi', afterCall, {}, /reasoning_content is missing in assistant tool call message at index 2/],
  ['deepseek', afterCall, {}, /`reasoning_content` in the thinking mode must be passed back/],
  ['gemini', afterCall, {}, /Function call is missing a thought_signature/],
  ['ollama', afterCall, {}, /invalid message content type: <nil>/],
  ['vllm', [userMessage('a'), userMessage('b')], {}, /Conversation roles must alternate/],
  ['vllm-mistral', afterCall, {}, /Tool call IDs should be alphanumeric strings with length 9/],
])(
  '%s refuses what suits no dialect of it, in its own words',
  async (name, messages, more, words) => {
    const provider = openaiProvider({
      name,
      api: 'chat',
      apiKey: testKey,
      baseUrl: emulator.baseUrl('chat', name),
      dialect: { callIds: 'short', asksForUsage: name !== 'mistral' },
    });
    const request = requestFor('chat', { model: 'm', messages, ...more });
    expect((await failureOf(provider.send(request, sendOptions()))).message).toMatch(words);
  },
);

describe('ids', () => {
  it('suit Mistral templates on a server that nobody named (ml-explore/mlx-lm#1375)', async () => {
    emulator.script([reply.text('done')]);
    const baseUrl = emulator.baseUrl('chat', 'vllm-mistral');
    const provider = openaiProvider({ name: 'mlx', api: 'chat', apiKey: testKey, baseUrl });
    await provider.send(requestFor('chat', { model: 'm', messages: afterCall }), sendOptions());
    expect(emulator.refusals).toEqual([]);
  });

  it('and all else follow the name of a known server', async () => {
    emulator.script([reply.text('done')]);
    const baseUrl = emulator.baseUrl('chat', 'mistral');
    const provider = openaiProvider({ name: 'mistral', api: 'chat', apiKey: testKey, baseUrl });
    const request = requestFor('chat', { model: 'm', messages: afterCall, note: 'Go on.' });
    await provider.send(request, sendOptions());
    expect(emulator.refusals).toEqual([]);
  });

  it('are the same for a call and its result, in every later request, and for no other call', async () => {
    const ids = Array.from({ length: 200 }, (_each, index) => `6ipdqr3qhq_${index}_0`);
    const messages = ids.flatMap((id) => [said('x', called(id)), results(id)]);
    emulator.script([reply.text('a'), reply.text('b')]);
    await sendTo(emulator, 'mistral', [userMessage('Go'), ...messages.slice(0, 100)]);
    await sendTo(emulator, 'mistral', [userMessage('Go'), ...messages]);
    const [before = [], after = []] = emulator.requests.map(({ conversation }) =>
      conversation.turns.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id)),
    );
    expect(after.slice(0, before.length)).toEqual(before);
    expect(new Set(after).size).toBe(200);
    expect(after.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toBe(true);
  });
});

describe('thoughts', () => {
  it.each(['kimi', 'deepseek'] as const)(
    'of %s go back in its field, and those of others do not',
    async (name) => {
      const messages = [
        userMessage('a'),
        said(name, thought(name), called('x1')),
        results('x1'),
        said('openai', thought('openai'), called('x2')),
        results('x2'),
      ];
      emulator.script([reply.text('done')]);
      await sendTo(emulator, name, messages);
      const sent = JSON.stringify(emulator.requests[0]?.body);
      expect(sent.match(/I should look/g)).toHaveLength(1);
      expect(sent).toContain('"reasoning_content":"I should look."');
    },
  );

  it('of Mistral arrive as parts of the content', async () => {
    emulator.script([reply.text('done', { reasoning: 'I should look.' })]);
    const { blocks } = await sendTo(emulator, 'mistral', [userMessage('a')]);
    expect(blocks).toEqual([thought('mistral'), { type: 'text', text: 'done' }]);
  });

  it('of Ollama arrive in `reasoning`', async () => {
    emulator.script([reply.text('done', { reasoning: 'I should look.' })]);
    const { blocks } = await sendTo(emulator, 'ollama', [userMessage('a')]);
    expect(blocks).toEqual([thought('ollama'), { type: 'text', text: 'done' }]);
  });
});

describe('schemas', () => {
  const node: z.ZodType = z.lazy(() => z.object({ value: z.string(), children: z.array(node) }));
  const zodOf = (shape: z.ZodType): JsonObject => z.toJSONSchema(shape) as JsonObject;
  const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: 'object',
    properties,
    ...more,
  });

  const schemas: readonly (readonly [string, JsonObject])[] = [
    [
      'a positive number (pizza-bot-app/pizza-bot#62)',
      zodOf(z.object({ n: z.number().int().positive() })),
    ],
    [
      'literals in a union (zed-industries/zed#44875)',
      zodOf(z.object({ k: z.union([z.literal('a'), z.literal('b'), z.literal(3)]) })),
    ],
    [
      'several types (hashgraph/hedera-agent-kit-js#448)',
      object({ a: { type: ['string', 'null'] }, b: { type: ['string', 'number'] } }),
    ],
    [
      'an enum of numbers (microsoft/azure-devops-mcp#145)',
      object({ a: { type: 'integer', enum: [0, 1, 2] } }),
    ],
    ['an enum without a type (decolua/9router#359)', object({ a: { enum: ['x', 'y'] } })],
    [
      'an empty enum value (Bobsilvio/ha-claude#32)',
      object({ a: { type: 'string', enum: ['x', ''] } }),
    ],
    [
      'records (openswarm-ai/openswarm#24)',
      zodOf(z.object({ r: z.record(z.string(), z.object({ a: z.url() })) })),
    ],
    [
      'a tuple, a multiple, unique items',
      object({
        a: {
          type: 'array',
          prefixItems: [{ type: 'string' }, { type: 'number', multipleOf: 2 }],
          uniqueItems: true,
        },
      }),
    ],
    ['a recursive schema', zodOf(z.object({ node }))],
    [
      'references with words beside them (MoonshotAI/kimi-cli#2061)',
      object(
        { a: { $ref: '#/$defs/x', description: 'the asset' } },
        { $defs: { x: { type: 'string', description: 'any' } } },
      ),
    ],
    [
      'a type beside anyOf (MoonshotAI/kimi-cli#2531)',
      object({
        a: {
          type: 'object',
          anyOf: [
            { properties: { b: { type: 'string' } } },
            { properties: { c: { type: 'string' } } },
          ],
        },
      }),
    ],
    ['no type (earendil-works/pi#4138)', object({ source: { description: 'any value' } })],
    [
      'a required name without a property (MoonshotAI/kimi-code#1610)',
      object({
        a: {
          type: 'array',
          items: object({ b: { type: 'string' } }, { required: ['b', 'codecType'] }),
        },
      }),
    ],
    [
      'allOf and oneOf',
      object({
        a: { allOf: [object({ b: { type: 'string' } }), object({ c: { type: 'string' } })] },
        d: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      }),
    ],
    ['no inputs', object({})],
    ['items of any kind', object({ a: { type: 'array' } })],
  ];

  it.each(
    schemas.flatMap(([name, schema]) =>
      (['gemini', 'kimi'] as const).map((server) => [name, server, schema] as const),
    ),
  )('%s is taken by %s', async (_name, server, inputSchema) => {
    emulator.script([reply.text('done')]);
    const tools = [{ name: 'read_file', description: 'Reads.', inputSchema }];
    await sendTo(emulator, server, [userMessage('a')], { tools });
    expect(emulator.refusals.map(({ error }) => error.message)).toEqual([]);
  });

  it.each(schemas.slice(0, 8))('%s is refused by Gemini as it is', async (_name, inputSchema) => {
    const provider = openaiProvider({
      name: 'gateway',
      api: 'chat',
      apiKey: testKey,
      baseUrl: emulator.baseUrl('chat', 'gemini'),
    });
    const tools = [{ name: 'read_file', description: 'Reads.', inputSchema }];
    const sent = provider.send(requestFor('chat', { model: 'm', tools }), sendOptions());
    expect(await failureOf(sent)).toMatchObject({ code: 'format' });
  });

  it('say the same in the keywords that are left, or in words', async () => {
    emulator.script([reply.text('done')]);
    const inputSchema = zodOf(
      z.object({
        above: z.number().int().positive(),
        ratio: z.number().gt(0.5).describe('A share.'),
        kind: z.literal('file'),
        level: z.literal([1, 2]),
        maybe: z.string().nullable(),
      }),
    );
    const tools = [{ name: 'read_file', description: 'Reads.', inputSchema }];
    await sendTo(emulator, 'gemini', [userMessage('a')], { tools });
    expect(emulator.requests[0]?.body).toMatchObject({
      tools: [
        {
          function: {
            parameters: {
              required: ['above', 'ratio', 'kind', 'level', 'maybe'],
              properties: {
                above: { type: 'integer', minimum: 1 },
                ratio: { minimum: 0.5, description: 'A share.; greater than 0.5' },
                kind: { type: 'string', enum: ['file'] },
                level: { type: 'number', description: 'one of [1,2]' },
                maybe: { type: 'string', nullable: true },
              },
            },
          },
        },
      ],
    });
  });

  it('reach all other servers as they are', async () => {
    emulator.script([reply.text('done')]);
    const inputSchema = zodOf(z.object({ n: z.number().int().positive() }));
    const tools = [{ name: 'read_file', description: 'Reads.', inputSchema }];
    await sendTo(emulator, 'mistral', [userMessage('a')], { tools });
    expect(JSON.stringify(emulator.requests[0]?.body)).toContain('"exclusiveMinimum":0');
  });
});

test('instructions are the first words of the user where a template knows no system role (vllm-project/vllm#2964)', async () => {
  emulator.script([reply.text('done')]);
  const provider = openaiProvider({
    name: 'gemma',
    api: 'chat',
    apiKey: testKey,
    baseUrl: emulator.baseUrl('chat', 'vllm'),
    dialect: { ...chatDialects.vllm, system: 'first-user' },
  });
  const messages = [userMessage('Read a.txt')];
  await provider.send(requestFor('chat', { model: 'gemma-2', messages }), sendOptions());
  expect(emulator.requests[0]?.body['messages']).toEqual([
    { role: 'user', content: 'You repair projects.\n\nRead a.txt' },
  ]);
});

test('no dialect sends what some server refuses: a developer, a choice of tools, parallel calls', async () => {
  for (const name of ['mistral', 'kimi', 'vllm', 'gemini', 'openai'] as const) {
    emulator.script([reply.text('done')]);
    await sendTo(emulator, name, afterCall, { note: 'Go on.' });
  }
  const sent = JSON.stringify(emulator.requests.map(({ body }) => body));
  expect(sent).not.toMatch(/developer|tool_choice|parallel_tool_calls/);
  expect(Object.keys(chatDialects)).toEqual(
    expect.arrayContaining(['mistral', 'kimi', 'ollama', 'vllm']),
  );
});
