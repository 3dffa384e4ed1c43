/** What the readers of the streams make of events that a real server rarely sends. */
import { AnthropicReplyAssembly } from '../../activities/providers/anthropic/reply';
import { ResponsesReplyAssembly } from '../../activities/providers/openai/responses-reply';
import {
  BrokenStream,
  ReportedInStream,
  type StreamAssembly,
} from '../../activities/providers/stream/stream-assembly';

function feed<Assembly extends StreamAssembly>(
  assembly: Assembly,
  events: readonly unknown[],
): Assembly {
  for (const event of events) assembly.accept(event);
  return assembly;
}

const anthropic = (...events: readonly unknown[]): AnthropicReplyAssembly =>
  feed(new AnthropicReplyAssembly('anthropic', 'm'), events);
const responses = (...events: readonly unknown[]): ResponsesReplyAssembly =>
  feed(new ResponsesReplyAssembly('openai', 'm'), events);

const start = {
  type: 'message_start',
  message: { model: 'm-1', usage: { input_tokens: 7, cache_read_input_tokens: 3 } },
};
const block = (index: number, content: object): object => ({
  type: 'content_block_start',
  index,
  content_block: content,
});
const json = (index: number, text: string): object => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
});
const end = (stopReason: string | null): readonly object[] => [
  { type: 'message_delta', delta: { stop_reason: stopReason }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];

describe("Anthropic's stream", () => {
  it.each([
    ['a stop without a reason', [start, ...end(null)]],
    [
      'a block that begins twice',
      [start, block(0, { type: 'tool_use', id: 'a' }), block(0, { type: 'tool_use', id: 'b' })],
    ],
    ['a delta for a block that never began', [start, json(3, '{')]],
    [
      "a part of a call's arguments in a delta of an unknown type",
      [
        start,
        block(0, { type: 'tool_use', id: 'a' }),
        { type: 'content_block_delta', index: 0, delta: { type: 'json', partial_json: '{' } },
      ],
    ],
    [
      "a part of a call's arguments in an event of an unknown type",
      [start, { ...json(0, '{'), type: 'content_block_piece' }],
    ],
  ])('with %s is broken', (_name, events) => {
    expect(() => anthropic(...events)).toThrow(BrokenStream);
  });

  it('keeps interleaved blocks apart and in the order of their indexes', () => {
    const reply = anthropic(
      start,
      block(1, { type: 'tool_use', id: 'b', name: 'two' }),
      block(0, { type: 'tool_use', id: 'a', name: 'one' }),
      json(1, '{"y"'),
      json(0, '{"x"'),
      json(1, ':2}'),
      json(0, ':1}'),
      ...end('tool_use'),
    ).reply();
    expect(reply.toolCalls.map((call) => call.argumentsText)).toEqual(['{"x":1}', '{"y":2}']);
    expect(reply.usage).toEqual({
      inputTokens: 7,
      outputTokens: 5,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
    });
    expect(reply.model).toBe('m-1');
  });

  it('takes arguments that a compatible server gives whole at the start', () => {
    const reply = anthropic(
      start,
      block(0, { type: 'tool_use', id: 'a', name: 'n', input: { x: 1 } }),
      ...end('end_turn'),
    ).reply();
    expect(reply).toMatchObject({
      stopReason: 'tool-use',
      toolCalls: [{ argumentsText: '{"x":1}' }],
    });
  });

  it.each([
    ['end_turn', 'end'],
    ['stop_sequence', 'end'],
    ['max_tokens', 'truncated'],
    ['model_context_window_exceeded', 'context-full'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['tool_use', 'tool-use'],
    ['something_new', 'end'],
  ])('maps %s without a call to %s', (vendorReason, stopReason) => {
    expect(anthropic(start, ...end(vendorReason)).reply().stopReason).toBe(stopReason);
  });

  it('feeds the deadline with thinking, and not with pings or empty deltas', () => {
    const assembly = anthropic(start, block(0, { type: 'thinking', thinking: '' }));
    const thinking = (text: string): object => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: text },
    });
    expect(assembly.accept(thinking('hm')).isContent).toBe(true);
    expect(assembly.accept(thinking('')).isContent).toBe(false);
    expect(assembly.accept({ type: 'ping' }).isContent).toBe(false);
  });
});

const added = (index: number, item: object): object => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const done = (index: number, item: object): object => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const call = (id: string, text: string): object => ({
  type: 'function_call',
  call_id: id,
  name: 'n',
  arguments: text,
});
const completed = (response: object): object => ({
  type: 'response.completed',
  response: { status: 'completed', ...response },
});

describe('a Responses stream', () => {
  it.each([
    [
      'response.failed',
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } },
    ],
    ['response.cancelled', { type: 'response.cancelled', response: {} }],
    ['an error event', { type: 'error', code: 'rate_limit_exceeded', message: 'x' }],
    ['an error in a completed response', completed({ error: { code: 'server_error' } })],
  ])('with %s reports a failure', (_name, event) => {
    expect(() => responses(event)).toThrow(ReportedInStream);
  });

  it('with a delta for an item that never began is broken', () => {
    expect(() =>
      responses({ type: 'response.output_text.delta', output_index: 2, delta: 'x' }),
    ).toThrow(BrokenStream);
  });

  const piece = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a":' };

  it('takes the finished item for the whole, and counts what was streamed until then', () => {
    const events = [added(0, call('a', '')), piece, done(0, call('a', '{"a":1}')), completed({})];
    expect(responses(...events.slice(0, 2)).partial()).toEqual({ said: 'n{"a":' });
    expect(responses(...events).reply().toolCalls).toMatchObject([
      { vendorId: 'a', name: 'n', argumentsText: '{"a":1}' },
    ]);
  });

  it('that closes on an item that never ended is broken', () => {
    expect(() => responses(added(0, call('a', '')), piece, completed({}))).toThrow(BrokenStream);
  });

  const strange = { ...piece, type: 'response.function_call_args.delta', delta: '1}' };

  it.each([
    ['in a delta of an unknown type', strange],
    ['no text', { ...piece, delta: { a: 1 } }],
  ])('is broken where a part of the arguments is %s', (_name, lost) => {
    const events = [added(0, call('a', '')), piece, lost, done(0, call('a', ''))];
    expect(() => responses(...events, completed({}))).toThrow(BrokenStream);
  });

  it.each([
    ['the finished item', [strange, done(0, call('a', '{"a":1}'))]],
    [
      'their own event',
      [
        strange,
        { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"a":1}' },
        done(0, call('a', '')),
      ],
    ],
    [
      'pieces that came before',
      [piece, { ...piece, delta: '1}' }, done(0, call('a', '')), strange],
    ],
  ])('takes whole arguments of %s in spite of it', (_name, events) => {
    const reply = responses(added(0, call('a', '')), ...events, completed({})).reply();
    expect(reply.toolCalls).toMatchObject([{ argumentsText: '{"a":1}' }]);
  });

  it('takes items that only the finished response holds', () => {
    const output = [
      { type: 'message', content: [{ type: 'output_text', text: 'hi' }] },
      call('a', '{}'),
    ];
    const reply = responses(
      completed({
        output,
        usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2 },
      }),
    ).reply();
    expect(reply).toMatchObject({
      stopReason: 'tool-use',
      blocks: [{ type: 'text', text: 'hi' }],
      usage: { inputTokens: 6, cacheReadTokens: 4, outputTokens: 2 },
    });
  });

  it.each([
    ['max_output_tokens', 'truncated'],
    ['content_filter', 'filtered'],
    ['something_new', 'truncated'],
  ])('that is incomplete for %s ends as %s', (reason, stopReason) => {
    const event = {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason } },
    };
    expect(responses(event).reply().stopReason).toBe(stopReason);
  });
});
