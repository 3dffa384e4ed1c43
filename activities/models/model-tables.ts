/** Prices and windows that people set for models: their types, their checks, and which row applies to a model. */
import { z } from 'zod';
import type { ModelPrice, TokenPrices } from '../../workflows/core/budget/spend';
import { defined } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';

const rate = z.number().min(0).max(100_000);
const rates = {
  input: rate,
  output: rate,
  /** Default: as `input`. */
  cacheRead: rate.exactOptional(),
  /** Default: as `input`. */
  cacheWrite: rate.exactOptional(),
};
const priceSchema = z.strictObject({
  ...rates,
  /** Prices of every token of a prompt with more tokens than `aboveTokens`. */
  longPrompt: z.strictObject({ ...rates, aboveTokens: z.number().int().min(0) }).exactOptional(),
});

/** Prices as people write them, in USD per million tokens. */
export type PriceDefinition = z.infer<typeof priceSchema>;

/** Prices by model name or by its beginning; with a provider in front (`ollama/qwen3`), of that provider's models only. */
export type PriceTable = Readonly<Record<string, PriceDefinition>>;

/** Context windows in tokens, by names as in `PriceTable`. */
export type WindowTable = Readonly<Record<string, number>>;

function withDefaults(prices: Omit<PriceDefinition, 'longPrompt'>): TokenPrices {
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  return { input, output, cacheRead, cacheWrite };
}

/**
 * Checks prices that people set, and fills in what they leave out.
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
  const { longPrompt: long } = prices;
  const longPrompt = long && { ...withDefaults(long), aboveTokens: long.aboveTokens };
  return { ...withDefaults(prices), ...defined({ longPrompt }) };
}

/** Returns the table. Errors: `UserError` that names the invalid row. */
export function checkWindows(table: WindowTable): WindowTable {
  for (const [name, tokens] of Object.entries(table))
    if (!Number.isInteger(tokens) || tokens < 1)
      throw new UserError(
        `windows["${name}"] is ${tokens}; give the model's input limit in tokens, a whole number of at least 1.`,
      );
  return table;
}

/** The names of a model, lower-cased: with its provider, as given, and without a path in front. */
export function namesOf(provider: string, model: string): readonly string[] {
  const bare = model.slice(model.lastIndexOf('/') + 1);
  return [`${provider}/${model}`, model, bare].map((name) => name.toLowerCase());
}

/** A name continues after one of these: `gpt-5` covers `gpt-5-mini`, but neither `gpt-5.7` nor `gpt-50`. */
const separators = '-@:_';

function covers(rowName: string, name: string): boolean {
  if (!name.startsWith(rowName)) return false;
  const next = name.charAt(rowName.length);
  return next === '' || separators.includes(next) || `/${separators}`.includes(rowName.slice(-1));
}

/** The row of a person's table that covers the model: a provider's row first, then the longest name. */
export function rowOf<Row>(
  table: Readonly<Record<string, Row>>,
  provider: string,
  model: string,
): Row | undefined {
  const rows = Object.entries(table).sort(([left], [right]) => right.length - left.length);
  for (const name of namesOf(provider, model)) {
    const row = rows.find(([rowName]) => covers(rowName.toLowerCase(), name));
    if (row !== undefined) return row[1];
  }
  return undefined;
}
