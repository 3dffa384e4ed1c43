/** Replies that arrive twice, in pieces that their end leaves out, or as JSON in an odd wrapping: over real SDKs and HTTP. */
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../../activities/providers/presets';
import type { ModelReply } from '../../../activities/providers/provider';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { fault } from '../../../testing/emulator/script';
import {
  failureOf,
  rawStream,
  requestFor,
  sendOptions,
  testKey,
  textOf,
} from '../support/provider-bench';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
});
afterEach(async () => {
  await emulator.stop();
});

function sendChat(): Promise<ModelReply> {
  const provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
  return provider.send(requestFor('chat', { model: 'm' }), sendOptions());
}

function sendResponses(...events: readonly object[]): Promise<ModelReply> {
  emulator.script([rawStream(...events)]);
  const baseUrl = emulator.baseUrl('responses');
  const provider = openaiProvider({ api: 'responses', apiKey: testKey, baseUrl });
  return provider.send(requestFor('responses'), sendOptions());
}

const chunk = (delta: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** A call whose arguments come in these pieces. */
function callIn(pieces: readonly string[]): Promise<ModelReply> {
  const [first, ...rest] = pieces.map((text, place) => {
    const head = place === 0 ? { id: 'c1', type: 'function' } : {};
    const name = place === 0 ? { name: 'read_file' } : {};
    return chunk({
      tool_calls: [{ index: 0, ...head, function: { ...name, arguments: text } }],
    });
  });
  emulator.script([rawStream(first, ...rest, chunk({}, 'tool_calls'), '[DONE]')]);
  return sendChat();
}

describe('arguments of a call on Chat Completions', () => {
  it.each<readonly [string, readonly string[], string]>([
    [
      'that grow with each piece (NousResearch/hermes-agent#35592)',
      ['{"path"', '{"path":"a', '{"path":"a"}'],
      '{"path":"a"}',
    ],
    [
      'that come whole three times (Soju06/codex-lb#284)',
      ['{"path":"a"}', '{"path":"a"}', '{"path":"a"}'],
      '{"path":"a"}',
    ],
    [
      'that come whole behind their pieces (lidge-jun/opencodex#361)',
      ['{"pa', 'th":"a"}', '{"path":"a"}'],
      '{"path":"a"}',
    ],
    ['behind an empty object (microsoft/autogen#6843)', ['{}', '{"path":"a"}'], '{"path":"a"}'],
  ])('%s are the last ones', async (_name, pieces, argumentsText) => {
    expect(await callIn(pieces)).toMatchObject({ toolCalls: [{ argumentsText }] });
  });

  it.each<readonly [string, readonly string[]]>([
    ['that never end', ['{"filter":', '{"path":"a"}']],
    ['with an object in the middle', ['{"filter":', '{"path":"a"}', '}']],
    ['that hold an object as text', ['{"path":"', '{}', '"}']],
  ])('%s stay as they are', async (_name, pieces) => {
    expect(await callIn(pieces)).toMatchObject({ toolCalls: [{ argumentsText: pieces.join('') }] });
  });
});

const message = { type: 'message', id: 'msg_1', role: 'assistant' };
const began = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { ...message, content: [] },
};
const said = (delta: string): object => ({
  type: 'response.output_text.delta',
  output_index: 0,
  item_id: 'msg_1',
  delta,
});
const ended = (content: readonly object[]): object => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: { ...message, status: 'completed', content },
});
const completed = (usage: object | null = null): object => ({
  type: 'response.completed',
  response: { model: 'gpt-5', status: 'completed', output: [], usage },
});

describe('a message of the Responses API', () => {
  it('whose final item is empty is its pieces (can1357/oh-my-pi#5146)', async () => {
    const got = await sendResponses(began, said('Do'), said('ne.'), ended([]), completed());
    expect(textOf(got)).toBe('Done.');
  });

  it('is its final item where that says something', async () => {
    const whole = ended([{ type: 'output_text', text: 'Final.' }]);
    expect(textOf(await sendResponses(began, said('Dra'), whole, completed()))).toBe('Final.');
  });

  it('does not take a total for its output where the input is not counted', async () => {
    const whole = ended([{ type: 'output_text', text: 'Done.' }]);
    const usage = { prompt_tokens: 1_200, completion_tokens: 3, total_tokens: 1_203 };
    const got = await sendResponses(began, whole, completed(usage));
    expect(got.usage).toMatchObject({ inputTokens: 0, outputTokens: 0 });
  });
});

const byteOrderMark = '\ufeff';
const whole = (content: string, finish?: string): object => ({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
});

const json = 'application/json';
function answer(text: string, type = json): void {
  emulator.script([fault.raw({ headers: { 'content-type': type }, pieces: [text] })]);
}

describe('one JSON body instead of a stream', () => {
  const long = 'word '.repeat(20_000);

  it.each([
    ['with a byte order mark', `${byteOrderMark}${JSON.stringify(whole(long, 'stop'))}`, json],
    ['without a finish reason', JSON.stringify(whole(long)), json],
    ['named an event stream', JSON.stringify(whole(long, 'stop')), 'text/event-stream'],
    ['named a text', `\n${JSON.stringify(whole(long, 'stop'), null, 2)}`, 'text/plain'],
    ['with a type in capital letters', JSON.stringify(whole(long, 'stop')), 'Application/JSON'],
  ])('%s is a reply', async (_name, text, type) => {
    answer(text, type);
    const got = await sendChat();
    expect(got.stopReason).toBe('end');
    expect(textOf(got)).toBe(long);
  });

  it('with a byte order mark is a reply of a Messages server', async () => {
    const body = {
      ...{ type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
      ...{
        content: [{ type: 'text', text: 'Done.' }],
        usage: { input_tokens: 7, output_tokens: 3 },
      },
    };
    answer(`${byteOrderMark}${JSON.stringify(body)}`);
    const provider = anthropicProvider({ apiKey: testKey, baseUrl: emulator.baseUrl('anthropic') });
    expect(textOf(await provider.send(requestFor('anthropic'), sendOptions()))).toBe('Done.');
  });

  it('with an error in words is that error', async () => {
    answer('{"error":"model is overloaded, try again"}');
    expect(await failureOf(sendChat())).toMatchObject({ code: 'overloaded' });
  });
});
