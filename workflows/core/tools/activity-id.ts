/** Activity ids of tool calls: the iteration, and the call's place in its reply. */
import { maxCallsPerReply } from '../limits';
import type { RunPhase, RunState } from '../run/state';

/** Short activity id of a tool call: its iteration and its place in the reply. */
export function toolCallActivityId(iteration: number, index: number): string {
  return `t${iteration}.${index}`;
}

/** Place of a call in its activity's id: the runtime's own call stands behind all that a reply may ask for. */
export function activityIndex(phase: RunPhase, index: number): number {
  const isOwn = phase.type === 'running-tools' && phase.recovery !== undefined;
  return isOwn ? maxCallsPerReply + 1 + index : index;
}

/** Activity id of a call by its place in the phase. */
export function activityIdAt(state: RunState, index: number): string {
  return toolCallActivityId(state.counters.iterations, activityIndex(state.phase, index));
}
