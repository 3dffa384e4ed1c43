/** Tokens of a text by the o200k table. Learned factors convert them to a vendor's tokens. */
import { createRequire } from 'node:module';
import type { countTokens as CountTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { TextTokens } from '../../workflows/core/context/token-factors';
import { totalTextTokens } from '../../workflows/core/context/token-factors';

/** Longest piece given to the tokenizer at once: its time grows with the square of an unbroken run of letters. */
const pieceCharacters = 256;
/** How far back a piece may end earlier, so that it ends between words. */
const wordCharacters = 48;

/** What a vendor's own marks, such as `<|endoftext|>`, are to us: text. */
const asPlainText = { disallowedSpecial: new Set<string>() };

/** The tokenizer with its table of 2 MB: loaded when something is counted, since clients and waiting workers count nothing. */
let tokenizer: { readonly countTokens: typeof CountTokens } | undefined;
const load = createRequire(__filename);

function countTokens(piece: string): number {
  tokenizer ??= load('gpt-tokenizer/encoding/o200k_base') as NonNullable<typeof tokenizer>;
  return tokenizer.countTokens(piece, asPlainText);
}

/**
 * Tokens of a text by kind of character. A piece of about 256 characters is counted whole, and its tokens are divided among its
 * kinds.
 *
 * Contract: pure; the time grows in proportion to any text. Cutting it into pieces adds a token here and there: under 1 % on
 * prose, code and Chinese.
 */
export function countTextTokens(text: string): TextTokens {
  let [words, marks, scripts] = [0, 0, 0];
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start);
    const piece = text.slice(start, end);
    const tokens = countTokens(piece);
    const characters = charactersOf(piece);
    words += (tokens * characters.words) / piece.length;
    marks += (tokens * characters.marks) / piece.length;
    scripts += (tokens * characters.scripts) / piece.length;
    start = end;
  }
  return { words, marks, scripts };
}

/** Tokens of a text. */
export function countAllTokens(text: string): number {
  return Math.round(totalTextTokens(countTextTokens(text)));
}

/** Characters that are counted one by one of a long text: 140 ms at worst, on a worker's thread (ADR 0028). */
const countedCharacters = 50_000;

/** Tokens of a text, nearly: of a long one the beginning stands for the rest, so the time is bounded. */
export function countNearly(text: string): number {
  if (text.length <= countedCharacters) return countAllTokens(text);
  return Math.round(
    (countAllTokens(text.slice(0, countedCharacters)) * text.length) / countedCharacters,
  );
}

/** Before a blank if there is one, since the table's own words begin with theirs; never between surrogates. */
function pieceEnd(text: string, start: number): number {
  const limit = start + pieceCharacters;
  if (limit >= text.length) return text.length;
  for (let end = limit; end > limit - wordCharacters; end -= 1) {
    if (text.charCodeAt(end) === 32 || text.charCodeAt(end) === 10) return end;
  }
  const isPair = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isPair ? limit - 1 : limit;
}

/** First code unit behind Latin with all its accents. */
const endOfLatin = 0x250;

/** A run of letters with digits in it is an id, not a word, to every tokenizer. */
function charactersOf(piece: string): TextTokens {
  let [words, scripts, letters] = [0, 0, 0];
  let hasDigit = false;
  for (let at = 0; at <= piece.length; at += 1) {
    const kind = kindOf(piece.charCodeAt(at));
    if (kind === 'letter') letters += 1;
    else if (kind === 'digit') hasDigit = true;
    else {
      words += (hasDigit ? 0 : letters) + (kind === 'blank' ? 1 : 0);
      scripts += kind === 'script' ? 1 : 0;
      letters = 0;
      hasDigit = false;
    }
  }
  return { words, scripts, marks: piece.length - words - scripts };
}

/** Kind of a code unit; NaN is past the end. */
function kindOf(unit: number): 'letter' | 'digit' | 'blank' | 'script' | 'mark' {
  if (unit === 32) return 'blank';
  if (unit >= 48 && unit <= 57) return 'digit';
  const isLetter = (unit | 32) >= 97 && (unit | 32) <= 122;
  if (isLetter || (unit >= 0xc0 && unit < endOfLatin)) return 'letter';
  return unit >= endOfLatin ? 'script' : 'mark';
}
