/** What calls consume, cost and may spend: shared by the core, which keeps the ledger, and the activities, which spend. */

/** Tokens of one or many model calls; each class counted once. */
export interface Usage {
  /** Input tokens that were neither read from nor written to the vendor's prompt cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** No tokens at all. */
export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** Share of the input tokens that came from the vendor's prompt cache, in four decimals; undefined if nothing was sent. */
export function cachedShareOf(usage: Usage): number | undefined {
  const sent = promptTokens(usage);
  return sent > 0 ? Math.round((usage.cacheReadTokens / sent) * 10_000) / 10_000 : undefined;
}

/** Behind a number of input tokens: ` (87 % cached)`, or nothing where none were. */
export function cachedText(cachedShare: number | undefined): string {
  const percent = Math.round((cachedShare ?? 0) * 100);
  return percent === 0 ? '' : ` (${percent} % cached)`;
}

/** Adds two usages class by class. */
export function addUsage(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
  };
}

/** Prices of one model in USD per million tokens. */
export interface TokenPrices {
  /** Input that the vendor's prompt cache neither held nor took. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** Prices of one model; some vendors charge every token of a long prompt more. */
export interface ModelPrice extends TokenPrices {
  readonly longPrompt?: TokenPrices & {
    /** The prompt has more tokens than this, cached ones counted. */
    readonly aboveTokens: number;
  };
}

/** Nanodollars in one US dollar. */
const nanoPerUsd = 1_000_000_000;

/** A rate in whole picodollars per token: 1 USD per million tokens is 1,000,000 picodollars per token. */
function picoPerToken(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1_000_000);
}

const picoPerNano = 1_000;

/** Tokens of a prompt, cached ones counted. */
function promptTokens(usage: Usage): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

/** Tokens of a call or of many, every class counted. */
export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.outputTokens;
}

/** The prices for a prompt of this many tokens. */
function pricesFor(price: ModelPrice, tokens: number): TokenPrices {
  const { longPrompt } = price;
  return longPrompt !== undefined && tokens > longPrompt.aboveTokens ? longPrompt : price;
}

/** What one request costs, in nanodollars, rounded up. Contract: of one request only, since long prompts have their own prices. */
export function costNanoUsd(price: ModelPrice, usage: Usage): number {
  const prices = pricesFor(price, promptTokens(usage));
  const pico =
    usage.inputTokens * picoPerToken(prices.input) +
    usage.cacheReadTokens * picoPerToken(prices.cacheRead) +
    usage.cacheWriteTokens * picoPerToken(prices.cacheWrite) +
    usage.outputTokens * picoPerToken(prices.output);
  return Math.ceil(pico / picoPerNano);
}

/** Tokens of margin on a guess or measure of a request, for vendors' own additions to a short one (ADR 0020). */
export const fixedMargin = 64;

/** The most that a prompt of this many tokens can cost in nanodollars, at the highest cache price. */
export function worstPromptNanoUsd(price: ModelPrice, tokens: number): number {
  const { input, cacheRead, cacheWrite } = pricesFor(price, tokens);
  return Math.ceil((tokens * picoPerToken(Math.max(input, cacheRead, cacheWrite))) / picoPerNano);
}

/** The most that a request can cost with a reply of this many tokens, in nanodollars. */
export function worstRequestNanoUsd(
  price: ModelPrice,
  tokens: number,
  outputTokens: number,
): number {
  const output = picoPerToken(pricesFor(price, tokens).output);
  return worstPromptNanoUsd(price, tokens) + Math.ceil((outputTokens * output) / picoPerNano);
}

/** How many output tokens this many nanodollars buy after a prompt of that size; Infinity if output is free. */
export function affordableOutputTokens(price: ModelPrice, tokens: number, nanoUsd: number): number {
  const pico = picoPerToken(pricesFor(price, tokens).output);
  if (pico === 0) return nanoUsd < 0 ? 0 : Infinity;
  return Math.max(Math.floor((nanoUsd * picoPerNano) / pico), 0);
}

/** US dollars of an amount, for people and for programs. */
export function usdOf(nanoUsd: number): number {
  return nanoUsd / nanoPerUsd;
}

/** Nanodollars of an amount that people write. */
export function nanoUsdOf(usd: number): number {
  return Math.round(usd * nanoPerUsd);
}

/** Digits after the point that an amount below a cent keeps beside its leading zeros. */
const significantDigits = 3;

/** An amount for people: cents from a dollar on, more digits below. */
export function usdText(nanoUsd: number): string {
  const usd = usdOf(nanoUsd);
  if (usd === 0) return '$0.00';
  if (Math.abs(usd) >= 1) return `$${usd.toFixed(2)}`;
  const zeros = Math.max(-Math.floor(Math.log10(Math.abs(usd))) - 1, 0);
  return `$${usd.toFixed(Math.min(Math.max(zeros + significantDigits, 2), 9))}`;
}

/** A budget as people write it. */
export interface Budget {
  /** US dollars. */
  readonly usd?: number;
  /** Tokens of every class together. */
  readonly tokens?: number;
}

/** The most that something may spend; an absent field has no limit. */
export interface Allowance {
  readonly nanoUsd?: number;
  readonly tokens?: number;
}

/** The consumption that no vendor reported: of replies that broke off, or of workers that died during the call. */
export interface EstimatedSpend {
  /** What was probably consumed. */
  readonly nanoUsd: number;
  readonly tokens: number;
  /** The most that it may have been. */
  readonly mostNanoUsd: number;
  readonly mostTokens: number;
}

/** What a call consumed, all of its attempts together. */
export interface CallSpend {
  /** As expected: what vendors reported, and what is estimated. */
  readonly usage: Usage;
  /** Its cost; absent if the model has no known price. */
  readonly nanoUsd?: number;
  /** The estimated part of both; the rest is known. */
  readonly estimated?: EstimatedSpend;
}

/** A call that consumed nothing. */
export const noSpend: CallSpend = { usage: noUsage, nanoUsd: 0 };

/** Adds what two attempts or calls consumed; unknown money stays unknown. */
export function addSpend(left: CallSpend, right: CallSpend): CallSpend {
  const known = left.nanoUsd !== undefined && right.nanoUsd !== undefined;
  const estimated = addEstimates(left.estimated, right.estimated);
  return {
    usage: addUsage(left.usage, right.usage),
    ...(known ? { nanoUsd: (left.nanoUsd ?? 0) + (right.nanoUsd ?? 0) } : {}),
    ...(estimated === undefined ? {} : { estimated }),
  };
}

function addEstimates(
  left: CallSpend['estimated'],
  right: CallSpend['estimated'],
): CallSpend['estimated'] {
  if (left === undefined || right === undefined) return left ?? right;
  return {
    nanoUsd: left.nanoUsd + right.nanoUsd,
    tokens: left.tokens + right.tokens,
    mostNanoUsd: left.mostNanoUsd + right.mostNanoUsd,
    mostTokens: left.mostTokens + right.mostTokens,
  };
}

/** The most that was consumed: what is known, and the upper bound of what is estimated. An unknown cost counts as zero. */
export function boundOf({ usage, nanoUsd = 0, estimated }: CallSpend): Required<Allowance> {
  return {
    nanoUsd: nanoUsd + (estimated === undefined ? 0 : estimated.mostNanoUsd - estimated.nanoUsd),
    tokens:
      totalTokens(usage) + (estimated === undefined ? 0 : estimated.mostTokens - estimated.tokens),
  };
}

/** What one request consumed. Contract: `usage` is that of one request. */
export function spendOf(usage: Usage, price: ModelPrice | undefined): CallSpend {
  if (price !== undefined) return { usage, nanoUsd: costNanoUsd(price, usage) };
  return totalTokens(usage) > 0 ? { usage } : { usage, nanoUsd: 0 };
}

/**
 * What one request without a complete reply consumed.
 *
 * `expected` includes `known`, which the vendor reported; `most` bounds all of it.
 */
export function estimatedSpend(
  price: ModelPrice | undefined,
  { expected, known, most }: { expected: Usage; known: Usage; most: Required<Allowance> },
): CallSpend {
  const spend = spendOf(expected, price);
  const knownNanoUsd = price === undefined ? 0 : costNanoUsd(price, known);
  const nanoUsd = (spend.nanoUsd ?? 0) - knownNanoUsd;
  const tokens = totalTokens(expected) - totalTokens(known);
  return {
    ...spend,
    estimated: {
      nanoUsd,
      tokens,
      mostNanoUsd: Math.max(most.nanoUsd - knownNanoUsd, nanoUsd),
      mostTokens: Math.max(most.tokens - totalTokens(known), tokens),
    },
  };
}

/** What a run has cost, for its report, the queries and people. */
export interface RunCost {
  /** US dollars, as expected; absent if a model without a known price was called. */
  readonly usd?: number;
  /** The estimated part of it in US dollars: vendors did not report what broken calls consumed. The rest is known. */
  readonly estimatedUsd?: number;
  /** The most that vendors may bill, in US dollars; present, like `estimatedUsd`, only if there is an estimate. */
  readonly mostUsd?: number;
  /** The same two in tokens: the estimated part of the report's `usage`, and the most that may be billed. */
  readonly estimatedTokens?: number;
  readonly mostTokens?: number;
  /** Calls whose cost is unknown: no price is known, or nobody can say what was sent. Then `pricedUsd` is the cost of the others. */
  readonly unpricedCalls?: number;
  readonly pricedUsd?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
}

/** The cost in words: what was spent, of how much, and what of it is not certain. */
export function costText(cost: RunCost): string {
  const { usd, pricedUsd = 0, unpricedCalls, estimatedUsd, mostUsd = 0, budgetUsd } = cost;
  const text = (amount: number): string => usdText(nanoUsdOf(amount));
  const spent =
    usd === undefined
      ? `unknown (${unpricedCalls ?? 0} calls of unknown cost${pricedUsd === 0 ? '' : `, the others ${text(pricedUsd)}`})`
      : text(usd);
  const of = budgetUsd === undefined ? '' : ` of ${text(budgetUsd)}`;
  return estimatedUsd === undefined
    ? `${spent}${of}`
    : `${spent}${of}, ${text(estimatedUsd)} of it estimated, at most ${text(mostUsd)}`;
}
