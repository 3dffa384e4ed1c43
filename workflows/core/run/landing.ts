/** A tool that comes back while the run ends: people read what was done, and a run that goes on finds what it gave. */
import { callSummary } from '../tools/call-summary';
import type { InfraError } from '../failure';
import type { ProposedToolCall, RunToolResult } from '../tools/ports';
import type { RunState } from './state';
import { appendLine, count } from './step';
import { pendingResult } from '../tools/phase';
import { stoppedLine } from '../tools/unknown-outcome';

/** Keeps a result for whoever goes on with the transcript. */
function kept(state: RunState, call: ProposedToolCall, result: RunToolResult): RunState {
  const { next } = state;
  const pendingResults = [...next.pendingResults, pendingResult(call, result)];
  return { ...state, next: { ...next, pendingResults } };
}

/** Reports a call that has landed, and keeps its result, if it gave one. */
export function landTool(
  state: RunState,
  call: ProposedToolCall,
  came: { readonly result: RunToolResult } | { readonly failure: InfraError },
): RunState {
  const summary = callSummary(call);
  const landed = 'result' in came ? kept(state, call, came.result) : state;
  if ('result' in came && came.result.error === undefined)
    return count(
      { ...landed, worked: appendLine(landed.worked, summary) },
      { toolCallsSucceeded: landed.counters.toolCallsSucceeded + 1 },
    );
  return count(
    {
      ...landed,
      didNotWork: appendLine(landed.didNotWork, stoppedLine(landed, call, summary)),
    },
    { toolCallsFailed: landed.counters.toolCallsFailed + 1 },
  );
}
