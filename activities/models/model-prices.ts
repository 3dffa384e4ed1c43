/** What models cost, in USD per million tokens. A route's `prices` and the worker's own table override it (ADR 0020). */
import { z } from 'zod';
import type { ModelPrice, TokenPrices } from '../../workflows/core/budget/model-price';
import { UserError } from '../lifecycle/user-error';

/** Prices as people write them, in USD per million tokens. */
export interface PriceDefinition {
  readonly input: number;
  readonly output: number;
  /** Default: as `input`. */
  readonly cacheRead?: number;
  /** Default: as `input`. */
  readonly cacheWrite?: number;
  /** Prices of every token of a prompt with more tokens than `aboveTokens`. */
  readonly longPrompt?: {
    readonly aboveTokens: number;
    readonly input: number;
    readonly output: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
}

/** Prices by model name or by its beginning; with a provider in front (`ollama/qwen3`), of that provider's models only. */
export type PriceTable = Readonly<Record<string, PriceDefinition>>;

/** Anthropic writes to its cache for 1.25 times the input's price. */
function claude(input: number, output: number, cacheRead = input / 10): PriceDefinition {
  return { input, output, cacheRead, cacheWrite: input * 1.25 };
}

/** OpenAI's models with a long context: above 272,000 tokens input costs twice, output one and a half times as much. */
function longGpt(
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite = input,
): PriceDefinition {
  const longPrompt = {
    aboveTokens: 272_000,
    input: input * 2,
    output: output * 1.5,
    cacheRead: cacheRead * 2,
    cacheWrite: cacheWrite * 2,
  };
  return { input, output, cacheRead, cacheWrite, longPrompt };
}

/**
 * List prices, standard tier, without promotions that end. The longest matching beginning wins.
 *
 * Source: the vendors' pricing pages, read 2026-11-28: platform.claude.com/docs/en/about-claude/pricing,
 * developers.openai.com/api/docs/pricing, ai.google.dev/gemini-api/docs/pricing, api-docs.deepseek.com/quick_start/pricing.
 */
const listPrices: PriceTable = {
  'claude-fable-5': claude(10, 50),
  'claude-fable-5-1': claude(10, 50, 0.25),
  'claude-mythos-5': claude(10, 50),
  'claude-mythos-5-1': claude(10, 50, 0.25),
  'claude-opus-5-5': claude(4, 20, 0.2),
  'claude-opus-5': claude(5, 25),
  'claude-opus-4-8': claude(5, 25),
  'claude-opus-4-7': claude(5, 25),
  'claude-opus-4-6': claude(5, 25),
  'claude-opus-4-5': claude(5, 25),
  'claude-opus-4': claude(15, 75),
  'claude-sonnet-5-5': claude(2, 10, 0.1),
  'claude-sonnet-5': claude(2, 10),
  'claude-sonnet-4': claude(3, 15),
  'claude-3-7-sonnet': claude(3, 15),
  'claude-haiku-5-5': {
    ...claude(0.1, 0.5),
    longPrompt: { aboveTokens: 100_000, ...claude(0.5, 2.5) },
  },
  'claude-haiku-4-5': claude(1, 5),
  'claude-3-5-haiku': claude(0.8, 4),
  'gpt-6.2-sol': longGpt(2, 10, 0.1, 2.5),
  'gpt-6.1-sol': longGpt(2, 10, 0.1, 2.5),
  'gpt-6-sol': longGpt(2, 10, 0.2, 2.5),
  'gpt-6-luna': longGpt(0.1, 0.5, 0.01, 0.125),
  'gpt-6-astra': longGpt(10, 50, 1, 12.5),
  'gpt-5.6-sol': longGpt(5, 30, 0.5),
  'gpt-5.6-terra': longGpt(2, 12, 0.2),
  'gpt-5.6-luna': longGpt(0.2, 1.2, 0.02),
  'gpt-5.5': longGpt(5, 30, 0.5),
  'gpt-5.5-pro': longGpt(30, 180, 30),
  'gpt-5.4': longGpt(2.5, 15, 0.25),
  'gpt-5.4-mini': { input: 0.75, output: 4.5, cacheRead: 0.075 },
  'gpt-5.2': { input: 1.75, output: 14, cacheRead: 0.175 },
  'gpt-5.1': { input: 1.25, output: 10, cacheRead: 0.125 },
  'gpt-5': { input: 1.25, output: 10, cacheRead: 0.125 },
  'gpt-5-pro': { input: 15, output: 120 },
  'gpt-5-mini': { input: 0.25, output: 2, cacheRead: 0.025 },
  'gpt-5-nano': { input: 0.05, output: 0.4, cacheRead: 0.005 },
  'gpt-4.1': { input: 2, output: 8, cacheRead: 0.5 },
  'gpt-4.1-mini': { input: 0.4, output: 1.6, cacheRead: 0.1 },
  'gpt-4.1-nano': { input: 0.1, output: 0.4, cacheRead: 0.025 },
  'gpt-4o': { input: 2.5, output: 10, cacheRead: 1.25 },
  'gpt-4o-mini': { input: 0.15, output: 0.6, cacheRead: 0.075 },
  o1: { input: 15, output: 60, cacheRead: 7.5 },
  o3: { input: 2, output: 8, cacheRead: 0.5 },
  'o3-pro': { input: 20, output: 80 },
  'o3-mini': { input: 1.1, output: 4.4, cacheRead: 0.55 },
  'o4-mini': { input: 1.1, output: 4.4, cacheRead: 0.275 },
  'gemini-3.8-flash': { input: 1.5, output: 7.5, cacheRead: 0.15 },
  'gemini-3.5-flash': { input: 1.5, output: 9, cacheRead: 0.15 },
  'gemini-2.5-pro': {
    input: 1.25,
    output: 10,
    cacheRead: 0.125,
    longPrompt: { aboveTokens: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
  },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, cacheRead: 0.03 },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, cacheRead: 0.01 },
  'deepseek-v4-flash': { input: 0.14, output: 0.28, cacheRead: 0.0028 },
  'deepseek-v4-pro': { input: 0.435, output: 0.87, cacheRead: 0.003625 },
};

const rate = z.number().min(0).max(100_000);
const rates = {
  input: rate,
  output: rate,
  cacheRead: rate.exactOptional(),
  cacheWrite: rate.exactOptional(),
};
const priceSchema = z.strictObject({
  ...rates,
  longPrompt: z.strictObject({ ...rates, aboveTokens: z.number().int().min(0) }).exactOptional(),
});

function whole(prices: Omit<PriceDefinition, 'longPrompt'>): TokenPrices {
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  return { input, output, cacheRead, cacheWrite };
}

/**
 * Checks prices that people give, and fills in what they leave out.
 *
 * Errors: `UserError` that names who set it, the field and the allowed range.
 */
export function checkPrices(where: string, prices: PriceDefinition): ModelPrice {
  const parsed = priceSchema.safeParse(prices);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) => `${issue.path.join('.')}: ${issue.message}`,
    );
    throw new UserError(
      `${where}: ${problems.join('; ')}. Give prices in USD per million tokens, such as { input: 2, output: 10 }.`,
    );
  }
  const { longPrompt } = prices;
  return {
    ...whole(prices),
    ...(longPrompt === undefined
      ? {}
      : { longPrompt: { ...whole(longPrompt), aboveTokens: longPrompt.aboveTokens } }),
  };
}

/** A name goes on behind a version in these only: `gpt-5` is no beginning of `gpt-5.7`. */
const boundaries: ReadonlySet<string> = new Set(['', '-', '@', ':', '_']);

function longestMatch(table: PriceTable, name: string): PriceDefinition | undefined {
  let best: readonly [beginning: string, prices: PriceDefinition] | undefined;
  for (const entry of Object.entries(table)) {
    const [beginning] = entry;
    const goesOn = beginning.endsWith('/') || boundaries.has(name.charAt(beginning.length));
    if (name.startsWith(beginning) && goesOn && beginning.length > (best?.[0].length ?? -1))
      best = entry;
  }
  return best?.[1];
}

/**
 * The price of a model: by the worker's own table, with and without the provider's name in front, else by the list.
 *
 * Contract: undefined where nobody knows; never a guess from another model's price.
 */
export function priceOf(provider: string, model: string, own: PriceTable): ModelPrice | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const found =
    longestMatch(own, `${provider}/${model}`) ??
    longestMatch(own, model) ??
    longestMatch(listPrices, name);
  return found === undefined ? undefined : checkPrices(`Price of ${provider}/${model}`, found);
}
