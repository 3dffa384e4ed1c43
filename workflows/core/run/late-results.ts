/** What returns while a run ends, beside tool calls: its result and its cost are kept. */
import { charge, chargeFailure } from '../budget/budget';
import { noSpend } from '../budget/spend';
import { keepCompaction, takeAppended } from '../context/compaction-phase';
import type { InfraError } from '../failure';
import { without } from '../json';
import { chargeHeldBack, keepReply } from '../model-call/reply';
import { chargeFailedCall } from '../model-call/unheard-call';
import { endIfIdle } from './ending';
import type { Ending } from './ending-phase';
import type { Move } from './move';
import type { RunEvent } from './protocol';
import { prepareCallId } from './protocol';
import type { RunState } from './state';

/**
 * Takes what returns, beside tool calls, while the run ends: result and cost are kept. After the last one, the run ends.
 * Undefined for any other event: calls settle as they always do.
 */
export function onReturned(
  state: RunState,
  ending: Ending,
  event: RunEvent,
): Move<RunState> | undefined {
  const callId = activityOf(event);
  if (callId === undefined || callId !== ending.outstanding) return undefined;
  const kept = keepResult(state, ending, callId, event);
  return endIfIdle({ ...kept, phase: without(ending, 'outstanding') }, event.atMs);
}

/** The activity, beside a tool's, that an event comes from. */
function activityOf(event: RunEvent): string | undefined {
  if ('callId' in event) return event.callId;
  const isPreparation = event.type === 'run-prepared' || event.type === 'run-preparation-failed';
  return isPreparation ? prepareCallId : undefined;
}

/** Failures of activities that spend only what they report. */
const noSpendTypes: readonly RunEvent['type'][] = [
  'run-preparation-failed',
  'handover-failed',
  'guardrails-failed',
];

/** Charges a failed activity. A preparation that was not heard from again has sent nothing. */
function chargeFailed(
  state: RunState,
  callId: string,
  type: RunEvent['type'],
  failure: InfraError,
): RunState {
  if (type === 'model-call-failed')
    return chargeFailedCall(state, callId, state.lastRouteIndex ?? 0, failure);
  return noSpendTypes.includes(type)
    ? charge(state, callId, failure.spend ?? noSpend)
    : chargeFailure(state, callId, failure);
}

/** Keeps what a model call, a compaction, a plan, or the preparation gave and cost. */
function keepResult(
  state: RunState,
  { sentTexts = 0 }: Ending,
  callId: string,
  event: RunEvent,
): RunState {
  const { type } = event;
  if ('failure' in event) return chargeFailed(state, callId, type, event.failure);
  if (type === 'model-call-completed')
    return keepReply(without(state, 'unread'), callId, event.result, sentTexts);
  if (type === 'model-call-held-back')
    return takeAppended(chargeHeldBack(state, callId, event.result), event.result.headBefore, 0);
  if (type === 'compaction-completed') return keepCompaction(state, callId, event.result);
  if (type === 'recovery-planned' || type === 'run-prepared' || type === 'handed-over')
    return charge(state, callId, event.result.spend ?? noSpend);
  return state;
}
