/** How far a vendor's tokens are from our own count of the same text, learned from what the vendor says it counted. */

/**
 * Our own tokens of a text by what it is made of, as tokenizers differ by that: Anthropic's newer one makes 45 % more of English
 * and the same of Chinese (ADR 0028).
 */
export interface TextTokens {
  /** Of Latin letters and the blanks between words. */
  readonly words: number;
  /** Of digits, ids, punctuation and line ends. */
  readonly marks: number;
  /** Of every other script. */
  readonly scripts: number;
}

/** Vendor's tokens per token of ours, by class. */
export type TokenFactors = TextTokens;

/** What a vendor has counted of a transcript: the truth for that part of the next request. */
export interface CountedContext {
  /** `provider/model`: another model counts otherwise, so its count says nothing. */
  readonly route: string;
  /** Messages at the transcript's beginning that are counted, the reply to that request included where it was kept. */
  readonly messages: number;
  /** The vendor's tokens for system prompt, tools and those messages, the request's note taken out. */
  readonly tokens: number;
  /** Of them, those of the request itself, without its reply. */
  readonly requestTokens?: number;
  /** Later counts are missing or not believed: neither the last request nor its reply is covered. */
  readonly isEarlier?: true;
  /** Counts in a row that did not grow with the request. */
  readonly doubts?: number;
}

/** Least and greatest factor of a class: beyond them a vendor's count says more about its own additions than about the text (ADR 0028). */
export const tokenFactorBounds = { least: 0.7, greatest: 2.5 } as const;

/** Tokens at which a sample weighs as much as everything before it. */
const halfWeightTokens = 1_000;

/** No sample replaces what was learned, however large it is. */
const greatestWeight = 0.8;

const classes = ['words', 'marks', 'scripts'] as const;

function mapClasses(valueOf: (name: (typeof classes)[number]) => number): TextTokens {
  return { words: valueOf('words'), marks: valueOf('marks'), scripts: valueOf('scripts') };
}

/** No text at all. */
export const noTextTokens: TextTokens = { words: 0, marks: 0, scripts: 0 };

/** Both texts together. */
export function addTextTokens(left: TextTokens, right: TextTokens): TextTokens {
  return {
    words: left.words + right.words,
    marks: left.marks + right.marks,
    scripts: left.scripts + right.scripts,
  };
}

/** Our own count of a text. */
export function totalTextTokens(tokens: TextTokens): number {
  return tokens.words + tokens.marks + tokens.scripts;
}

/** What the vendor will probably count. */
export function weighTextTokens(tokens: TextTokens, factors: TokenFactors): number {
  return classes.reduce((sum, name) => sum + tokens[name] * factors[name], 0);
}

/**
 * The factors after one more sample: of a text with these tokens of ours the vendor counted `billed`. Each class is moved in
 * proportion to its part in the text, and all the further the more tokens there are (normalized least mean squares).
 *
 * Contract: pure; every factor stays within `tokenFactorBounds`; a sample that says nothing (no tokens on either side) changes
 * nothing.
 */
export function learnFactors(
  factors: TokenFactors,
  tokens: TextTokens,
  billed: number,
): TokenFactors {
  const total = totalTextTokens(tokens);
  const power = classes.reduce((sum, name) => sum + tokens[name] ** 2, 0);
  if (!(total > 0) || !(billed > 0)) return mapClasses((name) => bounded(factors[name]));
  const weight = Math.min(greatestWeight, total / (total + halfWeightTokens));
  const missed = total * bounded(billed / total) - weighTextTokens(tokens, factors);
  return mapClasses((name) => bounded(factors[name] + (weight * missed * tokens[name]) / power));
}

/** Four decimals: the factors travel in history. */
function bounded(factor: number): number {
  const { least, greatest } = tokenFactorBounds;
  return Math.round(Math.min(greatest, Math.max(least, factor)) * 10_000) / 10_000;
}
