/** A compaction in flight: takes its result, and decides what the run does next. */
import { charge, chargeFailure } from '../budget/budget';
import { noSpend } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import { failoverReason, infraPolicy } from '../errors/failure-policy';
import { recordRouteFailure, recordRouteSuccess, routeName } from '../failover/provider-health';
import type { FailingState } from '../failover/provider-failure';
import { failInfra, recordInfraError } from '../failover/provider-failure';
import type { FailoverSlice, RouteConfig } from '../failover/state';
import type { InfraError } from '../failure';
import { defined, without } from '../json';
import type { PeopleSlice } from '../people/state';
import { prepared } from '../run/ports';
import type { SnapshotSlice } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, goTo, publish } from '../run/move';
import type { StoreWaitSlice, PhaseSlice } from '../run/phases';
import { storeAnswered, waitForStore } from '../run/waiting';
import type { NextRequestSlice } from '../model-call/next-request';
import type { ContextMeasure } from './measure';
import { scaledMeasure } from './measure';
import type { CompactResult } from './ports';
import { withContext, withoutCounts } from './size';
import type { Compacting, ContextSlice } from './state';

type Appending = SnapshotSlice & NextRequestSlice & StoreWaitSlice & Pick<PeopleSlice, 'inbox'>;

/** What a compaction reads and changes. */
export type CompactingState = Appending &
  BudgetSlice &
  ContextSlice &
  FailingState &
  FailoverSlice &
  PhaseSlice;

/** The state once everything that waited for a call is in the transcript. */
export function takeAppended<State extends Appending>(
  state: State,
  head: string,
  sentTexts: number,
): State {
  return {
    ...storeAnswered(state),
    head,
    next: { ...without(state.next, 'runtimeResults'), pendingResults: [] },
    inbox: state.inbox.slice(sentTexts),
  };
}

function summaryRoute(state: SnapshotSlice, phase: Compacting): RouteConfig | undefined {
  return state.snapshot?.chain[phase.summaryRouteIndex ?? -1];
}

/** Takes the result of the compaction in flight. */
export function onCompacted<State extends CompactingState>(
  state: State,
  phase: Compacting,
  result: CompactResult,
  atMs: number,
): Move<State> {
  const charged = charge(state, phase.callId, result.spend ?? noSpend);
  if (result.failure !== undefined)
    return andThen(recordInfraError(charged, result.failure), (noted) =>
      goTo('call-model', denySummary(noted, phase)),
    );
  const route = summaryRoute(state, phase);
  const health =
    route === undefined ? state.health : recordRouteSuccess(state.health, routeName(route), atMs);
  const taken = takeAppended({ ...charged, health }, result.head, 0);
  // What is stored fits after all. The call itself is measured next, with texts that are not stored yet; nothing is foreseen of
  // it again, or the same compaction would be requested without end.
  if (result.isNeedless === true) {
    const context = { ...without(without(taken.context, 'due'), 'prepared'), pendingChars: 0 };
    return goTo('call-model', { ...taken, context });
  }
  const { tier, tokensBefore, trimmedTail, measure } = result;
  const tokensAfter = measure.tokens;
  const done = { tier, ...defined({ trimmedTail }), tokensBefore, tokensAfter };
  const hasShrunk = result.head !== result.headBefore;
  const compacted: State = {
    ...taken,
    context: {
      ...(hasShrunk ? withoutCounts(taken.context) : taken.context),
      due: asRefused(state, result),
      done: [...taken.context.done, done],
      refused: taken.context.refused && !hasShrunk,
      compactions: taken.context.compactions + 1,
    },
  };
  const entry = publish({
    type: 'CompactionEvent',
    tier,
    tokensBefore,
    tokensAfter,
    messagesBefore: result.messagesBefore,
    messagesAfter: measure.messages,
    why: phase.why,
  });
  return goTo('call-model', compacted, entry);
}

/** The measure of a smaller request, scaled as the vendor counted the one that it refused. */
function asRefused(
  { context }: ContextSlice,
  { measure, tokensBefore }: CompactResult,
): ContextMeasure {
  const { due, refused } = context;
  if (!refused || due === undefined || tokensBefore <= 0 || due.tokens <= tokensBefore)
    return measure;
  return scaledMeasure(measure, Math.ceil((measure.tokens * due.tokens) / tokensBefore));
}

/** Keeps a compaction that returns while the run ends: its cost counts, and its transcript is as good as the one before. */
export function keepCompaction<State extends Appending & BudgetSlice>(
  state: State,
  callId: string,
  result: CompactResult,
): State {
  return takeAppended(charge(state, callId, result.spend ?? noSpend), result.head, 0);
}

/** The route that failed to summarize is not asked again before the model has replied. */
function denySummary<State extends CompactingState>(state: State, phase: Compacting): State {
  const route = summaryRoute(state, phase);
  if (route === undefined) return state;
  return withContext(state, { noSummary: [...state.context.noSummary, routeName(route)] });
}

/**
 * Takes the failure of the compaction in flight.
 *
 * Contract: waits for a store that is down; a provider that cannot summarize is left for the next route, and for the tier without
 * a model where there is none; only what no tier can cure ends the run.
 */
export function onCompactionFailed<State extends CompactingState>(
  state: State,
  phase: Compacting,
  failure: InfraError,
  atMs: number,
): Move<State> {
  const charged = chargeFailure(state, phase.callId, failure);
  return andThen(recordInfraError(charged, failure), (noted) => {
    if (infraPolicy(failure).action === 'wait-for-store')
      return waitForStore(noted, failure.message, 'call-model', atMs);
    const reason = failoverReason(failure);
    const route = summaryRoute(noted, phase);
    if (route === undefined || (reason === undefined && failure.code !== 'worker_lost'))
      return failInfra(noted, failure);
    const { limits } = prepared(noted).snapshot;
    const health =
      reason === undefined
        ? noted.health
        : recordRouteFailure(noted.health, routeName(route), failure, reason, limits, atMs);
    return goTo('call-model', denySummary({ ...noted, health }, phase));
  });
}
