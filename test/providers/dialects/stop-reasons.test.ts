/** Calls whose end never came, final items beside their pieces, and turns that the vendor pauses: over real SDKs and HTTP. */
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../../activities/providers/presets';
import type { ModelReply } from '../../../activities/providers/provider';
import { inSaidOrder } from '../../../activities/model-call/reply-intake';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { fault, reply } from '../../../testing/emulator/script';
import type { Message } from '../../../workflows/core/message';
import {
  failureOf,
  rawStream,
  requestFor,
  sendOptions,
  testKey,
  userMessage,
} from '../support/provider-bench';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
});
afterEach(async () => {
  await emulator.stop();
});

function responses(...events: readonly object[]): Promise<ModelReply> {
  emulator.script([rawStream(...events)]);
  const baseUrl = emulator.baseUrl('responses');
  const provider = openaiProvider({ api: 'responses', apiKey: testKey, baseUrl });
  return provider.send(requestFor('responses'), sendOptions());
}

/** Events under their names, which the vendor's SDK reads. */
function messagesStream(...events: readonly { readonly type: string }[]): Promise<ModelReply> {
  emulator.script([
    fault.raw({
      headers: { 'content-type': 'text/event-stream' },
      pieces: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    }),
  ]);
  const baseUrl = emulator.baseUrl('anthropic');
  return anthropicProvider({ apiKey: testKey, baseUrl }).send(
    requestFor('anthropic'),
    sendOptions(),
  );
}

function chat(...events: readonly object[]): Promise<ModelReply> {
  emulator.script([rawStream(...events)]);
  const provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
  return provider.send(requestFor('chat', { model: 'm' }), sendOptions());
}

const item = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'read_file' };
const added = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { ...item, arguments: '' },
};
const delta = (text: string): object => ({
  type: 'response.function_call_arguments.delta',
  item_id: 'fc_1',
  output_index: 0,
  delta: text,
});
const argumentsDone = (text: string): object => ({
  type: 'response.function_call_arguments.done',
  item_id: 'fc_1',
  output_index: 0,
  arguments: text,
});
const itemDone = (text: string): object => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: { ...item, arguments: text, status: 'completed' },
});
const completed = (output: readonly object[] = []): object => ({
  type: 'response.completed',
  response: { model: 'gpt-5', status: 'completed', output, usage: null },
});

describe('a call of the Responses API', () => {
  it.each<readonly [string, readonly object[], string]>([
    [
      'is its final item (MoonshotAI/kimi-code#1455)',
      [
        added,
        delta('{"path":"hal'),
        argumentsDone('{"path":"b"}'),
        itemDone('{"path":"final"}'),
        completed(),
      ],
      '{"path":"final"}',
    ],
    [
      'is what its arguments ended as, if the item leaves them out (Wei-Shaw/sub2api#6629)',
      [added, argumentsDone('{"path":"b"}'), itemDone(''), completed()],
      '{"path":"b"}',
    ],
    [
      'is its pieces, if both leave them out (docker/docker-agent#3825)',
      [added, delta('{"path"'), delta(':"c"}'), argumentsDone(''), itemDone(''), completed()],
      '{"path":"c"}',
    ],
    [
      'is in the closing event, if its own end is missing (NVIDIA-NeMo/Switchyard#777)',
      [added, delta('{"pa'), completed([{ ...item, arguments: '{"path":"d"}' }])],
      '{"path":"d"}',
    ],
    [
      'needs no pieces (tailcallhq/forgecode#2558)',
      [added, itemDone('{"path":"e"}'), completed()],
      '{"path":"e"}',
    ],
  ])('%s', async (_name, events, argumentsText) => {
    expect(await responses(...events)).toMatchObject({
      stopReason: 'tool-use',
      toolCalls: [{ name: 'read_file', argumentsText }],
    });
  });

  it('that never ended is a broken stream', async () => {
    expect(await failureOf(responses(added, delta('{"path":"x'), completed()))).toMatchObject({
      code: 'network',
    });
  });
});

const start = {
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
};
const block = (index: number, content: object): { readonly type: string } =>
  ({ type: 'content_block_start', index, content_block: content }) as { type: string };
const json = (index: number, partial: string): { readonly type: string } =>
  ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json: partial },
  }) as { type: string };
const stop = (index: number): { readonly type: string } =>
  ({ type: 'content_block_stop', index }) as { type: string };
const end = (reason: string): readonly { readonly type: string }[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } } as {
    type: string;
  },
  { type: 'message_stop' },
];
const use = { type: 'tool_use', id: 'toolu_1', name: 'read_file', input: {} };

describe('a call of the Messages API', () => {
  it.each(['tool_use', 'end_turn'])(
    'that never ended is a broken stream under %s',
    async (reason) => {
      const sent = messagesStream(start, block(0, use), json(0, '{"path":"x'), ...end(reason));
      expect(await failureOf(sent)).toMatchObject({ code: 'network' });
    },
  );

  it('that was cut at the output limit is a cut reply', async () => {
    const sent = messagesStream(start, block(0, use), json(0, '{"path":"x'), ...end('max_tokens'));
    expect(await sent).toMatchObject({ stopReason: 'truncated' });
  });

  it('is whole with whole arguments, as compatible servers leave its end out', async () => {
    const sent = messagesStream(start, block(0, use), json(0, '{"path":"x"}'), ...end('tool_use'));
    expect(await sent).toMatchObject({ stopReason: 'tool-use' });
  });
});

describe('tool use without a call', () => {
  it.each<readonly [string, () => Promise<ModelReply>]>([
    [
      'of the Messages API (anthropics/claude-code#40240)',
      () =>
        messagesStream(
          start,
          block(0, { type: 'text', text: 'Let me look.' }),
          stop(0),
          ...end('tool_use'),
        ),
    ],
    [
      'of Chat Completions (jasonxu114514/opencode2api#27)',
      () =>
        chat(
          { choices: [{ index: 0, delta: { content: 'Let me look.', tool_calls: [] } }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
        ),
    ],
  ])('%s stays tool use', async (_name, send) => {
    expect(await send()).toMatchObject({ stopReason: 'tool-use', toolCalls: [] });
  });
});

it('a whole message at the end of a stream replaces its pieces', async () => {
  const call = {
    id: 'c1',
    type: 'function',
    function: { name: 'read_file', arguments: '{"path":"whole"}' },
  };
  const got = await chat(
    { choices: [{ index: 0, delta: { content: 'Hal' } }] },
    {
      choices: [
        {
          index: 0,
          delta: {
            tool_calls: [
              { index: 0, id: 'c1', function: { name: 'read_file', arguments: '{"pa' } },
            ],
          },
        },
      ],
    },
    {
      choices: [
        {
          index: 0,
          message: { content: 'Whole.', tool_calls: [call] },
          finish_reason: 'tool_calls',
        },
      ],
    },
  );
  expect(got.blocks).toEqual([{ type: 'text', text: 'Whole.' }]);
  expect(got.toolCalls).toMatchObject([{ name: 'read_file', argumentsText: '{"path":"whole"}' }]);
});

it('pieces of a server that calls them messages are joined', async () => {
  const got = await chat(
    { choices: [{ index: 0, message: { content: 'On' } }] },
    { choices: [{ index: 0, message: { content: 'ce.' } }] },
    { choices: [{ index: 0, message: { content: '' }, finish_reason: 'stop' }] },
  );
  expect(got.blocks).toEqual([{ type: 'text', text: 'Once.' }]);
});

it('takes the one call of an older server', async () => {
  const got = await chat(
    { choices: [{ index: 0, delta: { function_call: { name: 'read_file', arguments: '{"pa' } } }] },
    {
      choices: [
        {
          index: 0,
          delta: { function_call: { arguments: 'th":"a"}' } },
          finish_reason: 'function_call',
        },
      ],
    },
  );
  expect(got.toolCalls).toMatchObject([{ name: 'read_file', argumentsText: '{"path":"a"}' }]);
});

describe('a paused turn', () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
  const found = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://example.org', encrypted_content: 'EqgB' }],
  };
  const paused = (): Promise<ModelReply> =>
    messagesStream(
      start,
      block(0, { type: 'text', text: 'I search.' }),
      stop(0),
      block(1, search),
      json(1, '{"query":'),
      json(1, '"holdfast"}'),
      stop(1),
      ...end('pause_turn'),
    );
  const resumed = (): Promise<ModelReply> =>
    messagesStream(
      start,
      block(0, found),
      stop(0),
      block(1, { type: 'text', text: 'Found.' }),
      stop(1),
      ...end('end_turn'),
    );
  const messageOf = (got: ModelReply, vendor = 'anthropic'): Message => ({
    role: 'assistant',
    vendor,
    model: got.model,
    blocks: inSaidOrder(got, []),
  });
  const use1 = { ...search, input: { query: 'holdfast' } };

  /** The messages that a request has on this wire, which the vendor takes. */
  async function sentMessages(messages: readonly Message[], note?: string): Promise<unknown> {
    emulator.clearScripts();
    emulator.script([reply.text('done')]);
    const provider = anthropicProvider({ apiKey: testKey, baseUrl: emulator.baseUrl('anthropic') });
    await provider.send(
      requestFor('anthropic', { messages, ...(note === undefined ? {} : { note }) }),
      sendOptions(),
    );
    expect(emulator.refusals.map(({ error }) => error.message)).toEqual([]);
    return emulator.requests.at(-1)?.body['messages'];
  }

  it('keeps what the vendor itself does, and ends with it in the next request (anthropics/anthropic-sdk-python#1339)', async () => {
    const got = await paused();
    expect(got.stopReason).toBe('pause');
    const messages = [userMessage('Find it'), messageOf(got)];
    expect(await sentMessages(messages)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'I search.' }, use1] },
    ]);
  });

  it('is one turn with what continues it, in every later request (vellum-ai/vellum-assistant#40897)', async () => {
    const messages = [
      userMessage('Find it'),
      messageOf(await paused()),
      messageOf(await resumed()),
    ];
    expect(await sentMessages([...messages, userMessage('Thanks')])).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [{ type: 'text' }, use1, found, { type: 'text', text: 'Found.' }],
      },
      { role: 'user' },
    ]);
  });

  it.each<readonly [string, readonly Message[], string | undefined]>([
    ['a person speaks', [userMessage('Stop')], undefined],
    ['the runtime has a note', [], 'Go on.'],
  ])(
    'loses a use without a result once %s (rashidrazak/opencode-cmd-provider#188)',
    async (_name, after, note) => {
      const messages = [userMessage('Find it'), messageOf(await paused()), ...after];
      const sent = JSON.stringify(await sentMessages(messages, note));
      expect(sent).toContain('I search.');
      expect(sent).not.toContain('server_tool_use');
    },
  );

  it('of one vendor goes to another as its text', async () => {
    const messages = [userMessage('Find it'), messageOf(await paused())];
    emulator.clearScripts();
    emulator.script([reply.text('done'), reply.text('done')]);
    const account = { apiKey: testKey };
    await openaiProvider({ ...account, api: 'chat', baseUrl: emulator.baseUrl('chat') }).send(
      requestFor('chat', { messages }),
      sendOptions(),
    );
    await openaiProvider({
      ...account,
      api: 'responses',
      baseUrl: emulator.baseUrl('responses'),
    }).send(requestFor('responses', { messages }), sendOptions());
    expect(emulator.refusals).toEqual([]);
    const sent = JSON.stringify(emulator.requests.slice(-2).map(({ body }) => body));
    expect(sent).toContain('I search.');
    expect(sent).not.toContain('srvtoolu_1');
  });
});
