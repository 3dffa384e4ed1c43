/** Hard limits that end a run. Nothing that a model says can change them (R-GUARD). */
import type { CountersSlice } from '../run/account';
import type { FailureReason, Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { ActiveTimeSlice } from './state';

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

function thousands(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3}){1,5}$)/g, ',');
}

/** What a limit is compared with. */
type Counted = CountersSlice & ActiveTimeSlice & SnapshotSlice;

/**
 * A forced stop: its message says what was reached, with the counters.
 *
 * Source: R-GUARD-7.
 */
export function forcedStop(
  { counters, activeMs }: CountersSlice & ActiveTimeSlice,
  reason: FailureReason,
  what: string,
): Stop {
  const message = [
    `Forced stop: ${what}.`,
    `Events processed: ${thousands(counters.events)} | Tool calls: ${thousands(counters.toolCalls)} | Elapsed: ${duration(activeMs)}.`,
    'Please review the work completed so far.',
  ].join('\n');
  return { reason, message };
}

/** Checked before each iteration. Returns why the run must end, or undefined. */
export function guardBeforeIteration(state: Counted): Stop | undefined {
  const { maxIterations } = prepared(state).snapshot.limits;
  if (state.counters.iterations < maxIterations) return guardBeforeCall(state);
  const what = `reached maximum of ${thousands(maxIterations)} iterations; break the task into smaller steps or raise limits.maxIterations`;
  return forcedStop(state, 'max_iterations', what);
}

/** Checked before each model call, since failover and waits make many of one iteration. */
export function guardBeforeCall(state: Counted): Stop | undefined {
  const { maxEvents } = prepared(state).snapshot.limits;
  return state.counters.events >= maxEvents
    ? forcedStop(state, 'guard_events', `reached maximum of ${thousands(maxEvents)} events`)
    : guardActiveTime(state);
}

/** Checked whenever the timer of active time fires, also in the middle of an activity. */
export function guardActiveTime(state: Counted): Stop | undefined {
  const { maxActiveMs } = prepared(state).snapshot.limits;
  if (state.activeMs < maxActiveMs) return undefined;
  const what = `reached maximum of ${duration(maxActiveMs)} of active time`;
  return forcedStop(state, 'guard_active_time', what);
}

/** Checked before a batch of tool calls runs; `callCount` counts those that wait for an approval too. */
export function guardBeforeTools(state: Counted, callCount: number): Stop | undefined {
  const { maxToolCalls } = prepared(state).snapshot.limits;
  if (state.counters.toolCalls + callCount <= maxToolCalls) return undefined;
  const what = `reached maximum of ${thousands(maxToolCalls)} tool invocations`;
  return forcedStop(state, 'guard_tool_calls', what);
}
