/** Hard limits that end a run. Nothing that a model says can change them (R-GUARD). */
import type { Limits } from '../limits';
import type { RunCounters } from '../run/account';
import type { FailureReason, Stop } from '../run/outcome';

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/**
 * The message of a forced stop, with its counters.
 *
 * Source: R-GUARD-7.
 */
export function forcedStopMessage(what: string, counters: RunCounters, activeMs: number): string {
  return [
    `Forced stop: ${what}.`,
    `Events processed: ${thousands(counters.events)} | Tool calls: ${thousands(counters.toolCalls)} | Elapsed: ${duration(activeMs)}.`,
    'Please review the work completed so far.',
  ].join('\n');
}

/** Checked before each iteration. Returns why the run must end, or undefined. */
export function guardBeforeIteration(
  limits: Limits,
  counters: RunCounters,
  activeMs: number,
): Stop | undefined {
  if (counters.iterations < limits.maxIterations)
    return guardBeforeCall(limits, counters, activeMs);
  const what = `reached maximum of ${thousands(limits.maxIterations)} iterations; break the task into smaller steps or raise limits.maxIterations`;
  return { reason: 'max_iterations', message: forcedStopMessage(what, counters, activeMs) };
}

/** Checked before each model call, since failover and waits make many of one iteration. */
export function guardBeforeCall(
  limits: Limits,
  counters: RunCounters,
  activeMs: number,
): Stop | undefined {
  const stop = (reason: FailureReason, what: string): Stop => ({
    reason,
    message: forcedStopMessage(what, counters, activeMs),
  });
  if (counters.events >= limits.maxEvents)
    return stop('guard_events', `reached maximum of ${thousands(limits.maxEvents)} events`);
  return guardActiveTime(limits, counters, activeMs);
}

/** Checked whenever the timer of active time fires, also in the middle of an activity. */
export function guardActiveTime(
  limits: Limits,
  counters: RunCounters,
  activeMs: number,
): Stop | undefined {
  if (activeMs < limits.maxActiveMs) return undefined;
  const what = `reached maximum of ${duration(limits.maxActiveMs)} of active time`;
  return { reason: 'guard_active_time', message: forcedStopMessage(what, counters, activeMs) };
}

/** Checked before a batch of tool calls runs; `callCount` counts those that wait for an approval too. */
export function guardBeforeTools(
  limits: Limits,
  counters: RunCounters,
  activeMs: number,
  callCount: number,
): Stop | undefined {
  if (counters.toolCalls + callCount <= limits.maxToolCalls) return undefined;
  return {
    reason: 'guard_tool_calls',
    message: forcedStopMessage(
      `reached maximum of ${thousands(limits.maxToolCalls)} tool invocations`,
      counters,
      activeMs,
    ),
  };
}
