/** The slice of the conversation's size: the vendor's last count, windows as they proved to be, and compactions so far. */
import type { Head } from '../message';
import type { CompactionTier, DoneCompaction, ContextMeasure } from './measure';
import type { CountedContext, TokenFactors } from './token-factors';

/** What a run knows of its conversation's size. */
export interface ContextState {
  /** The vendor's last count, and the transcripts that it holds for. */
  readonly counted?: {
    readonly head: Head;
    /** The same without the reply, of which the run may keep nothing. */
    readonly headBefore: Head;
    readonly context: CountedContext;
    /** Tokens of the reply within the count. */
    readonly replyTokens: number;
  };
  /** Vendor's tokens per token of ours, by route. */
  readonly factors: { readonly [route: string]: TokenFactors };
  /** Windows in tokens that a vendor's refusal showed to be smaller than thought, by route. */
  readonly windows: { readonly [route: string]: number };
  /** Bytes of a request that a vendor refused are above this, by route. */
  readonly maxBytes: { readonly [route: string]: number };
  /** Routes on which only the least reserve is kept free for replies. */
  readonly lowered: readonly string[];
  /** Routes passed over while the conversation is too large for them. */
  readonly tooSmall: readonly string[];
  /** What was measured of the last request, from the warning threshold on: a compaction needs no further look. */
  readonly prepared?: ContextMeasure;
  /** Characters of tool results since the last count. */
  readonly pendingChars: number;
  /** The next request as it was measured or refused: decided about before it is sent. */
  readonly due?: ContextMeasure;
  /** The vendor refused the request, and nothing has made it smaller yet. */
  readonly refused: boolean;
  /** Compactions, refusals and routes without a usable summary since the last reply of the model. */
  readonly done: readonly DoneCompaction[];
  readonly overflows: number;
  readonly noSummary: readonly string[];
  /** Compactions of the whole run. */
  readonly compactions: number;
  /** Activities of this iteration, for their ids. */
  readonly issued: { readonly iteration: number; readonly count: number };
  readonly warned: boolean;
  /** Routes of which people were told that they cut prompts. */
  readonly cutting?: readonly string[];
}

/** The slice that context owns. */
export interface ContextSlice {
  readonly context: ContextState;
  /** Input tokens of the last request, as the vendor counted them. */
  readonly contextTokens: number;
}

/** Nothing is known yet. */
export const initialContext: ContextSlice = {
  contextTokens: 0,
  context: {
    factors: {},
    windows: {},
    maxBytes: {},
    lowered: [],
    tooSmall: [],
    pendingChars: 0,
    refused: false,
    done: [],
    overflows: 0,
    noSummary: [],
    compactions: 0,
    issued: { iteration: 0, count: 0 },
    warned: false,
  },
};

/** The phase in which the conversation is compacted before the next model call. */
export interface Compacting {
  readonly type: 'compacting';
  readonly callId: string;
  readonly tier: CompactionTier;
  /** The reason, for people. */
  readonly why: string;
  /** Place in the chain of the route whose model writes the summary. */
  readonly summaryRouteIndex?: number;
}
