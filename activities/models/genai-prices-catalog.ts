/** Reads windows and prices from the catalog of `@pydantic/genai-prices`, which this package bundles: nothing is fetched. */
import { createRequire } from 'node:module';
import type * as GenaiPrices from '@pydantic/genai-prices';
import { defined } from '../../workflows/core/json';
import type { PriceDefinition } from './model-tables';
import { namesOf } from './model-tables';
import { isReasoningModel } from './model-traits';

/** Loaded with the first model that needs it: it takes about 25 ms and 4 MB. */
function catalog(): typeof GenaiPrices {
  return createRequire(__filename)('@pydantic/genai-prices') as typeof GenaiPrices;
}

/** Vendors whose models gateways offer under the same names. */
const makers: readonly string[] = ['anthropic', 'openai', 'google', 'deepseek', 'x-ai'];

/** What may follow a model's name in the name of its snapshot: a date, `latest`, or the version of a cloud's packaging. */
const snapshot =
  /^(?:[-@]?(?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d{3,4}|latest|v\d{1,4}(?::\d{1,4})?)(?!\d)){0,4}$/;

/** True for the model's name and for the names of its snapshots; `gpt-5-mini` is another model than `gpt-5`. */
export function isSnapshotOf(model: string, name: string): boolean {
  return name.startsWith(model) && snapshot.test(name.slice(model.length));
}

/** Stricter than the catalog's own matching, by which `claude-sonnet-5` covers a later `claude-sonnet-5-5`. */
function matches(logic: GenaiPrices.MatchLogic, name: string): boolean {
  if ('or' in logic) return logic.or.some((each) => matches(each, name));
  if ('and' in logic) return logic.and.every((each) => matches(each, name));
  if ('equals' in logic) return logic.equals === name;
  if ('regex' in logic) return new RegExp(logic.regex).test(name);
  if ('ends_with' in logic) return name.endsWith(logic.ends_with);
  if ('starts_with' in logic) return isSnapshotOf(logic.starts_with, name);
  const at = name.indexOf(logic.contains);
  return at >= 0 && isSnapshotOf(logic.contains, name.slice(at));
}

/** The catalog's rows of a model: the provider's own first, then its maker's. */
function* rowsOf(provider: string, model: string): Generator<GenaiPrices.ModelInfo> {
  const names = namesOf(provider, model).slice(1);
  for (const providerId of [provider, ...makers]) {
    const rows = catalog().findProvider({ providerId })?.models ?? [];
    yield* rows.filter(({ match }) => names.some((name) => matches(match, name)));
  }
}

/** OpenAI's reasoning models keep this many tokens of a window of 400,000 or more for the reply: the rest is for input. */
const replyTokens = 128_000;

/** Tokens that the model takes as input, by the catalog. */
export function publishedWindow(provider: string, model: string): number | undefined {
  for (const { id, context_window: window } of rowsOf(provider, model)) {
    if (window === undefined) continue;
    const bare = id.slice(id.lastIndexOf('/') + 1);
    const hasReserve = bare.startsWith('gpt-') && isReasoningModel(bare) && window >= 400_000;
    return hasReserve ? window - replyTokens : window;
  }
  return undefined;
}

/** The prices of a model that hold at a time, by the catalog. */
export function publishedPrices(
  provider: string,
  model: string,
  atMs: number,
): PriceDefinition | undefined {
  for (const { prices } of rowsOf(provider, model)) {
    const found = pricesAt(Array.isArray(prices) ? prices : [{ prices }], atMs);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of rates that change with the hour, the highest: a run may last all day. */
function pricesAt(
  listed: readonly GenaiPrices.ConditionalPrice[],
  atMs: number,
): PriceDefinition | undefined {
  const current = listed.findLast(
    ({ constraint }) =>
      constraint === undefined ||
      (constraint.type === 'start_date' && Date.parse(constraint.start_date) <= atMs),
  );
  const hourly = listed.filter(({ constraint }) => constraint?.type === 'time_of_date');
  const rates = [current, ...hourly].flatMap((row) => (row === undefined ? [] : [row.prices]));
  const base = tokenPrices(rates, (price) => price.base);
  const starts = rates.flatMap(({ input_mtok: price }) =>
    typeof price === 'object' ? (price.tiers[0]?.start ?? []) : [],
  );
  const long = tokenPrices(rates, (price) => price.tiers.at(-1)?.price ?? price.base);
  if (base === undefined) return undefined;
  const longPrompt =
    long === undefined || starts.length === 0
      ? undefined
      : { ...long, aboveTokens: Math.min(...starts) };
  return { ...base, ...defined({ longPrompt }) };
}

function tokenPrices(
  rates: readonly GenaiPrices.ModelPrice[],
  read: (price: GenaiPrices.TieredPrices) => number,
): Omit<PriceDefinition, 'longPrompt'> | undefined {
  const highest = (unit: string): number | undefined => {
    const prices = rates.flatMap((rate) => {
      const price = rate[unit];
      return (typeof price === 'object' ? read(price) : price) ?? [];
    });
    return prices.length === 0 ? undefined : Math.max(...prices);
  };
  const [input, output] = [highest('input_mtok'), highest('output_mtok')];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite] = [highest('cache_read_mtok'), highest('cache_write_mtok')];
  return { input, output, ...defined({ cacheRead, cacheWrite }) };
}
