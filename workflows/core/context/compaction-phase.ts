/** A compaction in flight: what comes back of it, and what the run does next. */
import { charge, chargeFailure } from '../budget/budget';
import { withContext } from './gate';
import { withoutCounts } from './state';
import type { ContextMeasure } from './measure';
import { scaledMeasure } from './measure';
import type { InfraError } from '../failure';
import { failoverReason, infraPolicy } from '../errors/failure-policy';
import { issueModelCall, startWait } from '../run/loop';
import type { CompactResult } from './ports';
import type { ModelCallHeldBack } from '../model-call/ports';
import { recordRouteFailure, recordRouteSuccess, routeName } from '../failover/provider-health';
import { endInfra, nextStoreWaitMs, recordInfraError } from '../failover/provider-failure';
import { hasRules } from '../rules';
import type { RunPhase, RunState } from '../run/state';
import type { Step } from '../run/step';
import { noSpend } from '../budget/spend';
import { andThen, publish, step } from '../run/step';

type Compacting = Extract<RunPhase, { type: 'compacting' }>;
type CallingModel = Extract<RunPhase, { type: 'calling-model' }>;

/** The state when what waited for a call is in the transcript. */
export function takeAppended(state: RunState, head: string, sentTexts: number): RunState {
  const { storeWaitMs: _recovered, ...rest } = state;
  const { pendingResults: _appended, runtimeResults: _ran, ...next } = state.next;
  return {
    ...rest,
    head,
    next: { ...next, pendingResults: [] },
    inbox: state.inbox.slice(sentTexts),
  };
}

/** Answers `model-call-held-back`: the request was measured, did not fit, and was not sent. */
export function onModelCallHeldBack(
  state: RunState,
  call: CallingModel,
  result: ModelCallHeldBack,
  atMs: number,
): Step {
  const unspent = charge(state, call.callId, noSpend);
  const appended = takeAppended(unspent, result.headBefore, call.sentTexts);
  return issueModelCall(withContext(appended, { due: result.heldBack, pendingChars: 0 }), atMs);
}

/** Answers `compaction-completed`. */
export function onCompacted(
  state: RunState,
  phase: Compacting,
  result: CompactResult,
  atMs: number,
): Step {
  const charged = chargeSummary(state, phase, result, atMs);
  if (result.failure !== undefined) {
    const { failure } = result;
    return andThen(recordInfraError(charged, failure, atMs), (noted) =>
      issueModelCall(denySummary(noted, phase), atMs),
    );
  }
  const taken = takeAppended(charged, result.head, 0);
  if (result.isNeedless === true) return issueModelCall(forgetForeseen(taken), atMs);
  const measure = asRefused(state, result);
  const done = {
    tier: result.tier,
    ...(result.trimmedTail === true ? { trimmedTail: true as const } : {}),
    tokensBefore: result.tokensBefore,
    tokensAfter: result.measure.tokens,
  };
  const hasShrunk = result.head !== result.headBefore;
  const compacted: RunState = {
    ...taken,
    context: {
      ...(hasShrunk ? withoutCounts(taken.context) : taken.context),
      due: measure,
      done: [...taken.context.done, done],
      refused: taken.context.refused && !hasShrunk,
      compactions: taken.context.compactions + 1,
    },
  };
  const entry = publish(compacted, atMs, {
    type: 'CompactionEvent',
    tier: result.tier,
    tokensBefore: result.tokensBefore,
    tokensAfter: result.measure.tokens,
    messagesBefore: result.messagesBefore,
    messagesAfter: result.measure.messages,
    why: phase.why,
  });
  return andThen(step(compacted, entry), (after) => issueModelCall(after, atMs));
}

/**
 * What is stored fits after all. The call itself is measured now, with texts that are not stored yet; nothing is foreseen of it
 * again, or the same compaction would be asked for without end.
 *
 * Replay: under rules 2 it was foreseen again.
 */
function forgetForeseen(state: RunState): RunState {
  const { due: _due, prepared, ...context } = state.context;
  const keeps = prepared !== undefined && !hasRules(state, 3);
  return {
    ...state,
    context: { ...context, ...(keeps ? { prepared } : {}), pendingChars: 0 },
  };
}

/** A vendor that refused a request counts more than we do, and so it will count of the smaller one. */
function asRefused(state: RunState, { measure, tokensBefore }: CompactResult): ContextMeasure {
  const { due, refused } = state.context;
  if (!refused || due === undefined || tokensBefore <= 0 || due.tokens <= tokensBefore)
    return measure;
  return scaledMeasure(measure, Math.ceil((measure.tokens * due.tokens) / tokensBefore));
}

/** A compaction that lands while the run ends: what it cost counts, and its transcript is as good as the one before. */
export function keepCompaction(state: RunState, callId: string, result: CompactResult): RunState {
  return takeAppended(charge(state, callId, result.spend ?? noSpend), result.head, 0);
}

function chargeSummary(
  state: RunState,
  phase: Compacting,
  result: CompactResult,
  atMs: number,
): RunState {
  const charged = charge(state, phase.callId, result.spend ?? noSpend);
  const route = state.snapshot?.chain[phase.summaryRouteIndex ?? -1];
  if (route === undefined || result.failure !== undefined) return charged;
  return { ...charged, health: recordRouteSuccess(state.health, routeName(route), atMs) };
}

/** The route that failed to summarise is not asked again before the model has replied. */
function denySummary(state: RunState, phase: Compacting): RunState {
  const route = state.snapshot?.chain[phase.summaryRouteIndex ?? -1];
  if (route === undefined) return state;
  return withContext(state, { noSummary: [...state.context.noSummary, routeName(route)] });
}

/**
 * Answers `compaction-failed`.
 *
 * Contract: a store that is down is waited for; a provider that cannot summarise is left for the next route, and for the tier
 * without a model where there is none; only what no tier can mend ends the run.
 */
export function onCompactionFailed(
  state: RunState,
  phase: Compacting,
  failure: InfraError,
  atMs: number,
): Step {
  const charged = chargeFailure(state, phase.callId, failure);
  return andThen(recordInfraError(charged, failure, atMs), (noted) => {
    const { action } = infraPolicy(failure);
    if (action === 'wait-for-store')
      return startWait(noted, atMs, {
        on: 'store',
        reason: failure.message,
        delayMs: nextStoreWaitMs(noted.storeWaitMs),
        then: 'call-model',
      });
    const reason = failoverReason(failure);
    const route = noted.snapshot?.chain[phase.summaryRouteIndex ?? -1];
    if (noted.snapshot === undefined || route === undefined) return endInfra(noted, failure, atMs);
    if (reason === undefined && failure.code !== 'worker_lost')
      return endInfra(noted, failure, atMs);
    const { limits } = noted.snapshot;
    const name = routeName(route);
    const health =
      reason === undefined
        ? noted.health
        : recordRouteFailure(noted.health, name, failure, reason, limits, atMs);
    return issueModelCall(denySummary({ ...noted, health }, phase), atMs);
  });
}
