/** Finds what a text may refer to in the store. */
import type { ContentHash } from '../message';

/** Everything in a text that could name content. */
export function hashesIn(text: string): readonly ContentHash[] {
  return text.match(/(?<![\w-])[\w-]{43}(?![\w-])/g) ?? [];
}
