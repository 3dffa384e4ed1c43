/** The core: one pure, total, synchronous function that decides everything a run does. */
import { charge, chargeFailure, chargeReply } from '../budget/budget';
import { initialCircuitBreaker } from '../errors/circuit-breaker';
import { clockActive } from './active-clock';
import { keepActiveTimer, onActiveTimer } from './active-timer';
import { endAfterLanding, endNow } from './ending';
import { landTool } from './landing';
import { onDecisionTimer } from '../people/decisions';
import { onEditChecked, uncheckable } from '../people/edit-approval';
import type { InfraError } from '../failure';
import { followUp, heard } from './follow-up';
import { initialSlices } from './initial-slices';
import type { Moment } from './loop';
import { withEveryLimit } from '../limits-upgrade';
import { beginIteration, endWait, prepareCallId, prepareRun } from './loop';
import { onModelReplied } from '../model-call/reply';
import { onNotified } from '../people/notifications';
import {
  onAnswer,
  onApproval,
  onEscalationRequested,
  onMessageAdded,
  onSignalDropped,
  resumeSegment,
} from '../people/messages';
import {
  keepCompaction,
  onCompacted,
  onCompactionFailed,
  onModelCallHeldBack,
  takeAppended,
} from '../context/compaction-phase';
import type { CallModelResult, ModelCallHeldBack } from '../model-call/ports';
import type { CompactResult } from '../context/ports';
import type { PlanRecoveryResult } from '../recovery/ports';
import type { RunToolResult } from '../tools/ports';
import {
  chargePlan,
  onRecoveryPlanFailed,
  onRecoveryPlanned,
  onRecoveryTimer,
} from '../recovery/carry-out';
import { recoveryStage } from '../recovery/state';
import { initialProviderHealth } from '../failover/provider-health';
import { goalForPeople, shownGoalOf, withShownReason } from '../people/shown-text';
import { onModelCallFailed, onPreparationFailed } from '../failover/provider-failure';
import type { RunCommand, RunEvent } from './protocol';
import type { RunState } from './state';
import type { Step } from './step';
import { landSubagent, onSubagentEnded } from '../subagents/return';
import { andThen, count, publish, step } from './step';
import { findCall, onToolCallCompleted, onToolCallFailed, resumePausedCall } from '../tools/phase';
import { noUsage } from '../budget/usage';

/** A new state and what the shell must do, in order. */
export type Transition = readonly [state: RunState, commands: readonly RunCommand[]];

/** Begins a run. */
export function initialTransition(event: Extract<RunEvent, { type: 'run-started' }>): Transition {
  const state: RunState = {
    schemaVersion: 1,
    runKey: event.runKey,
    request: event.request,
    ...shownGoalOf(event.request.goal),
    startedAtMs: event.atMs,
    phase: { type: 'preparing' },
    next: { pendingResults: [] },
    inbox: [],
    counters: {
      iterations: 0,
      modelCalls: 0,
      events: 1,
      toolCalls: 0,
      toolCallsSucceeded: 0,
      toolCallsFailed: 0,
      failovers: 0,
      segments: 1,
      timers: 0,
      callsThisIteration: 0,
    },
    usage: noUsage,
    contextTokens: 0,
    breaker: initialCircuitBreaker,
    health: initialProviderHealth,
    activeMs: 0,
    activeSinceMs: event.atMs,
    providerWaitMs: 0,
    outputRaised: false,
    worked: [],
    didNotWork: [],
    unhealed: [],
    healed: {},
    failedOver: [],
    lastText: '',
    ...initialSlices,
  };
  const announced = step(
    state,
    publish(state, event.atMs, {
      type: 'RunStartedEvent',
      agent: event.request.agent,
      goal: goalForPeople(state, 500),
    }),
  );
  const { state: after, commands } = andThen(announced, prepareRun);
  return [after, commands];
}

/**
 * Decides what a run does next.
 *
 * Contract: pure and total: any event in any state gives a state and never throws; an event that cannot apply changes only
 * the event counter and the clock of active time. The state stays equal to its JSON round trip.
 * Replay: a change in the order or the kind of commands needs an entry in `patches.ts`.
 */
export function transition(state: RunState, event: RunEvent): Transition {
  if (state.phase.type === 'ended') return [state, []];
  const clocked = clockActive(state, event);
  const counted = isOwnEvent(event)
    ? clocked
    : count(clocked, { events: state.counters.events + 1 });
  const decided = followUp(counted, decide(heard(counted, event), withShownReason(event)), event);
  const rolled = rollOverIfIdle(decided, event);
  const timed = keepActiveTimer(rolled, event, isActive(rolled.state));
  return [stampActive(timed.state, event.atMs), timed.commands];
}

/**
 * Whether an event is only the runtime's own bookkeeping. A new segment, a timer, or a store that is down for a day must
 * not use up the events that the guard allows.
 */
function isOwnEvent(event: RunEvent): boolean {
  const { type } = event;
  if (type === 'timer-fired' || type === 'segment-started' || type === 'signal-dropped')
    return true;
  if (type === 'notification-completed' || type === 'notification-failed') return true;
  return 'failure' in event && event.failure.code === 'store_unavailable';
}

/** Whether a run works, rather than waits for a person, a cooldown or the store. */
function isActive(state: RunState): boolean {
  const { phase } = state;
  switch (phase.type) {
    case 'preparing':
    case 'calling-model':
    case 'compacting':
    case 'ending':
      return true;
    case 'running-tools':
      return phase.calls.some(
        ({ status }) => status.type === 'running' || status.type === 'checking-edit',
      );
    case 'recovering':
      return phase.stage.type === 'planning';
    case 'ready':
    case 'waiting':
    case 'ended':
      return false;
  }
}

function stampActive(state: RunState, atMs: number): RunState {
  const { activeSinceMs: _clock, ...rest } = state;
  return isActive(state) ? { ...rest, activeSinceMs: atMs } : rest;
}

/**
 * A run that only waits rolls over between events.
 *
 * Contract: timers are started all the same, since a word of a person may still come in before the segment ends.
 */
function rollOverIfIdle(decided: Step, moment: Moment): Step {
  const { state, commands } = decided;
  if (moment.rollOverSuggested !== true || isActive(state)) return decided;
  const { type } = state.phase;
  if (type !== 'waiting' && type !== 'running-tools' && type !== 'recovering') return decided;
  if (hasSubagents(state)) return decided;
  return { state, commands: [...commands, { type: 'roll-over' }] };
}

/** A new segment could not wait for runs that the one before it started. */
function hasSubagents({ phase }: RunState): boolean {
  return (
    phase.type === 'running-tools' && phase.calls.some(({ status }) => status.type === 'delegated')
  );
}

function decide(state: RunState, event: RunEvent): Step {
  switch (event.type) {
    case 'run-started':
      return step(state);
    case 'segment-started':
      return onSegmentStarted(state, event);
    case 'run-prepared':
      return onPrepared(state, event);
    case 'run-preparation-failed':
      return onNotPrepared(state, event.failure, event.atMs);
    case 'model-call-completed':
      return onModelResult(state, event.callId, { result: event.result }, event);
    case 'model-call-held-back':
      return onHeldBack(state, event.callId, event.result, event);
    case 'compaction-completed':
      return onCompaction(state, event.callId, { result: event.result }, event);
    case 'compaction-failed':
      return onCompaction(state, event.callId, { failure: event.failure }, event);
    case 'model-call-failed':
      return onModelResult(state, event.callId, { failure: event.failure }, event);
    case 'tool-call-completed':
      return onToolResult(state, event.toolCallId, { result: event.result }, event);
    case 'tool-call-failed':
      return onToolResult(state, event.toolCallId, { failure: event.failure }, event);
    case 'notification-completed':
    case 'notification-failed':
      return onNotified(state, event);
    case 'recovery-planned':
    case 'recovery-plan-failed':
      return onPlanResult(state, event.callId, event, event);
    case 'subagent-ended':
      return onSubagentReturned(state, event);
    case 'timer-fired':
      return onTimerFired(state, event);
    case 'message-added':
      return onMessageAdded(state, event.text, event.atMs);
    case 'approval-resolved':
      return onApproval(state, event);
    case 'question-answered':
      return onAnswer(state, event, event);
    case 'edit-checked':
      return isEnding(state)
        ? returned(state, event.callId, event.atMs)
        : onEditChecked(state, event.callId, event.result, event);
    case 'edit-check-failed':
      return isEnding(state)
        ? returned(state, event.callId, event.atMs)
        : onEditChecked(state, event.callId, uncheckable(event.failure), event);
    case 'signal-dropped':
      return onSignalDropped(state, event);
    case 'escalation-requested':
      return isEnding(state) ? step(state) : onEscalationRequested(state, event.reason, event.atMs);
    case 'stop-requested':
      return endAfterLanding(state, { status: 'stopped', reason: event.reason }, event.atMs);
    case 'cancel-requested':
      return endAfterLanding(state, { status: 'cancelled', reason: event.reason }, event.atMs);
  }
}

function isEnding(state: RunState): boolean {
  return state.phase.type === 'ending';
}

function onSegmentStarted(state: RunState, event: RunEvent): Step {
  const segments = state.counters.segments + 1;
  const counted = count(state, { segments });
  const announced = step(
    counted,
    publish(counted, event.atMs, { type: 'SegmentStartedEvent', segment: segments }),
  );
  return andThen(announced, (after) => resumeSegment(after, event));
}

function onPrepared(state: RunState, event: Extract<RunEvent, { type: 'run-prepared' }>): Step {
  const { snapshot, head, spend } = event.result;
  const paid = spend === undefined ? state : charge(state, prepareCallId, spend);
  if (isEnding(state)) return returned(paid, prepareCallId, event.atMs);
  if (state.phase.type !== 'preparing') return step(state);
  const { storeWaitMs: _recovered, ...rest } = paid;
  return beginIteration(
    { ...rest, snapshot: withEveryLimit(snapshot), head, phase: { type: 'ready' } },
    event,
  );
}

function onNotPrepared(state: RunState, failure: InfraError, atMs: number): Step {
  const paid = failure.spend === undefined ? state : charge(state, prepareCallId, failure.spend);
  if (isEnding(state)) return returned(paid, prepareCallId, atMs);
  return state.phase.type === 'preparing' ? onPreparationFailed(paid, failure, atMs) : step(state);
}

type Came<Result> = { readonly result: Result } | { readonly failure: InfraError };

function onModelResult(
  state: RunState,
  callId: string,
  came: Came<CallModelResult>,
  event: RunEvent,
): Step {
  const { phase } = state;
  if (phase.type === 'ending')
    return phase.outstanding.includes(callId)
      ? returned(keepReply(state, callId, came), callId, event.atMs)
      : step(state);
  if (phase.type !== 'calling-model' || phase.callId !== callId) return step(state);
  return 'result' in came
    ? onModelReplied(state, phase, came.result, event)
    : onModelCallFailed(
        chargeFailure(state, callId, came.failure),
        phase.routeIndex,
        came.failure,
        event,
      );
}

function onHeldBack(
  state: RunState,
  callId: string,
  result: ModelCallHeldBack,
  { atMs }: RunEvent,
): Step {
  const { phase } = state;
  if (phase.type === 'ending' && phase.outstanding.includes(callId))
    return returned(takeAppended(state, result.headBefore, 0), callId, atMs);
  if (phase.type !== 'calling-model' || phase.callId !== callId) return step(state);
  return onModelCallHeldBack(state, phase, result, atMs);
}

function onCompaction(
  state: RunState,
  callId: string,
  came: Came<CompactResult>,
  { atMs }: RunEvent,
): Step {
  const { phase } = state;
  if (phase.type === 'ending' && phase.outstanding.includes(callId))
    return returned(
      'result' in came
        ? keepCompaction(state, callId, came.result)
        : chargeFailure(state, callId, came.failure),
      callId,
      atMs,
    );
  if (phase.type !== 'compacting' || phase.callId !== callId) return step(state);
  return 'result' in came
    ? onCompacted(state, phase, came.result, atMs)
    : onCompactionFailed(state, phase, came.failure, atMs);
}

/** A reply that lands while the run ends is still the best partial text that there is. */
function keepReply(state: RunState, callId: string, came: Came<CallModelResult>): RunState {
  if (!('result' in came)) return chargeFailure(state, callId, came.failure);
  const { headBefore, textPreview } = came.result;
  const route = state.snapshot?.chain[state.lastRouteIndex ?? -1];
  return {
    ...takeAppended(chargeReply(state, callId, came.result, route?.price), headBefore, 0),
    lastText: textPreview === '' ? state.lastText : textPreview,
  };
}

function onToolResult(
  state: RunState,
  toolCallId: string,
  came: Came<RunToolResult>,
  event: RunEvent,
): Step {
  if (state.phase.type === 'ending') return onToolReturned(state, toolCallId, came, event.atMs);
  const call = findCall(state, toolCallId, 'running');
  if (call === undefined) return step(state);
  return 'result' in came
    ? onToolCallCompleted(state, call, came.result, event)
    : onToolCallFailed(state, call, came.failure, event);
}

/** A tool that comes back while the run ends is reported, so that people know what was done. */
function onToolReturned(
  state: RunState,
  toolCallId: string,
  came: Came<RunToolResult>,
  atMs: number,
): Step {
  const { phase } = state;
  if (phase.type !== 'ending') return step(state);
  const landed = phase.landing.find(({ call }) => call.toolCallId === toolCallId);
  if (landed === undefined || !phase.outstanding.includes(landed.callId)) return step(state);
  return returned(landTool(state, landed.call, came), landed.callId, atMs);
}

/** A subagent that comes back while the run ends is paid for and reported like any other. */
function onSubagentReturned(
  state: RunState,
  event: Extract<RunEvent, { type: 'subagent-ended' }>,
): Step {
  const { phase } = state;
  if (phase.type !== 'ending') return onSubagentEnded(state, event.toolCallId, event.end, event);
  const landed = phase.landing.find(({ call }) => call.toolCallId === event.toolCallId);
  if (landed?.runId === undefined || !phase.outstanding.includes(landed.callId)) return step(state);
  return andThen(landSubagent(state, landed, landed.runId, event.end, event.atMs), (after) =>
    returned(after, landed.callId, event.atMs),
  );
}

/** Something in flight came back; when it was the last, the run ends. */
function returned(state: RunState, callId: string, atMs: number): Step {
  const { phase } = state;
  if (phase.type !== 'ending') return step(state);
  const outstanding = phase.outstanding.filter((id) => id !== callId);
  if (outstanding.length > 0) return step({ ...state, phase: { ...phase, outstanding } });
  return endNow(state, phase, atMs);
}

function onTimerFired(state: RunState, event: Extract<RunEvent, { type: 'timer-fired' }>): Step {
  const limit = onActiveTimer(state, event.timerId, event.atMs);
  if (limit !== undefined) return limit;
  const { phase } = state;
  if (phase.type === 'waiting' && phase.timerId === event.timerId) {
    const { delayMs } = phase;
    const remembered =
      phase.on === 'store' && delayMs !== undefined ? { ...state, storeWaitMs: delayMs } : state;
    return endWait(remembered, event);
  }
  return (
    onDecisionTimer(state, event.timerId, event) ??
    onRecoveryTimer(state, event.timerId, event) ??
    resumePausedCall(state, event.timerId, event)
  );
}

function onPlanResult(
  state: RunState,
  callId: string,
  came: Came<PlanRecoveryResult>,
  event: RunEvent,
): Step {
  const { phase } = state;
  const charged = chargePlan(state, callId, came);
  if (phase.type === 'ending')
    return phase.outstanding.includes(callId) ? returned(charged, callId, event.atMs) : step(state);
  const stage = recoveryStage(state, 'planning');
  if (stage?.callId !== callId) return step(state);
  return 'result' in came
    ? onRecoveryPlanned(charged, stage, came.result, event)
    : onRecoveryPlanFailed(charged, stage, came.failure, event);
}
