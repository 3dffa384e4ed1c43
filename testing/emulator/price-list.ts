/** The vendors' public price lists, as the emulator bills by them: kept and computed apart from what is tested against it. */
import type { Usage } from '../../workflows/core/budget/spend';

/** US dollars per million tokens, as the vendors print them. */
type BilledRates = Readonly<Record<'input' | 'cacheWrite' | 'cacheRead' | 'output', number>>;

/**
 * By model; a dated name is billed as the name before the date.
 *
 * Source: platform.claude.com/docs/en/about-claude/pricing and developers.openai.com/api/docs/pricing, read 2026-11-28.
 */
const publicPrices: Readonly<Record<string, BilledRates>> = {
  'claude-sonnet-5': { input: 2, cacheWrite: 2.5, cacheRead: 0.2, output: 10 },
  'claude-sonnet-4-5': { input: 3, cacheWrite: 3.75, cacheRead: 0.3, output: 15 },
  'claude-opus-4-8': { input: 5, cacheWrite: 6.25, cacheRead: 0.5, output: 25 },
  'claude-haiku-4-5': { input: 1, cacheWrite: 1.25, cacheRead: 0.1, output: 5 },
  'gpt-5': { input: 1.25, cacheWrite: 1.25, cacheRead: 0.125, output: 10 },
  'gpt-5-mini': { input: 0.25, cacheWrite: 0.25, cacheRead: 0.025, output: 2 },
  'gpt-4.1': { input: 2, cacheWrite: 2, cacheRead: 0.5, output: 8 },
};

/**
 * What a request costs in units of 10^-12 US dollars, exactly; undefined for a model that is not on the list.
 *
 * A rate is a whole number of these units per token, and sums are whole up to 9,000 dollars.
 */
export function billedPicoUsd(model: string, usage: Usage): number | undefined {
  const bare = model.replace(/-\d{8}$|-\d{4}-\d{2}-\d{2}$/, '');
  const rates = publicPrices[model] ?? publicPrices[bare];
  if (rates === undefined) return undefined;
  const cost = (tokens: number, rate: number): number => tokens * Math.round(rate * 1_000_000);
  return (
    cost(usage.inputTokens, rates.input) +
    cost(usage.cacheWriteTokens, rates.cacheWrite) +
    cost(usage.cacheReadTokens, rates.cacheRead) +
    cost(usage.outputTokens, rates.output)
  );
}
