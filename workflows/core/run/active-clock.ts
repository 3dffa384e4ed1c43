/** The clock of active time: what of a stretch between two events the run worked, rather than waited for a worker to be there. */
import { hasRules } from '../rules';
import type { RunEvent } from './protocol';
import type { RunState } from './state';

function queuedMsOf(event: RunEvent): number {
  return 'result' in event && 'queuedMs' in event.result ? (event.result.queuedMs ?? 0) : 0;
}

/**
 * Milliseconds of a stretch in which workers lived.
 *
 * The timer of active time fires at the limit wherever a worker lives. An event that comes later than that by more than a
 * heartbeat's timeout says that none did: of such a stretch no more counts than a dead worker's heartbeat takes to be missed.
 */
function workedMs(state: RunState, event: RunEvent, spentMs: number): number {
  const { snapshot, activeMs } = state;
  if (snapshot === undefined || !hasRules(state, 3)) return spentMs;
  const { maxActiveMs, heartbeatTimeoutMs } = snapshot.limits;
  const countedMs = Math.max(spentMs - queuedMsOf(event), 0);
  const isLate = activeMs + countedMs > maxActiveMs + heartbeatTimeoutMs;
  return isLate ? Math.min(countedMs, heartbeatTimeoutMs) : countedMs;
}

/**
 * Counts the time since the last event as active, if the run was at work.
 *
 * Contract: a wait for a person, a cooldown or the store is none of the run's time, and under rules 3 neither is the time in
 * which no worker lived or an activity stood in the queue.
 */
export function clockActive(state: RunState, event: RunEvent): RunState {
  if (state.activeSinceMs === undefined) return state;
  const spentMs = Math.max(event.atMs - state.activeSinceMs, 0);
  const activeMs = state.activeMs + workedMs(state, event, spentMs);
  return { ...state, activeMs, activeSinceMs: event.atMs };
}
