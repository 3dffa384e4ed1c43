/** Keeps the limit of active time also in the middle of an activity: one durable timer, armed while the run works. */
import { endAfterLanding } from './ending';
import { hasRules } from '../rules';
import type { RunCommand, RunEvent } from './protocol';
import type { RunState } from './state';
import { guardActiveTime } from '../guard/limits-reached';
import type { Step } from './step';
import { step } from './step';

function withoutTimer(state: RunState): RunState {
  const { activeTimer: _gone, ...guard } = state.guard;
  return { ...state, guard };
}

function arm({ state, commands }: Step): Step {
  const maxActiveMs = state.snapshot?.limits.maxActiveMs ?? 0;
  const activeTimers = state.guard.activeTimers + 1;
  const activeTimer = `active-${activeTimers}`;
  const armed = { ...state, guard: { ...state.guard, activeTimer, activeTimers } };
  const start: RunCommand = {
    type: 'start-timer',
    timerId: activeTimer,
    delayMs: Math.max(maxActiveMs - state.activeMs, 1),
    summary: 'limit of active time',
  };
  return { state: armed, commands: [...commands, start] };
}

/** Cancels the timer before whatever ends the segment or the run. */
function disarm({ state, commands }: Step, timerId: string): Step {
  const last = commands.findIndex(({ type }) => type === 'end-run' || type === 'roll-over');
  const place = last < 0 ? commands.length : last;
  const cancel: RunCommand = { type: 'cancel-timer', timerId };
  return {
    state: withoutTimer(state),
    commands: [...commands.slice(0, place), cancel, ...commands.slice(place)],
  };
}

/**
 * Arms the timer where the run begins to work, and cancels it where it stops to.
 *
 * Contract: two events per stretch of work and none per activity; a timer of an earlier segment is gone with it.
 * Replay: adds commands, for runs under rules 2 only.
 */
export function keepActiveTimer(decided: Step, event: RunEvent, isActive: boolean): Step {
  if (!hasRules(decided.state, 2)) return decided;
  const isNewSegment = event.type === 'segment-started';
  const current = isNewSegment ? { ...decided, state: withoutTimer(decided.state) } : decided;
  const { activeTimer } = current.state.guard;
  const wants = isActive && current.state.phase.type !== 'ending';
  if (wants && activeTimer === undefined) return arm(current);
  if (!wants && activeTimer !== undefined) return disarm(current, activeTimer);
  return current;
}

/**
 * Answers `timer-fired` of the active timer: ends the run if its time is used up, what is in flight landing first. Undefined for
 * any other timer.
 */
export function onActiveTimer(state: RunState, timerId: string, atMs: number): Step | undefined {
  if (state.guard.activeTimer !== timerId) return undefined;
  const fired = withoutTimer(state);
  const { snapshot, counters, activeMs } = fired;
  if (snapshot === undefined) return step(fired);
  const stop = guardActiveTime(snapshot.limits, counters, activeMs);
  if (stop === undefined) return step(fired);
  return endAfterLanding(
    fired,
    { status: 'failed', reason: stop.message, failureReason: stop.reason },
    atMs,
  );
}
