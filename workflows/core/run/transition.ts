/** The core: one pure, total, synchronous function that decides everything a run does. */
import { charge, chargeFailure } from '../budget/budget';
import {
  keepCompaction,
  onCompacted,
  onCompactionFailed,
  takeAppended,
} from '../context/compaction-phase';
import { noSpend } from '../budget/spend';
import { skipsRoute } from '../context/gate';
import { onContextOverflow } from '../context/overflow';
import { withContext } from '../context/size';
import { infraPolicy } from '../errors/failure-policy';
import { failInfra, failOver, recordInfraError } from '../failover/provider-failure';
import type { InfraError } from '../failure';
import { countActiveTime, keepActiveTimer, setActive, takeActiveTimer } from '../guard/clock';
import { without } from '../json';
import { keepReply } from '../model-call/reply';
import { callingModel } from '../model-call/state';
import { chargeFailedCall } from '../model-call/unheard-call';
import { onNotified } from '../notifications/notifications';
import { onDecisionTimer } from '../people/decisions';
import { onEditChecked, uncheckable } from '../people/edit-approval';
import { onMessageAdded, onSignalDropped } from '../people/messages';
import {
  chargePlan,
  onRecoveryPlanFailed,
  onRecoveryPlanned,
  onRecoveryTimer,
} from '../recovery/carry-out';
import { currentStage, recoveryStage } from '../recovery/state';
import { stageTimer } from '../recovery/waits';
import { goalForPeople, shownGoalOf, shownText } from '../secrets/shown-text';
import { landSubagent, onSubagentEnded } from '../subagents/return';
import { callTimer, onToolCallCompleted, onToolCallFailed, resumePausedCall } from '../tools/calls';
import { callsOf, findCall } from '../tools/state';
import { count } from './account';
import { awaitedCall, endAfterLanding, landTool, returned } from './ending';
import { reply, runLoop } from './loop';
import { onAnswer, onApproval, onEscalationRequested } from './people-input';
import type { RunCommand, RunEvent } from './protocol';
import { prepareCallId } from './protocol';
import type { RunState } from './state';
import { initialSlices } from './state';
import type { Step } from './step';
import { andThen, goTo, publish, step } from './step';
import { endWait, storeAnswered, waitForStore, waitTimer } from './waiting';

/** A new state and what the shell must do, in order. */
export type Transition = readonly [state: RunState, commands: readonly RunCommand[]];

type EventType = RunEvent['type'];
type EventOf<Type extends EventType> = Extract<RunEvent, { type: Type }>;
type Handler<Type extends EventType> = (state: RunState, event: EventOf<Type>) => Step<RunState>;

/** Begins a run. */
export function initialTransition(event: EventOf<'run-started'>): Transition {
  const state: RunState = {
    ...initialSlices,
    schemaVersion: 1,
    runKey: event.runKey,
    request: event.request,
    ...shownGoalOf(event.request.goal),
    startedAtMs: event.atMs,
    activeSinceMs: event.atMs,
    phase: { type: 'preparing' },
  };
  const announced = publish(state, event.atMs, {
    type: 'RunStartedEvent',
    agent: event.request.agent,
    goal: goalForPeople(state, 500),
  });
  const { state: after, commands } = runLoop(state, goTo('prepare', state, announced), event);
  return [after, commands];
}

/**
 * Decides what a run does next.
 *
 * Contract: pure and total: any event in any state gives a state and never throws; an event that does not apply changes only
 * the event counter and the active-time clock. The state survives a JSON round trip unchanged.
 * Replay: a change in the order or the kind of commands needs a flag (`workflows/flags.ts`).
 */
export function transition(state: RunState, event: RunEvent): Transition {
  if (state.phase.type === 'ended') return [state, []];
  const clocked = countActiveTime(state, event);
  const counted = isBookkeeping(event)
    ? clocked
    : count(clocked, { events: state.counters.events + 1 });
  const decided = runLoop(counted, handle(counted, withShownReason(event)), event);
  const rolled = rollOverIfIdle(decided, event);
  const isWorking = isActive(rolled.state);
  const timed = keepActiveTimer(rolled, event, isWorking && rolled.state.phase.type !== 'ending');
  return [setActive(timed.state, isWorking, event.atMs), timed.commands];
}

/** The event with its reason cleaned for display: only people read it, never a model. */
function withShownReason(event: RunEvent): RunEvent {
  const hasReason =
    event.type === 'escalation-requested' ||
    event.type === 'stop-requested' ||
    event.type === 'cancel-requested';
  return hasReason ? { ...event, reason: shownText(event.reason, event.reason.length) } : event;
}

/** Events that do not count against the guard's limit: the runtime's own bookkeeping. */
const bookkeeping: readonly EventType[] = [
  'timer-fired',
  'segment-started',
  'signal-dropped',
  'notification-completed',
  'notification-failed',
];

/** Whether an event does not count against the guard's limit. A store outage of a day must not exhaust the limit either. */
function isBookkeeping(event: RunEvent): boolean {
  const isStoreDown = 'failure' in event && event.failure.code === 'store_unavailable';
  return bookkeeping.includes(event.type) || isStoreDown;
}

/** Whether a run works, rather than waits for a person, a cooldown, or the store. */
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

/**
 * A run that only waits rolls over between events.
 *
 * Contract: timers are still started, since a person's message may still arrive before the segment ends.
 */
function rollOverIfIdle(decided: Step<RunState>, event: RunEvent): Step<RunState> {
  const { state, commands } = decided;
  if (event.rollOverSuggested !== true || isActive(state)) return decided;
  const { type } = state.phase;
  if (type !== 'waiting' && type !== 'running-tools' && type !== 'recovering') return decided;
  // A new segment could not wait for subagents that the previous one started.
  if (callsOf(state).some(({ status }) => status.type === 'delegated')) return decided;
  return { ...decided, commands: [...commands, { type: 'roll-over' }] };
}

/** What each event leads to. An event that does not belong to the current phase changes nothing. */
const handlers = {
  'run-started': (state) => step(state),
  'segment-started': onSegmentStarted,
  'run-prepared': onPrepared,
  'run-preparation-failed': onPreparationFailed,
  'model-call-completed': (state, { callId, result, atMs }) => {
    const calling = callingModel(state);
    return calling?.callId === callId ? reply(state, calling, result, atMs) : step(state);
  },
  'model-call-held-back': onModelCallHeldBack,
  'model-call-failed': onModelCallFailed,
  'compaction-completed': (state, { callId, result, atMs }) => {
    const { phase } = state;
    return phase.type === 'compacting' && phase.callId === callId
      ? onCompacted(state, phase, result, atMs)
      : step(state);
  },
  'compaction-failed': (state, { callId, failure, atMs }) => {
    const { phase } = state;
    return phase.type === 'compacting' && phase.callId === callId
      ? onCompactionFailed(state, phase, failure, atMs)
      : step(state);
  },
  'tool-call-completed': (state, { toolCallId, result, atMs }) => {
    const progress = findCall(state, toolCallId, 'running');
    return progress === undefined
      ? step(state)
      : onToolCallCompleted(state, progress, result, atMs);
  },
  'tool-call-failed': (state, { toolCallId, failure, atMs }) => {
    const progress = findCall(state, toolCallId, 'running');
    return progress === undefined ? step(state) : onToolCallFailed(state, progress, failure, atMs);
  },
  'notification-completed': onNotified,
  'notification-failed': onNotified,
  'recovery-planned': (state, { callId, result, atMs }) => {
    const stage = recoveryStage(state, 'planning');
    return stage?.callId === callId
      ? onRecoveryPlanned(chargePlan(state, callId, { result }), stage, result, atMs)
      : step(state);
  },
  'recovery-plan-failed': (state, { callId, failure, atMs }) => {
    const stage = recoveryStage(state, 'planning');
    return stage?.callId === callId
      ? onRecoveryPlanFailed(chargePlan(state, callId, { failure }), stage, failure, atMs)
      : step(state);
  },
  'subagent-ended': (state, { toolCallId, end, atMs }) =>
    onSubagentEnded(state, toolCallId, end, atMs),
  'timer-fired': onTimerFired,
  'message-added': (state, { text, atMs }) => onMessageAdded(state, text, atMs),
  'approval-resolved': onApproval,
  'question-answered': onAnswer,
  'edit-checked': (state, { callId, result, atMs }) => onEditChecked(state, callId, result, atMs),
  'edit-check-failed': (state, { callId, failure, atMs }) =>
    onEditChecked(state, callId, uncheckable(failure), atMs),
  'signal-dropped': onSignalDropped,
  'escalation-requested': onEscalationRequested,
  'stop-requested': (state, { reason, atMs }) =>
    endAfterLanding(state, { status: 'stopped', reason }, atMs),
  'cancel-requested': (state, { reason, atMs }) =>
    endAfterLanding(state, { status: 'cancelled', reason }, atMs),
} satisfies { readonly [Type in EventType]: Handler<Type> };

/** Results that arrive while the run is ending (it lands): result and cost are kept. Other events are handled as usual. */
const landings = {
  'run-prepared': (state, { result, atMs }) =>
    returned(charge(state, prepareCallId, result.spend ?? noSpend), prepareCallId, atMs),
  'run-preparation-failed': (state, { failure, atMs }) =>
    returned(charge(state, prepareCallId, failure.spend ?? noSpend), prepareCallId, atMs),
  'model-call-completed': (state, { callId, result, atMs }) =>
    land(state, callId, atMs, (before) => keepReply(before, callId, result)),
  'model-call-held-back': (state, { callId, result, atMs }) =>
    land(state, callId, atMs, (before) =>
      takeAppended(charge(before, callId, result.spend ?? noSpend), result.headBefore, 0),
    ),
  'model-call-failed': (state, { callId, failure, atMs }) =>
    land(state, callId, atMs, (before) =>
      chargeFailedCall(before, callId, before.lastRouteIndex ?? 0, failure),
    ),
  'compaction-completed': (state, { callId, result, atMs }) =>
    land(state, callId, atMs, (before) => keepCompaction(before, callId, result)),
  'compaction-failed': landFailure,
  'tool-call-completed': (state, { toolCallId, result, atMs }) =>
    landCall(state, toolCallId, { result }, atMs),
  'tool-call-failed': (state, { toolCallId, failure, atMs }) =>
    landCall(state, toolCallId, { failure }, atMs),
  'recovery-planned': (state, { callId, result, atMs }) =>
    land(state, callId, atMs, (before) => chargePlan(before, callId, { result })),
  'recovery-plan-failed': landFailure,
  'subagent-ended': (state, { toolCallId, end, atMs }) => {
    const landed = awaitedCall(state, toolCallId);
    if (landed?.runId === undefined) return step(state);
    const { call, callId, runId } = landed;
    return andThen(landSubagent(state, { call, callId, runId }, end, atMs), (after) =>
      returned(after, callId, atMs),
    );
  },
  'edit-checked': (state, { callId, atMs }) => returned(state, callId, atMs),
  'edit-check-failed': (state, { callId, atMs }) => returned(state, callId, atMs),
  'escalation-requested': (state) => step(state),
} satisfies { readonly [Type in EventType]?: Handler<Type> };

function handle<Type extends EventType>(state: RunState, event: EventOf<Type>): Step<RunState> {
  const landing: { readonly [Each in EventType]?: Handler<Each> } = landings;
  const table: { readonly [Each in EventType]: Handler<Each> } = handlers;
  const type = event.type;
  const handler: Handler<Type> =
    (state.phase.type === 'ending' ? landing[type] : undefined) ?? table[type];
  return handler(state, event);
}

/** Keeps a late result, if the ending run waits for it. */
function land(
  state: RunState,
  callId: string,
  atMs: number,
  keep: (state: RunState) => RunState,
): Step<RunState> {
  const isAwaited = state.phase.type === 'ending' && state.phase.outstanding.includes(callId);
  return isAwaited ? returned(keep(state), callId, atMs) : step(state);
}

function landFailure(
  state: RunState,
  { callId, failure, atMs }: { callId: string; failure: InfraError; atMs: number },
): Step<RunState> {
  return land(state, callId, atMs, (before) => chargeFailure(before, callId, failure));
}

/** A tool that returns while the run ends is recorded, so that people know what was done. */
function landCall(
  state: RunState,
  toolCallId: string,
  outcome: Parameters<typeof landTool>[2],
  atMs: number,
): Step<RunState> {
  const landed = awaitedCall(state, toolCallId);
  if (landed === undefined) return step(state);
  return returned(landTool(state, landed.call, outcome), landed.callId, atMs);
}

/** Continues where the previous segment ended: begins the next iteration, or restarts the timers of a wait. */
function onSegmentStarted(before: RunState, { atMs }: EventOf<'segment-started'>): Step<RunState> {
  const segments = before.counters.segments + 1;
  const state = count(before, { segments });
  const entry = publish(state, atMs, { type: 'SegmentStartedEvent', segment: segments });
  const { phase } = state;
  if (phase.type === 'ready') return goTo('begin-iteration', state, entry);
  if (phase.type === 'waiting') return step(state, entry, ...waitTimer(phase, atMs));
  const stage = currentStage(state);
  if (stage !== undefined && stage.type !== 'planning')
    return step(state, entry, stageTimer(stage, stage.type, atMs));
  return step(state, entry, ...callsOf(state).flatMap((each) => callTimer(each, atMs)));
}

function onPrepared(state: RunState, { result }: EventOf<'run-prepared'>): Step<RunState> {
  const { snapshot, head, spend = noSpend } = result;
  if (state.phase.type !== 'preparing') return step(state);
  const paid = storeAnswered(charge(state, prepareCallId, spend));
  return goTo('begin-iteration', { ...paid, snapshot, head, phase: { type: 'ready' } });
}

function onPreparationFailed(
  state: RunState,
  { failure, atMs }: EventOf<'run-preparation-failed'>,
): Step<RunState> {
  if (state.phase.type !== 'preparing') return step(state);
  const paid = charge(state, prepareCallId, failure.spend ?? noSpend);
  return andThen(recordInfraError(paid, failure, atMs), (noted) =>
    infraPolicy(failure).action === 'wait-for-store'
      ? waitForStore(noted, failure.message, 'prepare', atMs)
      : failInfra(noted, failure),
  );
}

/** The request was measured, did not fit, and was not sent. */
function onModelCallHeldBack(
  state: RunState,
  { callId, result }: EventOf<'model-call-held-back'>,
): Step<RunState> {
  const calling = callingModel(state);
  if (calling?.callId !== callId) return step(state);
  const charged = charge(state, callId, result.spend ?? noSpend);
  const appended = takeAppended(charged, result.headBefore, calling.sentTexts);
  return goTo('call-model', withContext(appended, { due: result.heldBack, pendingChars: 0 }));
}

/** The model call failed after all its retries: fail over, wait, ask for less, or end the run with the cause. */
function onModelCallFailed(
  before: RunState,
  { callId, failure, atMs }: EventOf<'model-call-failed'>,
): Step<RunState> {
  const calling = callingModel(before);
  if (calling?.callId !== callId) return step(before);
  const { routeIndex } = calling;
  const state = chargeFailedCall(before, callId, routeIndex, failure);
  if (failure.spared === true) return failOver(state, routeIndex, failure, skipsRoute(state), atMs);
  return andThen(recordInfraError(state, failure, atMs), (noted) => {
    // The vendor may have refused the larger limit that the core asked for after a cut reply: ask again with the usual limit.
    if (failure.code === 'format' && noted.next.maxOutputTokens !== undefined)
      return goTo('call-model', { ...noted, next: without(noted.next, 'maxOutputTokens') });
    switch (infraPolicy(failure).action) {
      case 'shrink':
        return onContextOverflow(noted, routeIndex, failure);
      case 'fail-run':
        return failInfra(noted, failure);
      case 'wait-for-store':
        return waitForStore(noted, failure.message, 'call-model', atMs);
      case 'fail-over':
        return failOver(noted, routeIndex, failure, skipsRoute(noted), atMs);
    }
  });
}

function onTimerFired(state: RunState, { timerId, atMs }: EventOf<'timer-fired'>): Step<RunState> {
  const active = takeActiveTimer(state, timerId);
  if (active !== undefined) {
    const { stop } = active;
    if (stop === undefined) return step(active.state);
    const plan = { status: 'failed', reason: stop.message, failureReason: stop.reason } as const;
    return endAfterLanding(active.state, plan, atMs);
  }
  const { phase } = state;
  if (phase.type === 'waiting' && phase.timerId === timerId) {
    const { delayMs, on } = phase;
    const isStore = on === 'store' && delayMs !== undefined;
    return endWait(isStore ? { ...state, storeWaitMs: delayMs } : state, phase, atMs);
  }
  return (
    onDecisionTimer(state, timerId, atMs) ??
    onRecoveryTimer(state, timerId, atMs) ??
    resumePausedCall(state, timerId)
  );
}
