/** How large the next request may be and probably is: the bounds of a route, and the vendor's last count with what is new. */
import { charsOf } from '../attachments';
import { routeName } from '../failover/provider-health';
import { defined } from '../json';
import type { CallModelResult } from '../model-call/ports';
import type { RouteConfig } from '../failover/state';
import type { PeopleSlice } from '../people/state';
import type { SnapshotSlice } from '../run/ports';
import type { NextRequestSlice } from '../model-call/next-request';
import type { CompactionConfig } from './compaction-thresholds';
import { defaultCompaction } from './compaction-thresholds';
import type { ContextBounds } from './measure';
import type { ContextSlice, ContextState } from './state';
import type { CountedContext } from './token-factors';

/** What the bounds of a request depend on. */
export type Sized = ContextSlice & SnapshotSlice & NextRequestSlice;

/** Thresholds of a run. */
export function compactionOf({ snapshot }: SnapshotSlice): CompactionConfig {
  return snapshot?.compaction ?? defaultCompaction;
}

/** The same state with other fields of its context. */
export function withContext<State extends ContextSlice>(
  state: State,
  changes: Partial<ContextState>,
): State {
  return { ...state, context: { ...state.context, ...changes } };
}

/** Share of what the window leaves beside the reserve that a request may fill: estimates are right within 5 % (ADR 0028). */
const usableShare = 0.95;

/** Share of the window that a reserve takes at most (ADR 0024). */
const greatestReserveShare = 0.5;

/** Least tokens kept free for a reply: a sixteenth of the window, 1,024 at least (ADR 0024). */
function leastReserve(windowTokens: number, wantedTokens: number): number {
  const least = Math.max(1_024, Math.floor(windowTokens / 16));
  return Math.min(wantedTokens, least, Math.floor(windowTokens * greatestReserveShare));
}

/**
 * What a request to this route may hold, as long as no vendor has taught the run otherwise.
 *
 * Source: R-CTX-2, R-CTX-3.
 */
export function usualBounds(
  route: Pick<RouteConfig, 'windowTokens' | 'maxOutputTokens'>,
  { warnShare, compactShare }: CompactionConfig,
  isLeast = false,
): ContextBounds {
  const { windowTokens, maxOutputTokens: wanted } = route;
  const reserveTokens = isLeast
    ? leastReserve(windowTokens, wanted)
    : Math.min(wanted, Math.floor(windowTokens * greatestReserveShare));
  const usable = Math.max(0, Math.floor((windowTokens - reserveTokens) * usableShare));
  return {
    windowTokens,
    reserveTokens,
    warnTokens: Math.min(usable, Math.floor(windowTokens * warnShare)),
    compactTokens: Math.min(usable, Math.floor(windowTokens * compactShare)),
  };
}

/** What a request to this route may hold. */
export function contextBounds(
  state: Sized,
  route: RouteConfig,
  reserve: 'usual' | 'least' = 'usual',
): ContextBounds {
  const { context } = state;
  const name = routeName(route);
  const known = {
    windowTokens: Math.min(route.windowTokens, context.windows[name] ?? Infinity),
    maxOutputTokens: state.next.maxOutputTokens ?? route.maxOutputTokens,
  };
  const isLeast = reserve === 'least' || context.lowered.includes(name);
  const maxBytes = context.maxBytes[name];
  return { ...usualBounds(known, compactionOf(state), isLeast), ...defined({ maxBytes }) };
}

/** The same where the activity cannot know it from the agent's definition; undefined where it can. */
export function unusualBounds(state: Sized, route: RouteConfig): ContextBounds | undefined {
  const bounds = contextBounds(state, route);
  const usual = usualBounds(route, compactionOf(state));
  return JSON.stringify(bounds) === JSON.stringify(usual) ? undefined : bounds;
}

/** The vendor's count for the current transcript, if any. */
export function countedNow(state: ContextSlice & SnapshotSlice): CountedContext | undefined {
  const { counted } = state.context;
  if (counted === undefined) return undefined;
  if (counted.head === state.head) return counted.context;
  if (counted.context.isEarlier === true && counted.headBefore === state.head)
    return counted.context;
  if (counted.headBefore !== state.head) return undefined;
  const { messages, tokens } = counted.context;
  return {
    ...counted.context,
    messages: messages - 1,
    tokens: Math.max(0, tokens - counted.replyTokens),
  };
}

/** Characters per token by which the core guesses; the activity measures. */
const charactersPerToken = 4;

type Foreseeing = ContextSlice & SnapshotSlice & Pick<PeopleSlice, 'inbox'>;

/** What the next request to a route will probably hold; undefined if no vendor has counted the transcript. */
export function probableTokens(state: Foreseeing, route: string): number | undefined {
  const counted = countedNow(state);
  if (counted === undefined) return undefined;
  const texts = state.inbox.reduce((chars, text) => chars + charsOf(text), 0);
  const words = (state.context.pendingChars + texts) / charactersPerToken;
  return counted.tokens + Math.ceil(words * (state.context.factors[route]?.words ?? 1));
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
    ...defined({
      counted: counted && {
        head: result.head,
        headBefore: result.headBefore,
        context: counted,
        replyTokens: isKept && counted.isEarlier !== true ? result.usage.outputTokens : 0,
      },
      prepared: measure,
    }),
    factors:
      tokenFactors === undefined ? context.factors : { ...context.factors, [route]: tokenFactors },
    pendingChars: 0,
    ...(result.stopReason === 'context-full'
      ? {}
      : { refused: false, done: [], overflows: 0, noSummary: [] }),
  };
}

/** What people read about a server whose counts show that it cuts prompts. */
export function promptCutText(
  route: string,
  countedTokens: number,
  measuredTokens: number,
): string {
  return `${route} counts ${countedTokens} tokens of a request of about ${measuredTokens}: its server seems to cut long prompts silently, and the model then loses its instructions. Raise the server's context (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size; vLLM: --max-model-len), or lower windowTokens of the route to it.`;
}

/** Characters of one result that the model gets at once (ADR 0003), with its fence. */
const shownResultChars = 16_500;

/** Notes that a tool result waits for the next request. */
export function notePendingResult<State extends ContextSlice>(state: State, bytes: number): State {
  const pendingChars = state.context.pendingChars + Math.min(bytes, shownResultChars);
  return { ...state, context: { ...state.context, pendingChars } };
}

/** The transcript was replaced: what was counted and measured of it says nothing any more. */
export function withoutCounts(context: ContextState): ContextState {
  const { counted: _counted, prepared: _prepared, due: _due, ...rest } = context;
  return { ...rest, pendingChars: 0 };
}
