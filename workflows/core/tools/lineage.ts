/** Where a call belongs in its tree of runs: what the record of its effect says, and what it is compared with (ADR 0037). */
import { defined } from '../json';
import type { CountersSlice } from '../run/account';
import type { RequestSlice } from '../run/ports';
import type { CallPlace, Lineage } from './ports';

/** The run key in an idempotency key. */
export function runKeyOf(key: string): string {
  return key.slice(0, Math.max(key.lastIndexOf('/'), 0));
}

/** The lineage of the calls that a run makes now. */
export function lineageOf({ request, counters }: RequestSlice & CountersSlice): Lineage {
  const { parent, origins, repeatEffects } = request;
  return {
    iteration: counters.iterations,
    ...defined({ callers: parent?.callers, origins, repeatEffects }),
  };
}

/** The calls that lead to the calls of a subagent that this call starts. */
export function callersBelow(
  { request, counters, runKey }: RequestSlice & CountersSlice,
  toolCallId: string,
): readonly CallPlace[] {
  const call = { key: `${runKey}/${toolCallId}`, iteration: counters.iterations };
  return [...(request.parent?.callers ?? []), call];
}
