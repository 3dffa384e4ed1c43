/** Decides before every model call: sends what fits, and otherwise compacts, keeps less free, changes the route, or stops. */
import { reserve } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { decideRoute, routeName } from '../failover/provider-health';
import type { FailoverSlice, RouteConfig } from '../failover/state';
import { hasRefused } from '../failover/state';
import { defined, without } from '../json';
import type { Head } from '../message';
import type { PeopleSlice } from '../people/state';
import type { AccountSlice, CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { AgentSnapshot, RequestSlice } from '../run/ports';
import type { Move } from '../run/move';
import { fail, goTo, publish, stay } from '../run/move';
import type { PhaseSlice } from '../run/phases';
import type { CompactionDecision } from './compaction-policy';
import type { CompactionTier, ContextBounds, ContextMeasure } from './measure';
import { decideCompaction } from './compaction-policy';
import { fitsBounds } from './measure';
import type { CompactInput, OpenMatters } from './ports';
import type { Sized } from './size';
import { compactionOf, contextBounds, countedNow, probableTokens, withContext } from './size';
import type { Compacting, ContextSlice } from './state';
import { shortened } from '../shortened';

/** What the gate reads and changes. */
export type GateState = Sized &
  AccountSlice &
  BudgetSlice &
  FailoverSlice &
  PhaseSlice &
  RequestSlice &
  Pick<PeopleSlice, 'inbox'>;

/** What becomes of a model call that is about to start. */
export type GateDecision<State> =
  | { readonly type: 'send'; readonly state: State }
  /** The call does not start now: the move says what happens instead. */
  | { readonly type: 'instead'; readonly move: Move<State> };

/** A test of whether a route cannot take the conversation: its provider refused it, or it has outgrown the route while others are left. */
export function skipsRoute(
  state: Sized & CountersSlice & FailoverSlice & Pick<PeopleSlice, 'inbox'>,
): (route: RouteConfig) => boolean {
  const refused = hasRefused(state);
  const isTooSmall = (route: RouteConfig): boolean => {
    const name = routeName(route);
    if (!state.context.tooSmall.includes(name)) return false;
    const tokens = state.context.due?.tokens ?? probableTokens(state, name);
    return tokens === undefined || tokens > contextBounds(state, route).compactTokens;
  };
  const left = (state.snapshot?.chain ?? []).filter((route) => !refused(route));
  return left.every(isTooSmall) ? refused : (route) => refused(route) || isTooSmall(route);
}

/**
 * Decides about the call of a route. `matters` reads what a summary must hold.
 *
 * Contract: at most `maxCompactions` compactions between two replies.
 */
export function gateCall<State extends GateState>(
  state: State,
  routeIndex: number,
  matters: (state: State) => OpenMatters,
  atMs: number,
): GateDecision<State> {
  const { snapshot, head } = state;
  const route = snapshot?.chain[routeIndex];
  if (snapshot === undefined || head === undefined || route === undefined)
    return { type: 'send', state };
  const bounds = contextBounds(state, route);
  const measure = state.context.due ?? foreseen(state, route, bounds);
  if (measure === undefined) return { type: 'send', state };
  const candidate = { snapshot, head, route, routeIndex, bounds, measure };
  const decision = decide(state, candidate, atMs);
  if (decision.type === 'send') return { type: 'send', state: settled(state) };
  return { type: 'instead', move: act(state, candidate, decision, matters, atMs) };
}

/** The state whose due measure was decided about. */
function settled<State extends ContextSlice>(state: State): State {
  return { ...state, context: without(state.context, 'due') };
}

interface Candidate {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
  readonly route: RouteConfig;
  readonly routeIndex: number;
  readonly bounds: ContextBounds;
  readonly measure: ContextMeasure;
}

/** A request that will not fit, judging by the last measure and what is new since; undefined if it may. */
function foreseen(
  state: GateState,
  route: RouteConfig,
  bounds: ContextBounds,
): ContextMeasure | undefined {
  const { prepared } = state.context;
  const tokens = probableTokens(state, routeName(route));
  if (prepared === undefined || tokens === undefined || tokens <= bounds.compactTokens)
    return undefined;
  return { ...prepared, tokens, messages: prepared.messages + 1 };
}

function decide(state: GateState, candidate: Candidate, atMs: number): CompactionDecision {
  const { route, bounds, measure } = candidate;
  const { done, refused } = state.context;
  const larger = largerRoute(state, candidate, atMs);
  return decideCompaction({
    measure,
    bounds,
    leastBounds: contextBounds(state, route, 'least'),
    config: compactionOf(state),
    done,
    canSummarize: summaryRoute(state, candidate, atMs) !== undefined,
    refused,
    ...defined({ largerRoute: larger }),
  });
}

/** A route that may be called now and takes the request unchanged. */
function largerRoute(
  state: GateState,
  { snapshot: { chain }, routeIndex, measure }: Candidate,
  atMs: number,
): number | undefined {
  const refused = hasRefused(state);
  const takes = (route: RouteConfig, index: number): boolean =>
    index !== routeIndex &&
    !refused(route) &&
    !state.context.tooSmall.includes(routeName(route)) &&
    fitsBounds(measure, contextBounds(state, route, 'least'));
  if (!chain.some(takes)) return undefined;
  const decision = decideRoute(state.health, chain, atMs, (route) => {
    return !takes(route, chain.indexOf(route));
  });
  return decision.type === 'use' ? decision.routeIndex : undefined;
}

/** The route that writes a summary: the one that is called anyway, else the first that has not failed at it. */
function summaryRoute(
  state: GateState,
  { snapshot: { chain }, routeIndex }: Candidate,
  atMs: number,
): number | undefined {
  const refused = hasRefused(state);
  const isOut = (route: RouteConfig): boolean =>
    refused(route) ||
    state.context.noSummary.includes(routeName(route)) ||
    (state.health.routes[routeName(route)]?.probeFromMs ?? 0) > atMs;
  const own = chain[routeIndex];
  if (own !== undefined && !isOut(own)) return routeIndex;
  const other = chain.findIndex((route) => !isOut(route));
  return other < 0 ? undefined : other;
}

function act<State extends GateState>(
  state: State,
  candidate: Candidate,
  decision: Exclude<CompactionDecision, { type: 'send' }>,
  matters: (state: State) => OpenMatters,
  atMs: number,
): Move<State> {
  switch (decision.type) {
    case 'compact':
      return startCompaction(state, candidate, decision, matters, atMs);
    case 'lower-reserve': {
      const lowered = [...state.context.lowered, routeName(candidate.route)];
      return goTo('call-model', withContext(settled(state), { lowered, refused: false }));
    }
    case 'use-larger-window':
      return changeRoute(state, candidate, decision.routeIndex);
    case 'stop':
      return stopTooLarge(state, candidate);
  }
}

function changeRoute<State extends GateState>(
  state: State,
  { snapshot, route }: Candidate,
  toIndex: number,
): Move<State> {
  const from = routeName(route);
  const next = snapshot.chain[toIndex];
  const tooSmall = [...state.context.tooSmall, from];
  const changed = count(withContext(settled(state), { tooSmall, refused: false }), {
    failovers: state.counters.failovers + 1,
  });
  const entry = publish({
    type: 'FailoverEvent',
    from,
    to: next === undefined ? from : routeName(next),
    reason: 'context_overflow',
  });
  return goTo('call-model', changed, entry);
}

function stopTooLarge<State extends GateState>(
  state: State,
  { measure, bounds, route }: Candidate,
): Move<State> {
  const { done, overflows } = state.context;
  const message =
    `The conversation does not fit ${routeName(route)}: the next request has about ${measure.tokens} tokens ` +
    `(system prompt and tools ${measure.fixedTokens}, newest messages ${measure.tailTokens}) and ${measure.bytes} bytes; ` +
    `the window has ${bounds.windowTokens} tokens, of which a request may fill ${bounds.compactTokens}. ` +
    `${done.length} compactions since the last reply did not bring it below, and no route of the chain takes it. ` +
    'Use a model with a larger window, shorter instructions, fewer tools, or smaller tool outputs.' +
    (overflows === 0 ? '' : ` The last refusal: ${state.lastError ?? ''}`);
  return fail(
    state,
    { reason: 'context_overflow', message: `System error: ${message}` },
    {
      kind: 'infra',
      code: 'context_overflow',
      message: shortened(message, 500),
      route: routeName(route),
    },
  );
}

/** Why a compaction happens, for people. */
function reasonOf(state: GateState, { measure, bounds, route }: Candidate): string {
  if (state.context.refused) return `${routeName(route)} refused the request as too long`;
  if (measure.over !== undefined) return `the request breaks the vendor's limit of ${measure.over}`;
  return `${measure.tokens} of ${bounds.windowTokens} tokens`;
}

function startCompaction<State extends GateState>(
  state: State,
  candidate: Candidate,
  decision: { readonly tier: CompactionTier; readonly trimTail: boolean },
  matters: (state: State) => OpenMatters,
  atMs: number,
): Move<State> {
  const { snapshot, measure } = candidate;
  const { tier } = decision;
  const { iterations } = state.counters;
  const { issued } = state.context;
  const sameIteration = issued.iteration === iterations ? issued.count : 0;
  const callId = sameIteration === 0 ? `c${iterations}` : `c${iterations}.${sameIteration}`;
  const isModelMade = tier === 2 || tier === 3;
  const summaryRouteIndex = isModelMade ? summaryRoute(state, candidate, atMs) : undefined;
  const nothing = { nanoUsd: 0, tokens: 0 };
  const held =
    summaryRouteIndex === undefined
      ? { state: reserve(state, callId, nothing).state }
      : reserve(state, callId);
  const phase: Compacting = {
    type: 'compacting',
    callId,
    tier,
    why: reasonOf(state, candidate),
    ...defined({ summaryRouteIndex }),
  };
  const compacting: State = {
    ...withContext(held.state, {
      issued: { iteration: iterations, count: sameIteration + 1 },
      due: measure,
    }),
    phase,
  };
  return stay(compacting, {
    type: 'compact',
    callId,
    summary: `compact the conversation, tier ${tier}`,
    limits: snapshot.limits,
    input: {
      ...compactInput(state, candidate, decision, summaryRouteIndex),
      ...defined({
        matters: tier === 1 ? undefined : matters(state),
        allowance: held.allowance,
      }),
    },
  });
}

function compactInput(
  state: GateState,
  { snapshot, head, routeIndex, bounds, route }: Candidate,
  { tier, trimTail }: { readonly tier: CompactionTier; readonly trimTail: boolean },
  summaryRouteIndex: number | undefined,
): CompactInput {
  const summarizer = snapshot.chain[summaryRouteIndex ?? -1];
  const { pendingResults, runtimeResults } = state.next;
  return {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    routeIndex,
    bounds,
    tier,
    ...(trimTail ? { trimTail: true } : {}),
    ...(state.context.due === undefined ? {} : { isDue: true }),
    ...defined({
      pendingResults: pendingResults.length === 0 ? undefined : pendingResults,
      runtimeResults,
      counted: countedNow(state),
      tokenFactors: state.context.factors[routeName(route)],
      summary: summarizer && summaryInput(state, summarizer, summaryRouteIndex ?? 0),
    }),
    holder: `${state.runKey}/${state.counters.iterations}`,
  };
}

function summaryInput(
  state: GateState,
  route: RouteConfig,
  routeIndex: number,
): NonNullable<CompactInput['summary']> {
  return {
    routeIndex,
    windowTokens: contextBounds(state, route).windowTokens,
    ...defined({ tokenFactors: state.context.factors[routeName(route)] }),
  };
}
