/** The vendors' public price lists, as the emulator bills by them: kept and computed apart from what is tested against it. */
import type { Usage } from '../../workflows/core/budget/spend';

/** US dollars per million tokens, as the vendors print them. */
interface BilledRates {
  readonly input: string;
  readonly cacheWrite: string;
  readonly cacheRead: string;
  readonly output: string;
}

/** Rates by model; a dated name is billed as the name before the date. */
export type PriceList = Readonly<Record<string, BilledRates>>;

/** Source: platform.claude.com/docs/en/about-claude/pricing and developers.openai.com/api/docs/pricing, read 2026-11-28. */
export const publicPrices: PriceList = {
  'claude-sonnet-5': { input: '2', cacheWrite: '2.50', cacheRead: '0.20', output: '10' },
  'claude-sonnet-4-5': { input: '3', cacheWrite: '3.75', cacheRead: '0.30', output: '15' },
  'claude-opus-4-8': { input: '5', cacheWrite: '6.25', cacheRead: '0.50', output: '25' },
  'claude-haiku-4-5': { input: '1', cacheWrite: '1.25', cacheRead: '0.10', output: '5' },
  'gpt-5': { input: '1.25', cacheWrite: '1.25', cacheRead: '0.125', output: '10' },
  'gpt-5-mini': { input: '0.25', cacheWrite: '0.25', cacheRead: '0.025', output: '2' },
  'gpt-4.1': { input: '2', cacheWrite: '2', cacheRead: '0.50', output: '8' },
};

/** Digits behind the point in which money is kept. */
const moneyDigits = 15;
/** Digits behind the point of a rate at most. */
const rateDigits = 9;

/** A rate in whole units of 10^-9 dollars per million tokens, which is 10^-15 dollars per token. */
function rateUnits(rate: string): bigint {
  const [whole = '0', fraction = ''] = rate.split('.');
  return BigInt(whole + fraction.padEnd(rateDigits, '0').slice(0, rateDigits));
}

/** What a request costs in units of 10^-15 dollars; undefined for a model that is not on the list. */
export function billedUnits(list: PriceList, model: string, usage: Usage): bigint | undefined {
  const rates = list[model] ?? list[model.replace(/-\d{8}$|-\d{4}-\d{2}-\d{2}$/, '')];
  if (rates === undefined) return undefined;
  return (
    BigInt(usage.inputTokens) * rateUnits(rates.input) +
    BigInt(usage.cacheWriteTokens) * rateUnits(rates.cacheWrite) +
    BigInt(usage.cacheReadTokens) * rateUnits(rates.cacheRead) +
    BigInt(usage.outputTokens) * rateUnits(rates.output)
  );
}

/** Dollars for this many units. */
export function dollars(units: bigint): number {
  return Number(units) / 10 ** moneyDigits;
}
