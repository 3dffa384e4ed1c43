/** The measure of a request, before any vendor has seen it. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { countAllTokens } from '../../activities/measure/count-tokens';
import type { MeasuredCall, RequestMeasure } from '../../activities/measure/measure-request';
import { measureCall } from '../../activities/measure/measure-request';
import { brokenLimit } from '../../activities/context/request-check';
import { windowOf } from '../../activities/models/model-catalog';
import type { ModelRequest } from '../../activities/providers/provider';
import type { Message } from '../../workflows/core/message';

const say = (text: string): Message => ({ role: 'user', blocks: [{ type: 'text', text }] });
const request = (messages: readonly Message[], note?: string): ModelRequest => ({
  model: 'gpt-5',
  system: 'You repair projects.',
  messages,
  tools: [],
  maxOutputTokens: 1_000,
  ...(note === undefined ? {} : { note }),
});
const measureOf = (sent: ModelRequest, input: MeasuredCall['input'] = {}): RequestMeasure =>
  measureCall({ request: sent, route: 'openai/gpt-5', provider: { wire: 'chat' }, input });

describe('the count of a text', () => {
  it.each([
    ['prose', 'Nothing in this sentence is remarkable, and there is a lot of it. '.repeat(200)],
    [
      'code',
      'export const add = (left: number, right: number): number => left + right;\n'.repeat(200),
    ],
    ['Chinese', '这一句话没有什么特别之处，只是很长而已。'.repeat(200)],
    ['JSON', JSON.stringify(Array.from({ length: 400 }, (_, id) => ({ id, name: `item ${id}` })))],
  ])('is within 1 %% of the whole table on %s', (_name, text) => {
    const whole = countTokens(text);
    expect(Math.abs(countAllTokens(text) - whole) / whole).toBeLessThan(0.01);
  });

  it('cuts no character in two', () => {
    const text = `${'a'.repeat(255)}${'😀'.repeat(50)}`;
    expect(countAllTokens(text)).toBeGreaterThan(50);
    expect(countAllTokens('😀'.repeat(400))).toBe(400 * countAllTokens('😀'));
  });

  it("takes a vendor's own marks for text", () => {
    expect(countAllTokens('<|endoftext|>')).toBeGreaterThan(1);
  });
});

describe('the measure of a request', () => {
  it("builds on the vendor's count of the same transcript and adds only what is new", () => {
    const messages = [say('a'), say('b'), say('word '.repeat(1_000))];
    const counted = { route: 'openai/gpt-5', messages: 2, tokens: 50_000 };
    const factors = { words: 1.2, marks: 1, scripts: 1 };
    const measure = measureOf(request(messages), { counted, tokenFactors: factors });
    expect(measure.countedTokens).toBe(50_000);
    expect(measure.newText.words).toBeCloseTo(countAllTokens('word '.repeat(1_000)));
    expect(measure.tokens).toBe(50_000 + Math.ceil(measure.newText.words * 1.2 + 6));
  });

  it.each([
    ['another route', { route: 'openai/o3', messages: 1, tokens: 50_000 }],
    ['a longer transcript', { route: 'openai/gpt-5', messages: 9, tokens: 50_000 }],
  ])('ignores a count of %s', (_name, counted) => {
    const measure = measureOf(request([say('a'), say('b')]), { counted });
    expect(measure.countedTokens).toBe(0);
    expect(measure.tokens).toBeLessThan(100);
  });

  it('counts the note, and tells how much of the whole it is', () => {
    const without = measureOf(request([say('a')]));
    const withNote = measureOf(request([say('a')], 'Something went wrong. '.repeat(20)));
    expect(withNote.tokens - without.tokens).toBe(withNote.noteTokens);
    expect(without.noteTokens).toBe(0);
  });
});

describe('the limits beside the window', () => {
  const small = measureOf(request([say('a')]));

  it.each([
    ['bytes', { bytes: 40_000_000 }],
    ['messages', { entries: 100_000 }],
  ])('names %s as the broken limit', (limit, over) => {
    expect(brokenLimit(small, 'anthropic')).toBeUndefined();
    expect(brokenLimit({ ...small, ...over }, 'anthropic')).toBe(limit);
  });

  it('are those of the strictest wire for a provider that does not say which it speaks', () => {
    expect(brokenLimit({ ...small, bytes: 40_000_000 })).toBe('bytes');
    expect(brokenLimit({ ...small, bytes: 40_000_000 }, 'chat')).toBeUndefined();
  });
});

test.each([
  ['claude-sonnet-4-5', {}, 200_000],
  ['anthropic/Claude-Opus-5-5', {}, 1_000_000],
  ['gpt-4', {}, 8_192],
  ['gpt-4-turbo-2024-04-09', {}, 128_000],
  ['gpt-5.1-chat-latest', {}, 128_000],
  ['gpt-6-astra', {}, 922_000],
  ['gpt-6-astra', { 'gpt-6': 500_000 }, 500_000],
  ['my-model', { 'my-': 32_000, 'my-model': 64_000 }, 64_000],
  ['my-model', {}, undefined],
])('the window of %s with the table %j is %d', (model, own, tokens) => {
  expect(windowOf('any', model, own)).toBe(tokens);
});

test('the Chat wire takes 2,048 messages, and each result is one', () => {
  const results: Message = {
    role: 'tool',
    results: Array.from({ length: 64 }, (_, index) => ({
      type: 'tool-result',
      toolCallId: `t${index}`,
      name: 'read_file',
      content: 'ok',
      isError: false,
    })),
  };
  const limitOf = (batches: number): unknown =>
    brokenLimit(measureOf(request(Array.from({ length: batches }, () => results))), 'chat');
  expect(limitOf(31)).toBeUndefined();
  expect(limitOf(32)).toBe('messages');
});
