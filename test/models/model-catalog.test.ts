import { priceOf, windowOf } from '../../activities/models/model-catalog';
import type { PriceTable } from '../../activities/models/model-tables';

const november = Date.parse('2026-11-28');

describe('a model that nobody lists', () => {
  it.each([
    ['openai', 'gpt-4.9'],
    ['openai', 'gpt-5.9'],
    ['openai', 'gpt-50'],
    ['openai', 'gpt-5-turbo'],
    ['anthropic', 'claude-sonnet-5-7'],
    ['anthropic', 'claude-opus-9'],
    ['google', 'gemini-3.8-flash-nano'],
    ['ollama', 'qwen3:8b'],
    ['ollama', 'deepseek-r1:8b'],
    ['scripted', 'm'],
  ])('%s/%s has neither a price nor a window', (provider, model) => {
    expect(priceOf(provider, model, {}, november)).toBeUndefined();
    expect(windowOf(provider, model)).toBeUndefined();
  });
});

describe('a known model', () => {
  it.each([
    ['openai', 'gpt-4o-2024-11-20', 2.5, 128_000],
    ['openai', 'gpt-5', 1.25, 272_000],
    ['openai', 'gpt-6-sol', 2, 922_000],
    ['openai', 'gpt-6.2-sol', 2, 922_000],
    ['anthropic', 'claude-sonnet-4-20250514', 3, 200_000],
    ['anthropic', 'claude-opus-5-5', 4, 1_000_000],
    ['vertex', 'claude-opus-4-8@20260801', 5, 1_000_000],
    ['bedrock', 'us.anthropic.claude-sonnet-4-20250514-v1:0', 3, 200_000],
    ['gateway', 'anthropic/claude-sonnet-5', 2, 1_000_000],
    ['gateway', 'anthropic/claude-haiku-5-5', 0.1, 1_000_000],
  ])('%s/%s costs %d and takes %d tokens', (provider, model, input, windowTokens) => {
    expect(priceOf(provider, model, {}, november)?.input).toBe(input);
    expect(windowOf(provider, model)).toBe(windowTokens);
  });

  it('has the price of its day', () => {
    const inputAt = (day: string): number | undefined =>
      priceOf('openai', 'gpt-5.6-sol', {}, Date.parse(day))?.input;
    expect([inputAt('2026-08-20'), inputAt('2026-08-22')]).toEqual([5, 4]);
  });

  it('has its highest price where that changes with the hour', () => {
    expect(priceOf('deepseek', 'deepseek-v4-flash', {}, november)).toEqual({
      input: 0.44,
      output: 1.32,
      cacheRead: 0.014,
      cacheWrite: 0.44,
    });
  });

  it('has the prices of long prompts', () => {
    expect(priceOf('openai', 'gpt-6-sol', {}, november)?.longPrompt).toEqual({
      aboveTokens: 272_000,
      input: 4,
      output: 15,
      cacheRead: 0.4,
      cacheWrite: 5,
    });
  });
});

describe("a person's table", () => {
  const price = (input: number): PriceTable[string] => ({ input, output: input });
  const rows = { 'gpt-5': 1, 'GPT-5-mini': 2, 'ollama/': 3, 'ollama/qwen3': 4, 'my-': 5 };
  const prices = Object.fromEntries(
    Object.entries(rows).map(([name, input]) => [name, price(input)]),
  );

  it.each([
    ['openai', 'gpt-5', 1],
    ['openai', 'gpt-5-mini-2026', 2],
    ['openai', 'gpt-5.9', undefined],
    ['openai', 'gpt-50', undefined],
    ['gateway', 'openai/gpt-5', 1],
    ['ollama', 'llama9', 3],
    ['ollama', 'qwen3:8b', 4],
    ['ollama', 'qwen3.5', 3],
    ['acme', 'my-model', 5],
  ])('has the same row for the price and the window of %s/%s', (provider, model, expected) => {
    expect(priceOf(provider, model, prices, november)?.input).toBe(expected);
    expect(windowOf(provider, model, rows)).toBe(expected);
  });
});
