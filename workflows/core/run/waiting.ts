/** The phase in which a run waits for a provider, the store, or a person: a durable timer, or nothing but a person's answer. */
import { without } from '../json';
import type { PeopleSlice } from '../people/state';
import { escalationQuestionId } from '../people/state';
import type { RunCommand, RunWait } from './protocol';
import type { CountersSlice } from './account';
import { count } from './account';
import type { PhaseSlice, StoreWaitSlice, Waiting } from './phases';
import type { Move, UnstampedCommand } from './move';
import { goTo, labelOf, publish, stay } from './move';

function isWaiting(phase: PhaseSlice['phase']): phase is Waiting {
  return phase.type === 'waiting';
}

/** The phase, if the run waits. */
export function waitingPhase({ phase }: PhaseSlice): Waiting | undefined {
  return isWaiting(phase) ? phase : undefined;
}

function runWait(on: Waiting['on']): RunWait {
  return on === 'person' ? { kind: 'question', id: escalationQuestionId } : { kind: on };
}

/** The timer of a wait; nothing if only a person ends it. */
export function waitTimer(wait: Waiting, atMs: number): readonly RunCommand[] {
  const { timerId, untilMs, on, reason, label = reason } = wait;
  if (timerId === undefined || untilMs === undefined) return [];
  const summary = labelOf(`${on}: ${label}`);
  return [{ type: 'start-timer', timerId, delayMs: Math.max(untilMs - atMs, 1), summary }];
}

/** Starts a durable wait that a timer ends. */
export function startWait<State extends PhaseSlice & CountersSlice>(
  state: State,
  atMs: number,
  wait: Pick<Waiting, 'reason' | 'label' | 'then'> & {
    readonly on: 'provider' | 'store';
    readonly delayMs: number;
  },
): Move<State> {
  const timers = state.counters.timers + 1;
  const phase: Waiting = {
    type: 'waiting',
    ...wait,
    timerId: `${wait.on}-${timers}`,
    untilMs: atMs + wait.delayMs,
    sinceMs: atMs,
  };
  const waiting = count({ ...state, phase }, { timers });
  return stay(
    waiting,
    publish({
      type: 'WaitStartedEvent',
      waitingFor: `${wait.on}: ${wait.reason}`,
      wait: runWait(wait.on),
    }),
    ...waitTimer(phase, atMs),
  );
}

/** Hands the run over to a person, and waits durably for the answer. */
export function waitForPerson<
  State extends PhaseSlice & CountersSlice & Pick<PeopleSlice, 'escalation'>,
>(state: State, reason: string, atMs: number): Move<State> {
  const phase: Waiting = {
    type: 'waiting',
    on: 'person',
    reason,
    sinceMs: atMs,
    // An iteration that was under way goes on: it may be the last one.
    then: waitingPhase(state)?.then ?? 'begin-iteration',
  };
  const waiting = { ...without(state, 'escalation'), phase };
  const [waitingFor, wait] = [`person: ${reason}`, runWait('person')];
  return stay(waiting, publish({ type: 'WaitStartedEvent', waitingFor, wait }));
}

/** Milliseconds of the first wait for a store, doubled each time up to the longest one (ADR 0008). */
const firstStoreWaitMs = 2_000;
const longestStoreWaitMs = 60_000;

/** Milliseconds of the store wait that follows one of `beforeMs` that did not help. */
export function nextStoreWaitMs(beforeMs: number | undefined): number {
  return beforeMs === undefined ? firstStoreWaitMs : Math.min(beforeMs * 2, longestStoreWaitMs);
}

/** Waits for the store; then the loop continues with a part of it. */
export function waitForStore<State extends PhaseSlice & CountersSlice & StoreWaitSlice>(
  state: State,
  reason: string,
  then: Waiting['then'],
  atMs: number,
): Move<State> {
  const delayMs = nextStoreWaitMs(state.storeWaitMs);
  return startWait(state, atMs, { on: 'store', reason, delayMs, then });
}

/** The state once the store has answered. */
export function storeAnswered<State extends StoreWaitSlice>(state: State): State {
  return without(state, 'storeWaitMs');
}

/** The timeline's entry about a wait that ends. */
export function waitEnd({ on, reason }: Waiting): UnstampedCommand {
  return publish({ type: 'WaitEndedEvent', waitedFor: `${on}: ${reason}`, wait: runWait(on) });
}

/** Ends a wait, and continues with what it was for. */
export function endWait<State extends PhaseSlice & CountersSlice>(
  state: State,
  wait: Waiting,
): Move<State> {
  // What follows must not take this wait for one of its own.
  return goTo(wait.then, { ...state, phase: { type: 'ready' } }, waitEnd(wait));
}
