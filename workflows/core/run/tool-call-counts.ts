/** Counts the results of tool calls and publishes them. */
import type { AgentError } from '../failure';
import { previewChars } from '../limits';
import type { AccountSlice, CountersSlice } from './account';
import { addSuccess, countFailure } from './account';
import type { Move } from './move';
import { publish, stay } from './move';
import type { ProposedToolCall } from '../tools/ports';
import { callSummary } from '../tools/state';

/** Counts and publishes a call's success. */
export function noteSuccess<State extends AccountSlice>(
  state: State,
  call: ProposedToolCall,
  preview: string,
): Move<State> {
  const summary = callSummary(call);
  const noted = addSuccess(state, summary);
  return stay(
    noted,
    publish({
      type: 'ToolCallSucceededEvent',
      toolCallId: call.toolCallId,
      summary,
      preview: preview.slice(0, previewChars),
    }),
  );
}

/** Counts and publishes a call's failure. */
export function noteFailure<State extends CountersSlice>(
  state: State,
  { toolCallId }: ProposedToolCall,
  error: AgentError,
): Move<State> {
  const noted = countFailure(state);
  return stay(noted, publish({ type: 'ToolResultErrorEvent', toolCallId, error }));
}
