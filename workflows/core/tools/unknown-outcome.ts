/** Calls whose outcome is unknown: when a person is asked, and with what evidence. */
import { mayHaveTakenEffect } from '../errors/failure-policy';
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import { failureMessageChars } from '../limits';
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { ProposedToolCall, RunToolResult } from './ports';
import type { PhaseSlice } from '../run/phases';
import { callSummary, endsSoon } from './state';
import { shortened } from '../shortened';

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
  if (isOutcomeUnknown !== true || !asks || endsSoon(state)) return undefined;
  return `Did ${callSummary(call)} take effect? ${error?.message ?? ''} Find out, and answer with what the model should know.`;
}

/** What people and models read of a call that may have changed the world; each such line of a report ends with it. */
export const unknownEffect = '; whether it took effect is not known';

/**
 * The error of a call that started and had no result when the run ended: people read it in the report, and the model of a
 * run that continues as the call's result.
 *
 * Contract: of a call that may have taken effect it says so, and never that the call was not run.
 */
export function unsettledError(
  state: SnapshotSlice,
  { name: toolName, answer }: ProposedToolCall,
  why: string,
): AgentError {
  const error = (code: AgentError['code'], message: string, hint: string): AgentError =>
    agentError(code, message, { hint, recoverable: false, toolName });
  if (answer !== undefined)
    return error(
      'subagent_failed',
      `${why}; the subagent had answered in run ${answer.runId}`,
      'Its answer was not read; do not start it again for the same task.',
    );
  if (toolPolicy(state, toolName)?.effect === 'read')
    return error('tool_execution_failed', why, 'Call it again if you still need it.');
  return error(
    'outcome_unknown',
    `${shortened(why, failureMessageChars - unknownEffect.length)}${unknownEffect}`,
    'Find out whether it took effect before you call it again.',
  );
}

/** The report's line about a call of an interrupted reply that failed, or has no result. */
export function interruptedLine(
  state: SnapshotSlice,
  call: ProposedToolCall,
  { code, message }: AgentError,
): string {
  const line = `${callSummary(call)}: ${message}`;
  const isKnown = !mayHaveTakenEffect(code) || toolPolicy(state, call.name)?.effect === 'read';
  return isKnown || line.endsWith(unknownEffect) ? line : `${line}${unknownEffect}`;
}
