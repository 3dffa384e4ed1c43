/** How large the next request is, as an activity has measured it: all that the core must know to choose a tier. */

/** The size of a request and of its parts. Tokens are those that the vendor will probably count. */
export interface ContextMeasure {
  /** Input tokens of the whole request. */
  readonly tokens: number;
  /** Of them, system prompt and tools: no compaction makes them fewer. */
  readonly fixedTokens: number;
  /** Of them, the messages that are never summarized. */
  readonly tailTokens: number;
  /** Of them, what tier 1 would take away. */
  readonly strippableTokens: number;
  readonly messages: number;
  readonly bytes: number;
  readonly images: number;
  /** A limit of the vendor's beside the window that the request breaks. */
  readonly over?: 'bytes' | 'images' | 'image-bytes' | 'pages' | 'messages';
}

/** What a request to one route may hold. */
export interface ContextBounds {
  /** The route's window, as the vendor corrected it. */
  readonly windowTokens: number;
  /** Tokens kept free for the reply. */
  readonly reserveTokens: number;
  /** Input tokens from which people are warned. */
  readonly warnTokens: number;
  /** Input tokens above which a request is not sent. */
  readonly compactTokens: number;
  /** Bytes that the vendor refused are above this many. */
  readonly maxBytes?: number;
}

/**
 * Tier of a compaction: 1 strips old tool results, 2 summarizes everything before the kept tail in overlapping chunks, 3
 * summarizes the oldest half, 4 describes it in plain text without a model.
 *
 * Source: R-CTX-1, whose tier 0 means no compaction.
 */
export type CompactionTier = 1 | 2 | 3 | 4;

/** A compaction since the last reply. */
export interface DoneCompaction {
  readonly tier: CompactionTier;
  /** Tool results of the kept tail were shortened too. */
  readonly trimmedTail?: true;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** Whether a request may be sent. */
export function fitsBounds(measure: ContextMeasure, bounds: ContextBounds): boolean {
  const tooManyBytes = bounds.maxBytes !== undefined && measure.bytes > bounds.maxBytes;
  return measure.tokens <= bounds.compactTokens && measure.over === undefined && !tooManyBytes;
}

/** The measure where the vendor has counted `tokens`: its parts in proportion. */
export function scaledMeasure(measure: ContextMeasure, tokens: number): ContextMeasure {
  const ratio = measure.tokens > 0 ? tokens / measure.tokens : 1;
  return {
    ...measure,
    tokens,
    fixedTokens: Math.round(measure.fixedTokens * ratio),
    tailTokens: Math.round(measure.tailTokens * ratio),
    strippableTokens: Math.round(measure.strippableTokens * ratio),
  };
}
