/** The clock of active time: counts the time that a run works, and enforces its limit, even in the middle of an activity. */
import { defined, without } from '../json';
import type { CountersSlice } from '../run/account';
import type { Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { RunCommand, RunEvent } from '../run/protocol';
import type { Move } from '../run/move';
import { cancelTimers, stay, withBeforeEnd } from '../run/move';
import { guardActiveTime } from './hard-limits';
import type { ActiveTimer, GuardSlice } from './state';
import { withGuard } from './state';

type Clocked = GuardSlice & SnapshotSlice;

/** Milliseconds that an activity waited in the queue: at most what its work left of the stretch, whatever its machine's clock says. */
function queuedMsOf(event: RunEvent, spentMs: number): number {
  if (!('result' in event) || !('queuedMs' in event.result)) return 0;
  const { queuedMs = 0, tookMs = 0 } = event.result;
  return Math.max(Math.min(queuedMs, spentMs - tookMs), 0);
}

/**
 * Milliseconds of a stretch in which a worker was alive.
 *
 * The timer of active time fires at the limit wherever a worker is alive. An event that comes later than that by more than a
 * heartbeat's timeout shows that none was: of such a stretch only that timeout counts.
 */
function workedMs({ snapshot, activeMs }: Clocked, event: RunEvent, spentMs: number): number {
  if (snapshot === undefined) return spentMs;
  const { maxActiveMs, heartbeatTimeoutMs } = snapshot.limits;
  const countedMs = Math.max(spentMs - queuedMsOf(event, spentMs), 0);
  const isLate = activeMs + countedMs > maxActiveMs + heartbeatTimeoutMs;
  return isLate ? Math.min(countedMs, heartbeatTimeoutMs) : countedMs;
}

/**
 * Counts the time since the last event as active, if the run worked.
 *
 * Contract: waits for a person, a cooldown, or the store do not count, nor does time without a live worker or in the queue.
 */
export function countActiveTime<State extends Clocked>(state: State, event: RunEvent): State {
  if (state.activeSinceMs === undefined) return state;
  const spentMs = Math.max(event.atMs - state.activeSinceMs, 0);
  const activeMs = state.activeMs + workedMs(state, event, spentMs);
  return { ...state, activeMs, activeSinceMs: event.atMs };
}

/**
 * Counts active time that passed beside this run's own clock, up to a reading of it; the timer of the limit starts again with what
 * is left.
 */
export function countActiveUntil<State extends GuardSlice>(
  state: State,
  activeMs: number,
): Move<State> {
  if (activeMs <= state.activeMs) return stay(state);
  const { activeTimer } = state.guard;
  return stay(
    withoutTimer({ ...state, activeMs }),
    ...(activeTimer === undefined ? [] : cancelTimers([activeTimer.timerId])),
  );
}

/** Starts or stops the clock. */
export function setActive<State extends GuardSlice>(
  state: State,
  isActive: boolean,
  atMs: number,
): State {
  return isActive ? { ...state, activeSinceMs: atMs } : without(state, 'activeSinceMs');
}

function withoutTimer<State extends GuardSlice>(state: State): State {
  return { ...state, guard: without(state.guard, 'activeTimer') };
}

function timerCommand({ timerId, atMs }: ActiveTimer, nowMs: number): RunCommand {
  const delayMs = Math.max(atMs - nowMs, 1);
  return { type: 'start-timer', timerId, delayMs, summary: 'limit of active time' };
}

function startTimer<State extends Clocked>(
  { state, commands }: Move<State, RunCommand>,
  nowMs: number,
): Move<State, RunCommand> {
  const leftMs = prepared(state).snapshot.limits.maxActiveMs - state.activeMs;
  const activeTimers = state.guard.activeTimers + 1;
  const activeTimer = { timerId: `active-${activeTimers}`, atMs: nowMs + Math.max(leftMs, 1) };
  return {
    state: withGuard(state, { activeTimer, activeTimers }),
    commands: [...commands, timerCommand(activeTimer, nowMs)],
  };
}

/**
 * Starts the timer of active time where the run works and none runs, and stops it at the end of the run.
 *
 * Contract: none per activity and none per wait. A timer runs on over waits, so that the Web UI has one row for it and not one for
 * each stretch of work; it may fire too soon then, and starts again with what is left. A new segment starts it again.
 */
export function keepActiveTimer<State extends Clocked>(
  decided: Move<State, RunCommand>,
  event: RunEvent,
  wantsTimer: boolean,
): Move<State, RunCommand> {
  const { state, commands } = decided;
  if (state.snapshot === undefined) return decided;
  const { activeTimer } = state.guard;
  if (activeTimer === undefined) return wantsTimer ? startTimer(decided, event.atMs) : decided;
  if (commands.some(({ type }) => type === 'end-run')) {
    const stop = event.type === 'segment-started' ? [] : cancelTimers([activeTimer.timerId]);
    return { state: withoutTimer(state), commands: withBeforeEnd(commands, stop) };
  }
  return event.type === 'segment-started'
    ? { state, commands: [...commands, timerCommand(activeTimer, event.atMs)] }
    : decided;
}

/** Takes a fired timer of active time, and why the run must end, if its time is used up; undefined for any other timer. */
export function takeActiveTimer<State extends Clocked & CountersSlice>(
  state: State,
  timerId: string,
): { readonly state: State; readonly stop?: Stop } | undefined {
  if (state.guard.activeTimer?.timerId !== timerId) return undefined;
  const fired = withoutTimer(state);
  return { state: fired, ...defined({ stop: guardActiveTime(fired) }) };
}
