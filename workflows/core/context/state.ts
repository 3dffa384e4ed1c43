/** What a run knows of its conversation's size: the vendor's last count, windows as they proved to be, compactions so far. */
import type { CompactionConfig } from './compaction-config';
import { defaultCompaction } from './compaction-config';
import type { DoneCompaction } from './compaction-policy';
import type { ContextBounds, ContextMeasure } from './measure';
import type { Head } from '../message';
import type { CallModelResult, RouteConfig } from '../model-call/ports';
import { routeName } from '../failover/provider-health';
import type { RunState } from '../run/state';
import type { CountedContext, TokenFactors } from './token-factors';
import { weighTextTokens } from './token-factors';

/** Slice of the state of a run. */
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
  /** Characters of tool results that came since the last count. */
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
}

/** Nothing known yet. */
export const initialContext: ContextState = {
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
};

/** Thresholds of a run. */
export function compactionOf(state: RunState): CompactionConfig {
  return state.snapshot?.compaction ?? defaultCompaction;
}

/** Share of what the window leaves beside the reserve that a request may fill: estimates are right within 5 % (issue CONTEXT). */
const usableShare = 0.95;

/** Share of the window that a reserve takes at most (ADR 0024). */
const greatestReserveShare = 0.5;

/** Least tokens kept free for a reply: a sixteenth of the window, 1,024 at least (ADR 0024). */
function leastReserve(windowTokens: number, wantedTokens: number): number {
  const least = Math.max(1_024, Math.floor(windowTokens / 16));
  return Math.min(wantedTokens, least, Math.floor(windowTokens * greatestReserveShare));
}

/**
 * What a request to this route may hold.
 *
 * Source: 80 % and 90 % of the window (seed 001), and never more than what the reserve leaves.
 */
export function contextBounds(
  state: RunState,
  route: RouteConfig,
  reserve: 'usual' | 'least' = 'usual',
): ContextBounds {
  const { context } = state;
  const name = routeName(route);
  const config = compactionOf(state);
  const windowTokens = Math.min(route.windowTokens, context.windows[name] ?? Infinity);
  const wanted = state.next.maxOutputTokens ?? route.maxOutputTokens;
  const isLeast = reserve === 'least' || context.lowered.includes(name);
  const reserveTokens = isLeast
    ? leastReserve(windowTokens, wanted)
    : Math.min(wanted, Math.floor(windowTokens * greatestReserveShare));
  const usable = Math.max(0, Math.floor((windowTokens - reserveTokens) * usableShare));
  const maxBytes = context.maxBytes[name];
  return {
    windowTokens,
    reserveTokens,
    warnTokens: Math.min(usable, Math.floor(windowTokens * config.warnShare)),
    compactTokens: Math.min(usable, Math.floor(windowTokens * config.compactShare)),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}

/** The vendor's count for the transcript as it is now; undefined where there is none. */
export function countedNow(state: RunState): CountedContext | undefined {
  const { counted } = state.context;
  if (counted === undefined) return undefined;
  if (counted.head === state.head) return counted.context;
  if (counted.headBefore !== state.head) return undefined;
  const { route, messages, tokens } = counted.context;
  return { route, messages: messages - 1, tokens: Math.max(0, tokens - counted.replyTokens) };
}

/** Characters per token by which the core guesses; the activity measures. */
const charactersPerToken = 4;

/** What the next request to a route will probably hold; undefined where no vendor has counted the transcript. */
export function probableTokens(state: RunState, route: string): number | undefined {
  const counted = countedNow(state);
  if (counted === undefined) return undefined;
  const texts = state.inbox.reduce((chars, text) => chars + text.length, 0);
  const words = (state.context.pendingChars + texts) / charactersPerToken;
  const factors = state.context.factors[route];
  const newTokens = { words, marks: 0, scripts: 0 };
  return (
    counted.tokens + Math.ceil(factors === undefined ? words : weighTextTokens(newTokens, factors))
  );
}

/** Takes what a reply says about the conversation's size. */
export function noteContext(
  context: ContextState,
  result: CallModelResult,
  route: string,
): ContextState {
  const { counted: _count, prepared: _prepared, due: _due, ...rest } = context;
  const { counted, tokenFactors, measure } = result;
  const isKept = result.head !== result.headBefore;
  return {
    ...rest,
    ...(counted === undefined
      ? {}
      : {
          counted: {
            head: result.head,
            headBefore: result.headBefore,
            context: counted,
            replyTokens: isKept ? result.usage.outputTokens : 0,
          },
        }),
    ...(measure === undefined ? {} : { prepared: measure }),
    factors:
      tokenFactors === undefined ? context.factors : { ...context.factors, [route]: tokenFactors },
    pendingChars: 0,
    ...(result.stopReason === 'context-full'
      ? {}
      : { refused: false, done: [], overflows: 0, noSummary: [] }),
  };
}

/** Characters of one result that the model gets at once (ADR 0003), with its fence. */
const shownResultChars = 16_500;

/** Notes that a tool result waits for the next request. */
export function notePendingResult(state: RunState, bytes: number): RunState {
  const pendingChars = state.context.pendingChars + Math.min(bytes, shownResultChars);
  return { ...state, context: { ...state.context, pendingChars } };
}

/** The transcript was replaced: what was counted and measured of it says nothing any more. */
export function withoutCounts(context: ContextState): ContextState {
  const { counted: _counted, prepared: _prepared, due: _due, ...rest } = context;
  return { ...rest, pendingChars: 0 };
}
