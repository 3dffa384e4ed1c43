/** Takes secrets out of text: the first stage of every sink (model, history, log, span). */
import { redactByKeptRules } from './kept-secret-rules';
import type { RedactionRule } from './own-secret-rules';
import { longWord, ownSecretRules, redactionMark } from './own-secret-rules';

const lineEndsIn = (text: string): number => text.split('\n').length - 1;

/**
 * Strings of JSON within a text are read as well: where a line end is written `\\n`, `\\nghp_…` is one word, and a quote no quote.
 * Levels of strings within strings.
 */
const maxNesting = 4;
/** Readings of a text with secrets. */
const mostPasses = 4;
/** Characters of a string that could hold a secret with its quotes. */
const minStringChars = 16;
/** An escaped character outside of a string comes first, so that its quote begins none: each character is read twice at most. */
const escapeOrString = /\\[^]|"[^"\\]*(?:\\[^][^"\\]*)*"/g;

/** The text without what a rule takes. A secret of several lines leaves their ends, so that lines keep their numbers. */
function redactBy({ pattern, replacement }: RedactionRule, text: string): string {
  return text.replace(pattern, (secret: string, ...groups: readonly (string | undefined)[]) => {
    const kept = replacement.replace(
      /\$([12])/g,
      (_group, place: string) => groups[Number(place) - 1] ?? '',
    );
    const lost = lineEndsIn(secret) - lineEndsIn(kept);
    return lost === 0 ? kept : kept.replace(redactionMark, redactionMark + '\n'.repeat(lost));
  });
}

/**
 * Replaces secrets by `[redacted]`: what gitleaks' rules know, then what they lack (ADR 0023): private keys, issuers' tokens, signed tokens, passwords in connection
 * strings and URLs, Authorization and Cookie headers, and values of names such as `password`.
 *
 * Contract: pure; doing it twice changes nothing more; the text keeps its number of lines; the time grows with the length of
 * the text alone (`test/untrusted/linear-patterns.test.ts`). Zero-width and control characters must be gone before
 * (`sanitizeText` does so). Never throws.
 */
export function redactText(text: string): string {
  let clean = redactTo(text, maxNesting);
  let before = text;
  // What stood beside a secret may be one by itself: the last lines of a key behind a token.
  for (let pass = 1; pass < mostPasses && clean !== before; pass += 1) {
    before = clean;
    clean = redactTo(before, maxNesting);
  }
  return clean;
}

function redactTo(text: string, levels: number): string {
  // Strings first: a rule may know a part of a key by its own, and the rest only beside it.
  const isEscaped = levels > 0 && text.includes('\\');
  let clean = redactByKeptRules(isEscaped ? redactStrings(text, levels) : text, redactionMark);
  // A rule only shortens words: where there is no long one now, none arises.
  const hasLongWord = longWord.test(clean);
  for (const rule of ownSecretRules())
    if (
      (hasLongWord || rule.needsLongWord !== true) &&
      (rule.needs === undefined || clean.includes(rule.needs))
    )
      clean = redactBy(rule, clean);
  return clean;
}

function redactStrings(text: string, levels: number): string {
  const inStrings = (json: string): string =>
    json.replace(escapeOrString, (found) => redactString(found, levels - 1));
  // A piece of JSON may begin and end within a string.
  return inStrings(`"${inStrings(text)}"`).slice(1, -1);
}

/** A string of JSON whose value holds a secret, without it; anything else as it is. */
function redactString(found: string, levels: number): string {
  if (found.length < minStringChars || !found.includes('\\')) return found;
  const value = stringOf(found);
  if (value === undefined) return found;
  const clean = redactTo(value, levels);
  return clean === value ? found : JSON.stringify(clean);
}

function stringOf(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}
