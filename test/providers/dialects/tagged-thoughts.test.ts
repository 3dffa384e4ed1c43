/** Thoughts that a server leaves in the text, and replies that it gives as one JSON body. */
import { TaggedThoughts } from '../../../activities/providers/stream/tagged-thoughts';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../../activities/providers/presets';
import type { ModelReply } from '../../../activities/providers/provider';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { fault, reply } from '../../../testing/emulator/script';
import type { JsonObject } from '../../../workflows/core/json';
import { failureOf, requestFor, sendOptions, testKey, textOf } from '../support/provider-bench';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
});
afterEach(async () => {
  await emulator.stop();
});

function thoughtsOf({ blocks }: ModelReply): string {
  return blocks.map((block) => (block.type === 'reasoning' ? block.text : '')).join('');
}

/** Text, thought and answer. */
const rows: readonly (readonly [string, string, string, string])[] = [
  [
    'a block at the beginning (t2-local-02)',
    '<think>\nA plan.\n</think>\n\nDone.',
    '\nA plan.\n',
    'Done.',
  ],
  ['only the closing tag (QwenLM/qwen-code#6033)', 'A plan.</think>\n\nDone.', 'A plan.', 'Done.'],
  ['only the opening tag (bytedance/deer-flow#3218)', '<think>\nA plan', '\nA plan', ''],
  ['a closing tag that opens the text (aula-id/koma#63)', '</think>\n\nDone.', '', 'Done.'],
  [
    'an empty block (lmstudio-ai/lmstudio-bug-tracker#821)',
    '<think>\n\n</think>\n\nDone.',
    '\n\n',
    'Done.',
  ],
  ['another name (youssofal/MTPLX#149)', '<reasoning>Hm.</reasoning> Done.', 'Hm.', 'Done.'],
  ['capital letters', '<Thinking>Hm.</Thinking>Done.', 'Hm.', 'Done.'],
  ["Mistral's marks", '[THINK]Hm.[/THINK]Done.', 'Hm.', 'Done.'],
  ['the mark of Seed-OSS', '<seed:think>Hm.</seed:think>Done.', 'Hm.', 'Done.'],
  ['the mark of Kimi-VL', '\u25c1think\u25b7Hm.\u25c1/think\u25b7Done.', 'Hm.', 'Done.'],
  [
    'the channel of Gemma 4 (NousResearch/hermes-agent#67632)',
    '<|channel>thought\nHm.<channel|>Done.',
    'Hm.',
    'Done.',
  ],
  [
    'the channels of gpt-oss (ddalcu/mlx-serve#247)',
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.',
    'Hm.',
    'Done.',
  ],
  ['the last channel of gpt-oss alone', '<|channel|>final<|message|>Done.', '', 'Done.'],
  [
    'a closing tag right before the answer (nbramia/LifeOS#568)',
    'A plan.\n</think>{"sources":["a"]}',
    'A plan.',
    '{"sources":["a"]}',
  ],
  ['a closing tag between words', 'A plan.</think>Done.', 'A plan.', 'Done.'],
  [
    'a closing tag before a sign',
    'It ends (with </think>), so.',
    '',
    'It ends (with </think>), so.',
  ],
  ['two blocks', '<think>a</think>\n<think>b</think>Done.', 'ab', 'Done.'],
  ['nothing but thoughts', '<think>Only thoughts.</think>', 'Only thoughts.', ''],
  [
    'a tag in the middle',
    'Use <think>x</think> for thoughts.',
    '',
    'Use <think>x</think> for thoughts.',
  ],
  [
    'a tag in a fence',
    'So:\n```xml\n<think>\na\n</think>\n```\n',
    '',
    'So:\n```xml\n<think>\na\n</think>\n```\n',
  ],
  [
    'a closing tag in backticks',
    'End it with `</think>`\nplease',
    '',
    'End it with `</think>`\nplease',
  ],
  ['a closing tag in a sentence', 'The </think> tag ends it.', '', 'The </think> tag ends it.'],
  ['what only looks like a tag', '<thin ice', '', '<thin ice'],
  ['a comparison', '<5 and >3', '', '<5 and >3'],
];

describe.each([1, 3, 7, 400])('in pieces of %i characters', (size) => {
  it.each(rows)('%s', async (_name, text, thought, answer) => {
    const pieces: string[] = [];
    emulator.script([reply.text(text, { charactersPerDelta: size })]);
    const got = await presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') }).send(
      requestFor('chat', { model: 'm' }),
      sendOptions({ onText: (piece) => pieces.push(piece) }),
    );
    expect(textOf(got)).toBe(answer);
    expect(thoughtsOf(got).trim()).toBe(thought.trim());
    // What streams is given back to the model if the stream breaks: thoughts in a block are never in it.
    if (thought !== '' && text.startsWith('<')) expect(pieces.join('').trim()).toBe(answer.trim());
  });
});

it('stays the text of OpenAI', async () => {
  emulator.script([reply.text('<think>a</think>b')]);
  const provider = openaiProvider({
    api: 'chat',
    apiKey: testKey,
    baseUrl: emulator.baseUrl('chat'),
  });
  const got = await provider.send(requestFor('chat'), sendOptions());
  expect(textOf(got)).toBe('<think>a</think>b');
});

it('takes time in proportion to the text', () => {
  const reader = new TaggedThoughts();
  const startedAtMs = performance.now();
  for (let piece = 0; piece < 200_000; piece += 1) reader.accept('<thin');
  reader.whole();
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});

const json = (body: JsonObject, status = 200): ReturnType<typeof fault.raw> =>
  fault.raw({
    status,
    headers: { 'content-type': 'application/json' },
    pieces: [JSON.stringify(body, null, 2)],
  });

describe('one JSON body instead of a stream', () => {
  const call = { name: 'read_file', arguments: '{"path":"a"}' };

  it('is a reply of a server on Chat Completions', async () => {
    emulator.script([
      json({
        id: 'c',
        object: 'chat.completion',
        model: 'm2',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: '<think>Hm.</think>Reading.',
              tool_calls: [{ id: 'x', type: 'function', function: call }],
            },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 7, completion_tokens: 3 },
      }),
    ]);
    const provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
    const got = await provider.send(requestFor('chat', { model: 'm' }), sendOptions());
    expect(got).toMatchObject({
      model: 'm2',
      stopReason: 'tool-use',
      toolCalls: [{ name: 'read_file', argumentsText: '{"path":"a"}' }],
      usage: { inputTokens: 7, outputTokens: 3 },
    });
    expect(textOf(got)).toBe('Reading.');
  });

  it('is a reply of a Responses server', async () => {
    emulator.script([
      json({
        object: 'response',
        status: 'completed',
        model: 'm2',
        output: [
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] },
          { type: 'function_call', call_id: 'x', ...call },
        ],
        usage: { input_tokens: 7, output_tokens: 3 },
      }),
    ]);
    const provider = openaiProvider({
      api: 'responses',
      apiKey: testKey,
      baseUrl: emulator.baseUrl('responses'),
    });
    const got = await provider.send(requestFor('responses'), sendOptions());
    expect(got.toolCalls).toMatchObject([{ name: 'read_file', argumentsText: '{"path":"a"}' }]);
    expect(textOf(got)).toBe('Hi.');
  });

  it('is a reply of a Messages server, and longer than what is kept to explain a failure', async () => {
    const text = 'word '.repeat(20_000);
    emulator.script([
      json({
        type: 'message',
        role: 'assistant',
        model: 'm2',
        content: [
          { type: 'text', text },
          { type: 'tool_use', id: 'x', name: 'read_file', input: { path: 'a' } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 7, output_tokens: 3 },
      }),
    ]);
    const provider = anthropicProvider({ apiKey: testKey, baseUrl: emulator.baseUrl('anthropic') });
    const got = await provider.send(requestFor('anthropic'), sendOptions());
    expect(got).toMatchObject({
      stopReason: 'tool-use',
      toolCalls: [{ name: 'read_file', argumentsText: '{"path":"a"}' }],
    });
    expect(textOf(got)).toBe(text);
  });

  it('is a failure if it is an error', async () => {
    emulator.script([json({ error: { message: 'The model is overloaded.', code: 503 } })]);
    const provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
    const sent = provider.send(requestFor('chat', { model: 'm' }), sendOptions());
    expect(await failureOf(sent)).toMatchObject({ code: 'overloaded' });
  });
});
