/** The core: one pure, total, synchronous function that decides everything a run does. */
import { charge, chargeFailure } from '../budget/budget';
import { onCompacted, onCompactionFailed, takeAppended } from '../context/compaction-phase';
import { noSpend } from '../budget/spend';
import type { Compacting } from '../context/state';
import { skipsRoute } from '../context/gate';
import { onContextOverflow } from '../context/overflow';
import { withContext } from '../context/size';
import { infraPolicy } from '../errors/failure-policy';
import {
  askNextProvider,
  failInfra,
  failOver,
  recordInfraError,
} from '../failover/provider-failure';
import { onRefusedDialect } from '../failover/refused-dialect';
import { waitOrFail } from '../failover/wait-or-fail';
import type { InfraError } from '../failure';
import { keepWaitMark } from '../people/wait-mark';
import { countActiveTime, keepActiveTimer, setActive, takeActiveTimer } from '../guard/clock';
import { onGuardrailsChecked } from '../guardrails/guardrails';
import { checkingGuardrails } from '../guardrails/state';
import { onHandedOver, onHandoverFailed } from '../handoff/handoff';
import { handingOver } from '../handoff/state';
import type { ModelCallHeldBack } from '../model-call/ports';
import { chargeHeldBack, lowerOutput } from '../model-call/reply';
import type { CallingModel } from '../model-call/state';
import { chargeFailedCall } from '../model-call/unheard-call';
import { onNotified } from '../notifications/notifications';
import { onDecisionTimer } from '../people/decisions';
import { onEditChecked, uncheckable } from '../people/edit-approval';
import { noteUnread, onMessage, onSignalDropped } from '../people/messages';
import type { Planning } from '../recovery/carry-out';
import { onRecoveryPlanFailed, onRecoveryPlanned, onRecoveryTimer } from '../recovery/carry-out';
import { currentStage, recoveryStage } from '../recovery/state';
import { stageTimer } from '../recovery/waits';
import { goalForPeople, shownGoalOf, shownText } from '../secrets/shown-text';
import { onSubagentEnded } from '../subagents/return';
import { callTimer, onToolCallCompleted, onToolCallFailed, resumePausedCall } from '../tools/calls';
import { callsOf, findCall } from '../tools/state';
import { count } from './account';
import { endOnceIdle } from './ending';
import { onReturned } from './late-results';
import { reply, runLoop } from './loop';
import { onAnswer, onApproval, onEscalationRequested } from './people-input';
import type { RunCommand, RunEvent } from './protocol';
import { prepareCallId } from './protocol';
import type { RunState } from './state';
import { initialSlices } from './state';
import type { Move } from './move';
import { andThen, goTo, publish, stay } from './move';
import { endWait, storeAnswered, waitForStore, waitTimer } from './waiting';

/** A new state and what the shell must do, in order. */
export type Transition = readonly [state: RunState, commands: readonly RunCommand[]];

type EventType = RunEvent['type'];
type EventOf<Type extends EventType> = Extract<RunEvent, { type: Type }>;
type Handler<Type extends EventType> = (state: RunState, event: EventOf<Type>) => Move<RunState>;

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
  const announced = publish({
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
  const marked = keepWaitMark(rolled, event);
  const timed = keepActiveTimer(marked, event, isWorking && rolled.state.phase.type !== 'ending');
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
    case 'handing-over':
    case 'checking-guardrails':
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
function rollOverIfIdle(
  decided: Move<RunState, RunCommand>,
  event: RunEvent,
): Move<RunState, RunCommand> {
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
  'run-started': (state) => stay(state),
  'segment-started': onSegmentStarted,
  'run-prepared': onPrepared,
  'run-preparation-failed': onPreparationFailed,
  'handed-over': (state, { callId, result }) =>
    take(state, handingOver(state, callId), () => onHandedOver(state, callId, result)),
  'handover-failed': (state, { callId, failure, atMs }) =>
    take(state, handingOver(state, callId), () => onHandoverFailed(state, callId, failure, atMs)),
  'guardrails-checked': (state, { callId, result }) =>
    take(state, checkingGuardrails(state, callId), (phase) =>
      onGuardrailsChecked(state, phase, result),
    ),
  'guardrails-failed': (state, { callId, failure, atMs }) =>
    take(state, checkingGuardrails(state, callId), (phase) =>
      waitOrFail(state, failure, partOfStage[phase.stage], atMs),
    ),
  'model-call-completed': (state, { callId, result, atMs }) =>
    take(state, callOfModel(state, callId), (call) => reply(state, call, result, atMs)),
  'model-call-held-back': (state, { callId, result }) =>
    take(state, callOfModel(state, callId), (call) => onModelCallHeldBack(state, call, result)),
  'model-call-failed': (state, { callId, failure, atMs }) =>
    take(state, callOfModel(state, callId), (call) =>
      onModelCallFailed(state, call, failure, atMs),
    ),
  'compaction-completed': (state, { callId, result, atMs }) =>
    take(state, compacting(state, callId), (phase) => onCompacted(state, phase, result, atMs)),
  'compaction-failed': (state, { callId, failure, atMs }) =>
    take(state, compacting(state, callId), (phase) =>
      onCompactionFailed(state, phase, failure, atMs),
    ),
  'tool-call-completed': (state, { toolCallId, result }) =>
    take(state, findCall(state, toolCallId, 'running'), (progress) =>
      onToolCallCompleted(state, progress, result),
    ),
  'tool-call-failed': (state, { toolCallId, failure, atMs }) =>
    take(state, findCall(state, toolCallId, 'running'), (progress) =>
      onToolCallFailed(state, progress, failure, atMs),
    ),
  'notification-completed': onNotified,
  'notification-failed': onNotified,
  'recovery-planned': (state, { callId, result, atMs }) =>
    take(state, planning(state, callId), (stage) =>
      onRecoveryPlanned(charge(state, callId, result.spend ?? noSpend), stage, result, atMs),
    ),
  'recovery-plan-failed': (state, { callId, failure, atMs }) =>
    take(state, planning(state, callId), (stage) =>
      onRecoveryPlanFailed(chargeFailure(state, callId, failure), stage, failure, atMs),
    ),
  'subagent-ended': (state, { toolCallId, end }) => onSubagentEnded(state, toolCallId, end),
  'timer-fired': onTimerFired,
  'message-added': onMessage,
  'approval-resolved': onApproval,
  'question-answered': onAnswer,
  'edit-checked': (state, { callId, result, atMs }) => onEditChecked(state, callId, result, atMs),
  'edit-check-failed': (state, { callId, failure, atMs }) =>
    onEditChecked(state, callId, uncheckable(failure), atMs),
  'signal-dropped': onSignalDropped,
  'escalation-requested': onEscalationRequested,
  'stop-requested': (state, { reason, atMs }) =>
    endOnceIdle(state, { status: 'stopped', reason }, atMs),
  'cancel-requested': (state, { reason, atMs }) =>
    endOnceIdle(state, { status: 'cancelled', reason }, atMs),
} satisfies { readonly [Type in EventType]: Handler<Type> };

/** What is done again after a check that gave no verdict: nothing passes without one. */
const partOfStage = { input: 'check-input', output: 'check-answer' } as const;

/** Takes what the run waits for; nothing changes if it does not wait for it. */
function take<Awaited>(
  state: RunState,
  awaited: Awaited | undefined,
  handler: (awaited: Awaited) => Move<RunState>,
): Move<RunState> {
  return awaited === undefined ? stay(state) : handler(awaited);
}

function callOfModel({ phase }: RunState, callId: string): CallingModel | undefined {
  return phase.type === 'calling-model' && phase.callId === callId ? phase : undefined;
}

function compacting({ phase }: RunState, callId: string): Compacting | undefined {
  return phase.type === 'compacting' && phase.callId === callId ? phase : undefined;
}

function planning(state: RunState, callId: string): Planning | undefined {
  const stage = recoveryStage(state, 'planning');
  return stage?.callId === callId ? stage : undefined;
}

function handle<Type extends EventType>(state: RunState, event: EventOf<Type>): Move<RunState> {
  const table: { readonly [Each in EventType]: Handler<Each> } = handlers;
  const handler: Handler<Type> = table[event.type];
  const { phase } = state;
  const kept = phase.type === 'ending' ? onReturned(state, phase, event) : undefined;
  return kept ?? handler(state, event);
}

/** Continues where the previous segment ended: begins the next iteration, or restarts the timers of a wait. */
function onSegmentStarted(before: RunState, { atMs }: EventOf<'segment-started'>): Move<RunState> {
  const segments = before.counters.segments + 1;
  const state = count(before, { segments });
  const entry = publish({ type: 'SegmentStartedEvent', segment: segments });
  const { phase } = state;
  if (phase.type === 'ready') return goTo('begin-iteration', state, entry);
  if (phase.type === 'waiting') return stay(state, entry, ...waitTimer(phase, atMs));
  const stage = currentStage(state);
  if (stage !== undefined && stage.type !== 'planning')
    return stay(state, entry, stageTimer(stage, atMs));
  return stay(state, entry, ...callsOf(state).flatMap((each) => callTimer(each, atMs)));
}

function onPrepared(state: RunState, { result }: EventOf<'run-prepared'>): Move<RunState> {
  const { snapshot, head, spend = noSpend } = result;
  if (state.phase.type !== 'preparing') return stay(state);
  const paid = storeAnswered(charge(state, prepareCallId, spend));
  // From here on, the definition in the store holds the context.
  const { context: _stored, ...request } = state.request;
  return goTo('check-input', { ...paid, request, snapshot, head, phase: { type: 'ready' } });
}

function onPreparationFailed(
  state: RunState,
  { failure, atMs }: EventOf<'run-preparation-failed'>,
): Move<RunState> {
  if (state.phase.type !== 'preparing') return stay(state);
  const paid = charge(state, prepareCallId, failure.spend ?? noSpend);
  return waitOrFail(paid, failure, 'prepare', atMs);
}

/** The request was measured, did not fit, and was not sent. */
function onModelCallHeldBack(
  state: RunState,
  { callId, sentTexts }: CallingModel,
  result: ModelCallHeldBack,
): Move<RunState> {
  const { headBefore, heldBack } = result;
  const charged = chargeHeldBack(state, callId, result);
  const appended = takeAppended(noteUnread(charged, sentTexts), headBefore, sentTexts);
  return goTo('call-model', withContext(appended, { due: heldBack, pendingChars: 0 }));
}

/** The model call failed after all its retries: fail over, wait, ask for less, or end the run with the cause. */
function onModelCallFailed(
  before: RunState,
  { callId, routeIndex }: CallingModel,
  failure: InfraError,
  atMs: number,
): Move<RunState> {
  const state = chargeFailedCall(before, callId, routeIndex, failure);
  if (failure.spared === true) return failOver(state, routeIndex, failure, skipsRoute(state), atMs);
  return andThen(recordInfraError(state, failure), (noted) => {
    const again = onRefusedDialect(noted, routeIndex, failure);
    if (again !== undefined) return again;
    // The vendor may have refused the larger limit that the core asked for after a cut reply: ask again with the usual limit.
    if (failure.code === 'format' && noted.next.maxOutputTokens !== undefined)
      return goTo('call-model', lowerOutput(noted));
    switch (infraPolicy(failure).action) {
      case 'shrink':
        return onContextOverflow(noted, routeIndex, failure);
      case 'fail-run':
        return failInfra(noted, failure);
      case 'wait-for-store':
        return waitForStore(noted, failure.message, 'call-model', atMs);
      case 'fail-over':
        return failOver(noted, routeIndex, failure, skipsRoute(noted), atMs);
      case 'ask-next-provider':
        return askNextProvider(noted, routeIndex, failure, skipsRoute, atMs);
    }
  });
}

function onTimerFired(state: RunState, { timerId, atMs }: EventOf<'timer-fired'>): Move<RunState> {
  const active = takeActiveTimer(state, timerId);
  if (active !== undefined) {
    const { stop } = active;
    if (stop === undefined) return stay(active.state);
    const plan = { status: 'failed', reason: stop.message, failureReason: stop.reason } as const;
    return endOnceIdle(active.state, plan, atMs);
  }
  const { phase } = state;
  if (phase.type === 'waiting' && phase.timerId === timerId) {
    const { delayMs, on } = phase;
    const isStore = on === 'store' && delayMs !== undefined;
    return endWait(isStore ? { ...state, storeWaitMs: delayMs } : state, phase);
  }
  return (
    onDecisionTimer(state, timerId, atMs) ??
    onRecoveryTimer(state, timerId) ??
    resumePausedCall(state, timerId)
  );
}
