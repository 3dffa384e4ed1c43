/** What model calls consumed, by class of token. */

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

/** Share of the input tokens that came from the vendor's prompt cache, in four decimals; undefined where nothing was sent. */
export function cachedShareOf(usage: Usage): number | undefined {
  const sent = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
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
