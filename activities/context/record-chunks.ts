/** Cuts the record of a conversation into parts that each fit into one request, with an overlap between them. */
import { wellFormedText } from '../providers/request/well-formed';

/** Overlap of neighboring parts as a share, so that nothing is lost at a cut (ADR 0024). */
const overlapShare = 0.1;

/**
 * Packs lines into chunks of at most `budgetTokens`.
 *
 * Contract: pure; every line is in at least one chunk, cut if it does not fit. Each later chunk begins with the last lines of
 * the one before, up to a tenth of its tokens. Source: R-CTX-1.
 */
export function recordChunks(
  lines: readonly string[],
  budgetTokens: number,
  tokensOf: (text: string) => number,
): readonly string[] {
  const chunks: string[] = [];
  let chunk: SizedLine[] = [];
  let size = 0;
  let isFresh = false;
  const close = (): void => {
    chunks.push(chunk.map(({ text }) => text).join('\n'));
    chunk = overlapOf(chunk, budgetTokens * overlapShare);
    size = chunk.reduce((sum, { tokens }) => sum + tokens, 0);
    isFresh = false;
  };
  for (const text of lines) {
    const line = fitted(text, budgetTokens, tokensOf);
    if (isFresh && size + line.tokens > budgetTokens) close();
    if (!isFresh && size + line.tokens > budgetTokens) {
      chunk = [];
      size = 0;
    }
    chunk.push(line);
    size += line.tokens;
    isFresh = true;
  }
  if (isFresh) close();
  return chunks;
}

interface SizedLine {
  readonly text: string;
  readonly tokens: number;
}

function fitted(text: string, budget: number, tokensOf: (text: string) => number): SizedLine {
  let kept = text;
  let tokens = tokensOf(kept) + 1;
  while (tokens > budget && kept.length > 1) {
    const chars = Math.max(1, Math.floor(kept.length * Math.min(0.9, budget / tokens)));
    kept = wellFormedText(kept.slice(0, chars));
    tokens = tokensOf(kept) + 1;
  }
  return { text: kept, tokens };
}

function overlapOf(chunk: readonly SizedLine[], budget: number): SizedLine[] {
  const overlap: SizedLine[] = [];
  let size = 0;
  for (const line of chunk.toReversed()) {
    size += line.tokens;
    if (size > budget) break;
    overlap.unshift(line);
  }
  return overlap.length === chunk.length ? [] : overlap;
}
