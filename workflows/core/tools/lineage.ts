/** Where a call belongs in its tree of runs: what the record of its effect says, and what it is compared with (ADR 0037). */
import { defined } from '../json';
import type { CountersSlice } from '../run/account';
import type { RequestSlice, RunFacts } from '../run/ports';
import type { CallPlace, Lineage, RunToolInput, SentToolCall } from './ports';

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

/** A tool call as history has it; whole where the run's facts are not in the store. */
export function sentToolCall(input: RunToolInput): RunToolInput | SentToolCall {
  const { run, storeId: _store, definition: _definition, idempotencyKey: _key, ...rest } = input;
  if (run === undefined) return input;
  const { lineage, ...call } = rest;
  const iteration = lineage?.iteration ?? 0;
  return { run, ...call, ...(iteration === iterationOf(call.toolCallId) ? {} : { iteration }) };
}

/** Id of the tool call at a place in the reply of an iteration. */
export function toolCallIdOf(
  { idPrefix, iteration }: { readonly idPrefix: string; readonly iteration: number },
  index: number,
): string {
  return `${idPrefix}_${iteration}_${index}`;
}

/** The iteration in the id of a tool call; 0 if it has none. */
function iterationOf(toolCallId: string): number {
  return Number(/_(\d+)_\d+$/.exec(toolCallId)?.[1] ?? 0);
}

/** The whole tool call. */
export function wholeToolCall(
  { iteration, ...call }: SentToolCall,
  { runKey, storeId, definition, ...lineage }: RunFacts,
): RunToolInput {
  const idempotencyKey = `${runKey}/${call.toolCallId}`;
  const made = iteration ?? iterationOf(call.toolCallId);
  return { ...call, storeId, definition, idempotencyKey, lineage: { iteration: made, ...lineage } };
}

/** The calls that lead to the calls of a subagent that this call starts. */
export function callersBelow(
  { request, counters, runKey }: RequestSlice & CountersSlice,
  toolCallId: string,
): readonly CallPlace[] {
  const call = { key: `${runKey}/${toolCallId}`, iteration: counters.iterations };
  return [...(request.parent?.callers ?? []), call];
}
