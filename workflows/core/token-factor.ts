/** How far a vendor's tokens are from our own count of the same text, learned from what the vendor says it counted. */

/** What a vendor has counted of a transcript: the truth for that part of the next request. */
export interface CountedContext {
  /** `provider/model`: another model counts otherwise, so its count says nothing. */
  readonly route: string;
  /** Messages at the transcript's beginning that are counted, the reply to that request included where it was kept. */
  readonly messages: number;
  /** The vendor's tokens for system prompt, tools and those messages, the request's note taken out. */
  readonly tokens: number;
}

/** Our own tokens and the vendor's for the same part of a request. */
export interface TokenSample {
  readonly estimated: number;
  readonly billed: number;
}

/** Least and greatest factor. A vendor's counts vary by half and by double at most between tokenizers and languages (ADR 0024). */
export const tokenFactorBounds = { least: 0.7, greatest: 2.5 } as const;

/** Tokens at which a sample weighs as much as everything before it. */
const halfWeightTokens = 1_000;

/** No sample replaces what was learned, however large it is. */
const greatestWeight = 0.8;

/**
 * The factor after one more sample: moved towards the sample's own, the further the more tokens it holds.
 *
 * Contract: pure; always within `tokenFactorBounds`; a sample that says nothing (no tokens on either side) changes nothing.
 */
export function learnFactor(factor: number, estimated: number, billed: number): number {
  if (!(estimated > 0) || !(billed > 0)) return bounded(factor);
  const weight = Math.min(greatestWeight, estimated / (estimated + halfWeightTokens));
  return bounded(factor + weight * (bounded(billed / estimated) - factor));
}

function bounded(factor: number): number {
  const { least, greatest } = tokenFactorBounds;
  return Math.min(greatest, Math.max(least, factor));
}
