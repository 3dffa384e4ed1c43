/** Calls whose outcome is unknown: when a person is asked, and with what evidence. */
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { ProposedToolCall, RunToolResult } from './ports';
import type { PhaseSlice } from '../run/phases';
import { callSummary, runningTools } from './state';

/**
 * The question to a person about a call's unknown outcome; undefined if the model reads of it instead: the tool does not
 * ask, or the run fails anyway.
 *
 * Contract: bounded, since the evidence is a failure's message. Source: R-TOOL-7, ADR 0023.
 */
export function questionAboutOutcome(
  state: SnapshotSlice & PhaseSlice,
  call: ProposedToolCall,
  { isOutcomeUnknown, error }: RunToolResult,
): string | undefined {
  const asks = toolPolicy(state, call.name)?.onUnknown === 'ask-person';
  const fails = runningTools(state)?.failure !== undefined;
  if (isOutcomeUnknown !== true || !asks || fails) return undefined;
  return `Did ${callSummary(call)} take effect? ${error?.message ?? ''} Find out, and answer with what the model should know.`;
}

/** Line of the report about a call that was stopped with its run: a person must know what may have happened. */
export function stoppedLine(state: SnapshotSlice, call: ProposedToolCall): string {
  const isKnown = toolPolicy(state, call.name)?.effect === 'read';
  return `${callSummary(call)}: stopped with the run${isKnown ? '' : '; whether it took effect is not known'}`;
}
