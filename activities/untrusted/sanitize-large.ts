/** Sanitizes a text of many megabytes in pieces, and yields to the event loop between them, so that heartbeats still go out. */
import { setImmediate as turn } from 'node:timers/promises';
import { sanitizeText } from './sanitizer';
import { defined } from '../../workflows/core/json';

/** Characters of a piece: about 100 ms of work in the worst case. */
const pieceChars = 128 * 1024;
/** Characters before the end of a piece that are searched for a place to cut. */
const searchChars = 16_384;

/** Where a piece ends: after a line, else where no token can be, else anywhere but in a surrogate pair. */
function cutAt(text: string, from: number): number {
  const end = from + pieceChars;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf('\n', end - 1);
  if (line > end - searchChars) return line + 1;
  const region = text.slice(end - searchChars, end);
  const gap = /[^\w+/=.~%-][\w+/=.~%-]*$/.exec(region);
  if (gap !== null && !/[\ud800-\udfff]/.test(gap[0].charAt(0)))
    return end - searchChars + gap.index + 1;
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

/**
 * Sanitizes a whole text for the store: like `sanitizeText`, but nothing is left out.
 *
 * Contract: deterministic in its arguments. A secret that has no line end, blank or bracket in 16,384 characters, or a private
 * key that is longer, may be cut in two and then keeps a part.
 */
export async function sanitizeWhole(text: string, root: string | undefined): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    const to = cutAt(text, from);
    const piece = text.slice(from, to);
    pieces.push(
      sanitizeText(piece, {
        maxChars: 2 * pieceChars,
        ...defined({ root }),
      }),
    );
    from = to;
    await turn();
  }
  return pieces.join('');
}
