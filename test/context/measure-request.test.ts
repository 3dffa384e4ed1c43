/** The measure of a request, before any vendor has seen it. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { countAllTokens } from '../../activities/measure/count-tokens';
import { measureRequest } from '../../activities/measure/measure-request';
import { fitsRequest } from '../../activities/context/request-check';
import { requestLimitsOf } from '../../activities/providers/request/request-limits';
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
const onChat = { wire: 'chat', route: 'openai/gpt-5' } as const;

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
    const measure = measureRequest(request(messages), { ...onChat, counted, factors });
    expect(measure.countedTokens).toBe(50_000);
    expect(measure.newText.words).toBeCloseTo(countAllTokens('word '.repeat(1_000)));
    expect(measure.tokens).toBe(50_000 + Math.ceil(measure.newText.words * 1.2 + 6));
  });

  it.each([
    ['another route', { route: 'openai/o3', messages: 1, tokens: 50_000 }],
    ['a longer transcript', { route: 'openai/gpt-5', messages: 9, tokens: 50_000 }],
  ])('ignores a count of %s', (_name, counted) => {
    const measure = measureRequest(request([say('a'), say('b')]), { ...onChat, counted });
    expect(measure.countedTokens).toBe(0);
    expect(measure.tokens).toBeLessThan(100);
  });

  it('counts the note, and tells how much of the whole it is', () => {
    const without = measureRequest(request([say('a')]), onChat);
    const withNote = measureRequest(
      request([say('a')], 'Something went wrong. '.repeat(20)),
      onChat,
    );
    expect(withNote.tokens - without.tokens).toBe(withNote.noteTokens);
    expect(without.noteTokens).toBe(0);
  });
});

describe('the fit of a request', () => {
  const bounds = {
    windowTokens: 10_000,
    maxOutputTokens: 1_000,
    limits: requestLimitsOf('anthropic'),
  };
  const small = measureRequest(request([say('a')]), onChat);

  it('leaves room for the reply', () => {
    expect(fitsRequest({ ...small, tokens: 9_000 }, bounds)).toEqual({ fits: true });
    expect(fitsRequest({ ...small, tokens: 9_001 }, bounds)).toEqual({
      fits: false,
      limit: 'tokens',
      measured: 9_001,
      allowed: 9_000,
    });
  });

  it.each([
    ['bytes', { bytes: 40_000_000 }],
    ['images', { images: 101 }],
    ['image-bytes', { largestImageBytes: 6_000_000 }],
    ['messages', { entries: 100_000 }],
  ])('names %s as the broken limit, whatever the tokens', (limit, over) => {
    expect(fitsRequest({ ...small, ...over }, bounds)).toMatchObject({ fits: false, limit });
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
  const bounds = { windowTokens: 1e9, maxOutputTokens: 0, limits: requestLimitsOf('chat') };
  const fitOf = (batches: number): unknown =>
    fitsRequest(
      measureRequest(request(Array.from({ length: batches }, () => results)), onChat),
      bounds,
    );
  expect(fitOf(31)).toEqual({ fits: true });
  expect(fitOf(32)).toMatchObject({ fits: false, limit: 'messages', allowed: 2_048 });
});
