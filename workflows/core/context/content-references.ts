/** Finds what a text may refer to in the store, and whose it is. */
import type { ContentHash } from '../message';

/** Everything in a text that could name content. */
export function hashesIn(text: string): readonly ContentHash[] {
  return text.match(/(?<![\w-])[\w-]{43}(?![\w-])/g) ?? [];
}

/** The texts under a key in a text that holds JSON; `keys` is a regular expression without groups. */
export function valuesIn(text: string, keys: string): readonly string[] {
  const found = text.matchAll(new RegExp(`"(?:${keys})":("(?:[^"\\\\]|\\\\.)*")`, 'g'));
  return [...found].flatMap(([, literal = '""']) => {
    try {
      return [String(JSON.parse(literal))];
    } catch {
      // Not JSON, after all.
      return [];
    }
  });
}
