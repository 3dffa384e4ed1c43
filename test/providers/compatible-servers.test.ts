/** Servers that speak Chat Completions in their own way, as raw streams through the real SDK. */
import { presetNames, presetProvider } from '../../activities/providers/presets';
import type { ModelReply, Provider } from '../../activities/providers/provider';
import { VendorEmulator } from '../../testing/emulator/emulator';
import {
  endedStream,
  failureOf,
  rawStream,
  requestFor,
  sendOptions,
  testKey,
} from './support/provider-bench';

let emulator: VendorEmulator;
let provider: Provider;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
  provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
});
afterEach(async () => {
  await emulator.stop();
});

const delta = (value: object, finishReason: string | null = null): object => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta: value, finish_reason: finishReason }],
});

const calls = (...pieces: readonly object[]): object => delta({ tool_calls: pieces });

function replyTo(...data: readonly unknown[]): Promise<ModelReply> {
  emulator.script([rawStream(...data)]);
  return provider.send(requestFor('chat', { model: 'm' }), sendOptions());
}

const done = delta({}, 'tool_calls');

const begun = calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{"x":1' } });
const pieceOf = (piece: unknown): object => calls({ index: 0, function: { arguments: piece } });

/** A zero that is missing would make a 10 a 1. */
const lostPieces = [
  ['a piece of arguments that is an object', pieceOf({})],
  ['a piece of arguments that is a number', pieceOf(0)],
  ['a piece of arguments under another name', calls({ index: 0, function: { argument: '0' } })],
  ['a piece in another place', calls({ index: 0, func: { arguments: '0' } })],
  ['a function that is a text', calls({ index: 0, function: '0' })],
  ['a piece that is a text', delta({ tool_calls: ['0'] })],
  ['pieces that are no list', delta({ tool_calls: 0 })],
  ['pieces under another name', delta({ calls: [{ function: { arguments: '0' } }] })],
  ['a delta under another name', { choices: [{ piece: pieceOf('0') }] }],
  ['a delta that is a text', { choices: [{ index: 0, delta: '0' }] }],
  ['choices under another name', { options: [pieceOf('0')] }],
  ['an event that is a text', '0'],
] as const;

describe('tool calls', () => {
  it.each<readonly [string, readonly unknown[], readonly (readonly [string, string])[]]>([
    [
      'without ids or indexes, whole in one piece each (Ollama, Gemini)',
      [
        calls(
          { function: { name: 'a', arguments: '{"x":1}' } },
          { function: { name: 'b', arguments: '{"y":2}' } },
        ),
        done,
      ],
      [
        ['a', '{"x":1}'],
        ['b', '{"y":2}'],
      ],
    ],
    [
      'all with index 0 (older Gemini)',
      [
        calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{"x":1}' } }),
        calls({ index: 0, id: 'q', function: { name: 'a', arguments: '{"x":2}' } }),
        done,
      ],
      [
        ['a', '{"x":1}'],
        ['a', '{"x":2}'],
      ],
    ],
    [
      'all with index 0 and no id',
      [
        calls({ index: 0, function: { name: 'a', arguments: '{"x":1}' } }),
        calls({ index: 0, function: { name: 'a', arguments: '{"x":2}' } }),
        done,
      ],
      [
        ['a', '{"x":1}'],
        ['a', '{"x":2}'],
      ],
    ],
    [
      'with a new id on every piece (older vLLM)',
      [
        calls({ index: 0, id: 'p1', function: { name: 'a', arguments: '' } }),
        calls({ index: 0, id: 'p2', function: { arguments: '{"x"' } }),
        calls({ index: 0, id: 'p3', function: { arguments: ':1}' } }),
        done,
      ],
      [['a', '{"x":1}']],
    ],
    [
      'with the name on every piece',
      [
        calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{"x"' } }),
        calls({ index: 0, id: 'p', function: { name: 'a', arguments: ':1}' } }),
        done,
      ],
      [['a', '{"x":1}']],
    ],
    [
      'interleaved',
      [
        calls(
          { index: 0, id: 'p', function: { name: 'a', arguments: '{' } },
          { index: 1, id: 'q', function: { name: 'b', arguments: '[' } },
        ),
        calls(
          { index: 1, function: { arguments: ']' } },
          { index: 0, function: { arguments: '}' } },
        ),
        done,
      ],
      [
        ['a', '{}'],
        ['b', '[]'],
      ],
    ],
    [
      'whose pieces after the first name nothing',
      [
        calls({ id: 'p', function: { name: 'a', arguments: '{"x"' } }),
        calls({ function: { arguments: ':1}' } }),
        calls({ id: 'q', function: { name: 'b', arguments: '{}' } }),
        done,
      ],
      [
        ['a', '{"x":1}'],
        ['b', '{}'],
      ],
    ],
    [
      'with arguments as an object',
      [calls({ index: 0, id: 'p', function: { name: 'a', arguments: { x: 1 } } }), done],
      [['a', '{"x":1}']],
    ],
    [
      'with an object beside the same arguments, and with blank fields',
      [
        delta({ tool_calls: '', function_call: null }),
        calls({ index: 0, id: 'p', function: { name: 'a', arguments: { x: 1 } } }),
        calls({ index: 0, function: { arguments: '{ "x": 1 }' } }),
        { choices: [{ index: 0, delta: null }] },
        done,
      ],
      [['a', '{"x":1}']],
    ],
    [
      'with a number only from the second time on',
      [
        calls({ id: 'p', function: { name: 'a', arguments: '' } }),
        calls({ index: 1, id: 'p', function: { name: 'a', arguments: '' } }),
        calls({ index: 1, function: { arguments: '{"x":1}' } }),
        done,
      ],
      [['a', '{"x":1}']],
    ],
    [
      'with a finish reason of stop',
      [calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{}' } }), delta({}, 'stop')],
      [['a', '{}']],
    ],
    [
      'without a name',
      [calls({ index: 0, id: 'p', function: { arguments: '{"x":1}' } }), done],
      [['', '{"x":1}']],
    ],
  ])('%s', async (_name, data, expected) => {
    const got = await replyTo(...data);
    expect(got.toolCalls.map((call) => [call.name, call.argumentsText])).toEqual(expected);
    expect(got.stopReason).toBe('tool-use');
  });

  it('count whole after the finish reason', async () => {
    const whole = { index: 0, id: 'p', function: { name: 'a', arguments: '{"x":1}' } };
    const got = await replyTo(done, calls(whole));
    expect(got.toolCalls.map(({ argumentsText }) => argumentsText)).toEqual(['{"x":1}']);
  });

  it.each([
    ['no piece of the arguments', ['']],
    ['a part of the arguments', ['', '{"x":']],
  ])('do not run with %s after the finish reason', async (_what, pieces) => {
    const begun = { index: 0, id: 'p', function: { name: 'a', arguments: '' } };
    const late = pieces.map((piece) => calls({ index: 0, function: { arguments: piece } }));
    emulator.script([rawStream(done, calls(begun), ...late, '[DONE]')]);
    const sent = provider.send(requestFor('chat', { model: 'm' }), sendOptions());
    expect(await failureOf(sent)).toMatchObject({
      code: 'network',
      message: expect.stringContaining('without its closing event') as string,
    });
  });

  it('keep the signature that their vendor wants back', async () => {
    const extra = { google: { thought_signature: 'sig' } };
    const got = await replyTo(
      calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{}' }, extra_content: extra }),
      done,
    );
    expect(got.blocks).toEqual([
      {
        type: 'reasoning',
        vendor: 'vllm',
        text: '',
        opaque: { toolCallExtras: [{ index: 0, content: extra }] },
      },
    ]);
  });
});

describe('a stream', () => {
  it('counts once what it counts twice', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 60 },
    };
    const got = await replyTo(
      { ...delta({ content: 'hi' }), usage: { prompt_tokens: 100, completion_tokens: 1 } },
      { ...delta({}, 'stop'), usage },
      { choices: [], usage },
      '[DONE]',
    );
    expect(got.usage).toEqual({
      inputTokens: 40,
      outputTokens: 5,
      cacheReadTokens: 60,
      cacheWriteTokens: 0,
    });
  });

  it("takes DeepSeek's cache hits", async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 8 };
    const got = await replyTo(delta({ content: 'hi', reasoning_content: '' }, 'stop'), {
      choices: [],
      usage,
    });
    expect(got.usage).toMatchObject({ inputTokens: 2, cacheReadTokens: 8 });
  });

  it('gives reasoning text its own block', async () => {
    const got = await replyTo(
      delta({ reasoning_content: 'hm ' }),
      delta({ reasoning: 'hm' }),
      delta({ content: 'hi' }, 'stop'),
    );
    expect(got.blocks).toEqual([
      { type: 'reasoning', vendor: 'vllm', text: 'hm hm' },
      { type: 'text', text: 'hi' },
    ]);
  });

  it.each([
    ['stop', 'end'],
    ['STOP', 'end'],
    ['length', 'truncated'],
    ['MAX_TOKENS', 'truncated'],
    ['content_filter', 'filtered'],
    ['SAFETY', 'filtered'],
    ['something_new', 'end'],
  ])('that finishes with %s ends as %s', async (finishReason, stopReason) => {
    expect(await replyTo(delta({ content: 'hi' }, finishReason))).toMatchObject({ stopReason });
  });

  it.each<readonly [string, readonly unknown[], string]>([
    ['DeepSeek out of resources', [delta({}, 'insufficient_system_resource')], 'overloaded'],
    ['an aborted reply', [delta({ content: 'x' }, 'abort')], 'network'],
    [
      'a part of a call in a choice that nobody asked for',
      [
        calls({ index: 0, id: 'p', function: { name: 'a', arguments: '{"x":1' } }),
        {
          choices: [
            { index: 1, delta: { tool_calls: [{ index: 0, function: { arguments: '0' } }] } },
          ],
        },
        calls({ index: 0, function: { arguments: '}' } }),
        done,
      ],
      'network',
    ],
    ...lostPieces.map(
      ([what, lost]) => [what, [begun, lost, pieceOf('}'), done], 'network'] as const,
    ),
    [
      'an error beside the choices',
      [
        {
          error: { code: 502, message: 'Upstream' },
          choices: [{ delta: {}, finish_reason: 'error' }],
        },
      ],
      'overloaded',
    ],
    [
      'an error within the choice',
      [{ choices: [{ index: 0, error: { code: 429, message: 'Rate limited' }, delta: {} }] }],
      'rate_limit',
    ],
    [
      'an error in a list',
      [[{ error: { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' } }]],
      'overloaded',
    ],
    ['an error as a word', [{ error: 'model requires more system memory' }], 'unknown'],
    ['only [DONE]', ['[DONE]'], 'network'],
    ['text, then [DONE] without a finish reason', [delta({ content: 'x' }), '[DONE]'], 'network'],
  ])('with %s is a failure', async (_name, data, reason) => {
    expect(await failureOf(replyTo(...data))).toMatchObject({ code: reason });
  });

  it('is whole although the connection breaks after the finish reason', async () => {
    emulator.script([endedStream('reset', delta({ content: 'hi' }, 'stop'))]);
    const got = await provider.send(requestFor('chat', { model: 'm' }), sendOptions());
    expect(got.stopReason).toBe('end');
  });

  it('is whole although the server never closes the connection', async () => {
    emulator.script([endedStream('stall', delta({ content: 'hi' }, 'stop'))]);
    const got = await provider.send(requestFor('chat', { model: 'm' }), sendOptions());
    expect(got.stopReason).toBe('end');
  });
});

describe('a preset', () => {
  it.each(presetNames)('%s needs only its key', (name) => {
    const preset = presetProvider(name, { apiKey: testKey });
    expect(preset).toMatchObject({ name, vendor: name });
    expect(preset.problem()).toBeUndefined();
  });

  it.each([
    ['ollama', undefined],
    ['vllm', undefined],
    ['gemini', expect.stringContaining('no API key')],
  ] as const)('%s without a key: %s', (name, problem) => {
    expect(presetProvider(name).problem()).toEqual(problem);
  });
});
