/** Stands before every model call: sends what fits, and otherwise compacts, keeps less free, changes the route or stops. */
import { reserve } from '../budget/budget';
import type { CompactionDecision, CompactionTier } from './compaction-policy';
import { decideCompaction } from './compaction-policy';
import type { ContextBounds, ContextMeasure } from './measure';
import { fitsBounds } from './measure';
import type { ContextState } from './state';
import { compactionOf, contextBounds, countedNow, probableTokens } from './state';
import type { Head } from '../message';
import { openMatters } from './open-matters';
import type { AgentSnapshot } from '../run/ports';
import type { CompactInput } from './ports';
import type { RouteConfig } from '../model-call/ports';
import { decideRoute, routeName } from '../failover/provider-health';
import { endFailed } from '../run/end';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';
import { count, publish, step } from '../run/step';

/** What becomes of a model call that is about to be issued. */
export type GateDecision =
  | { readonly type: 'send'; readonly step: Step }
  /** Something was changed; the call is decided anew. */
  | { readonly type: 'again'; readonly step: Step }
  /** The call is not issued now: the step says what is done instead. */
  | { readonly type: 'instead'; readonly step: Step };

/** The same state with another context slice. */
export function withContext(state: RunState, changes: Partial<ContextState>): RunState {
  return { ...state, context: { ...state.context, ...changes } };
}

/** Routes that may be called: all but those that the conversation has outgrown. */
export function skipsRoute(state: RunState): (route: RouteConfig) => boolean {
  return (route) => {
    const name = routeName(route);
    if (!state.context.tooSmall.includes(name)) return false;
    const tokens = state.context.due?.tokens ?? probableTokens(state, name);
    return tokens === undefined || tokens > contextBounds(state, route).compactTokens;
  };
}

/** Decides about the call of a route. Contract: runs under older rules pass; at most `maxCompactions` compactions a reply. */
export function gateCall(state: RunState, routeIndex: number, atMs: number): GateDecision {
  const { snapshot, head } = state;
  const route = snapshot?.chain[routeIndex];
  if (snapshot === undefined || head === undefined || route === undefined || !hasRules(state, 2))
    return { type: 'send', step: step(state) };
  const bounds = contextBounds(state, route);
  const measure = state.context.due ?? foreseen(state, route, bounds);
  if (measure === undefined) return { type: 'send', step: step(state) };
  const candidate = { snapshot, head, route, routeIndex, bounds, measure };
  return act(state, candidate, decide(state, candidate, atMs), atMs);
}

interface Candidate {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
  readonly route: RouteConfig;
  readonly routeIndex: number;
  readonly bounds: ContextBounds;
  readonly measure: ContextMeasure;
}

/** A request that will not fit, as far as the last measure and what came since tell; undefined where it may. */
function foreseen(
  state: RunState,
  route: RouteConfig,
  bounds: ContextBounds,
): ContextMeasure | undefined {
  const { prepared } = state.context;
  const tokens = probableTokens(state, routeName(route));
  if (prepared === undefined || tokens === undefined || tokens <= bounds.compactTokens)
    return undefined;
  return { ...prepared, tokens, messages: prepared.messages + 1 };
}

function decide(state: RunState, candidate: Candidate, atMs: number): CompactionDecision {
  const { route, bounds, measure } = candidate;
  const { done, refused } = state.context;
  const larger = largerRoute(state, candidate, atMs);
  return decideCompaction({
    measure,
    bounds,
    leastBounds: contextBounds(state, route, 'least'),
    config: compactionOf(state),
    done,
    canSummarise: summaryRoute(state, candidate, atMs) !== undefined,
    refused,
    ...(larger === undefined ? {} : { largerRoute: larger }),
  });
}

/** A route that may be called now and takes the request as it is. */
function largerRoute(
  state: RunState,
  { snapshot: { chain }, routeIndex, measure }: Candidate,
  atMs: number,
): number | undefined {
  const takes = (route: RouteConfig, index: number): boolean =>
    index !== routeIndex &&
    !state.context.tooSmall.includes(routeName(route)) &&
    fitsBounds(measure, contextBounds(state, route, 'least'));
  if (!chain.some(takes)) return undefined;
  const decision = decideRoute(state.health, chain, atMs, (route) => {
    return !takes(route, chain.indexOf(route));
  });
  return decision.type === 'use' ? decision.routeIndex : undefined;
}

/** The route that is asked for a summary: the one that is called anyway, else the first that has not failed at it. */
function summaryRoute(
  state: RunState,
  { snapshot: { chain }, routeIndex }: Candidate,
  atMs: number,
): number | undefined {
  const isOut = (route: RouteConfig): boolean =>
    state.context.noSummary.includes(routeName(route)) ||
    (state.health.routes[routeName(route)]?.probeFromMs ?? 0) > atMs;
  const own = chain[routeIndex];
  if (own !== undefined && !isOut(own)) return routeIndex;
  const other = chain.findIndex((route) => !isOut(route));
  return other < 0 ? undefined : other;
}

function act(
  state: RunState,
  candidate: Candidate,
  decision: CompactionDecision,
  atMs: number,
): GateDecision {
  const { route } = candidate;
  const { due: _settled, ...settled } = state.context;
  switch (decision.type) {
    case 'send':
      return { type: 'send', step: step({ ...state, context: settled }) };
    case 'compact':
      return { type: 'instead', step: issueCompaction(state, candidate, decision, atMs) };
    case 'lower-reserve': {
      const lowered = [...state.context.lowered, routeName(route)];
      const context: ContextState = { ...settled, lowered, refused: false };
      return { type: 'again', step: step({ ...state, context }) };
    }
    case 'use-larger-window':
      return { type: 'again', step: changeRoute(state, candidate, decision.routeIndex, atMs) };
    case 'stop':
      return { type: 'instead', step: stopTooLarge(state, candidate, atMs) };
  }
}

function changeRoute(
  state: RunState,
  { snapshot, route }: Candidate,
  toIndex: number,
  atMs: number,
): Step {
  const from = routeName(route);
  const next = snapshot.chain[toIndex];
  const tooSmall = [...state.context.tooSmall, from];
  const { due: _due, ...settled } = state.context;
  const changed = count(
    { ...state, context: { ...settled, tooSmall, refused: false } },
    { failovers: state.counters.failovers + 1 },
  );
  return step(
    changed,
    publish(changed, atMs, {
      type: 'FailoverEvent',
      from,
      to: next === undefined ? from : routeName(next),
      reason: 'context_overflow',
    }),
  );
}

function stopTooLarge(state: RunState, candidate: Candidate, atMs: number): Step {
  const { measure, bounds, route } = candidate;
  const { done, overflows } = state.context;
  const message =
    `The conversation does not fit ${routeName(route)}: the next request has about ${measure.tokens} tokens ` +
    `(system prompt and tools ${measure.fixedTokens}, newest messages ${measure.tailTokens}) and ${measure.bytes} bytes; ` +
    `the window has ${bounds.windowTokens} tokens, of which a request may fill ${bounds.compactTokens}. ` +
    `${done.length} compactions since the last reply did not bring it below, and no route of the chain takes it. ` +
    'Use a model with a larger window, shorter instructions, fewer tools, or smaller tool outputs.' +
    (overflows === 0 ? '' : ` The last refusal: ${state.lastError ?? ''}`);
  return endFailed(state, atMs, 'context_overflow', `System error: ${message}`, {
    kind: 'infra',
    code: 'context_overflow',
    message: message.slice(0, 500),
    route: routeName(route),
  });
}

/** Why a compaction happens, for people. */
function reasonOf(state: RunState, { measure, bounds, route }: Candidate): string {
  if (state.context.refused) return `${routeName(route)} refused the request as too long`;
  if (measure.over !== undefined) return `the request breaks the vendor's limit of ${measure.over}`;
  return `${measure.tokens} of ${bounds.windowTokens} tokens`;
}

function issueCompaction(
  state: RunState,
  candidate: Candidate,
  decision: { readonly tier: CompactionTier; readonly trimTail: boolean },
  atMs: number,
): Step {
  const { snapshot, measure } = candidate;
  const { tier } = decision;
  const { iterations } = state.counters;
  const { issued } = state.context;
  const sameIteration = issued.iteration === iterations ? issued.count : 0;
  const callId = sameIteration === 0 ? `c${iterations}` : `c${iterations}.${sameIteration}`;
  const isModelMade = tier === 2 || tier === 3;
  const summaryRouteIndex = isModelMade ? summaryRoute(state, candidate, atMs) : undefined;
  const held = summaryRouteIndex === undefined ? { state } : reserve(state, callId);
  const compacting: RunState = {
    ...withContext(held.state, {
      issued: { iteration: iterations, count: sameIteration + 1 },
      due: measure,
    }),
    phase: {
      type: 'compacting',
      callId,
      tier,
      why: reasonOf(state, candidate),
      ...(summaryRouteIndex === undefined ? {} : { summaryRouteIndex }),
    },
  };
  return step(compacting, {
    type: 'compact',
    callId,
    summary: `compact the conversation, tier ${tier}`,
    limits: snapshot.limits,
    input: {
      ...compactInput(state, candidate, decision, summaryRouteIndex),
      ...(held.allowance === undefined ? {} : { allowance: held.allowance }),
    },
  });
}

function compactInput(
  state: RunState,
  { snapshot, head, routeIndex, bounds, route }: Candidate,
  { tier, trimTail }: { readonly tier: CompactionTier; readonly trimTail: boolean },
  summaryRouteIndex: number | undefined,
): CompactInput {
  const summariser = snapshot.chain[summaryRouteIndex ?? -1];
  const { pendingResults, runtimeResults } = state.next;
  const counted = countedNow(state);
  const tokenFactors = state.context.factors[routeName(route)];
  return {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    ...(pendingResults.length === 0 ? {} : { pendingResults }),
    ...(runtimeResults === undefined ? {} : { runtimeResults }),
    routeIndex,
    bounds,
    tier,
    ...(trimTail ? { trimTail: true } : {}),
    ...(state.context.due === undefined ? {} : { isDue: true }),
    ...(counted === undefined ? {} : { counted }),
    ...(tokenFactors === undefined ? {} : { tokenFactors }),
    ...(summariser === undefined || summaryRouteIndex === undefined
      ? {}
      : { summary: summaryInput(state, summariser, summaryRouteIndex) }),
    ...(tier === 1 ? {} : { matters: openMatters(state) }),
    holder: `${state.runKey}/${state.counters.iterations}`,
  };
}

function summaryInput(
  state: RunState,
  route: RouteConfig,
  routeIndex: number,
): NonNullable<CompactInput['summary']> {
  const tokenFactors = state.context.factors[routeName(route)];
  return {
    routeIndex,
    windowTokens: contextBounds(state, route).windowTokens,
    ...(tokenFactors === undefined ? {} : { tokenFactors }),
  };
}
