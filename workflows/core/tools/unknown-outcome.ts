/** A call of which nobody knows whether it took effect: when a person is asked, and with what evidence. */
import type { AgentErrorCode } from '../failure';
import type { ProposedToolCall, RunToolResult } from './ports';
import { askUserTool } from './ports';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';

/** Errors after which a tool may have done its work all the same. */
const maybeDone: readonly AgentErrorCode[] = ['tool_timeout', 'outcome_unknown'];

/** Whether a call that failed so may have taken effect. */
export function mayHaveTakenEffect(code: AgentErrorCode): boolean {
  return maybeDone.includes(code);
}

/**
 * The question for a person about a call's unknown outcome; undefined where the model is told instead: the tool does not
 * ask, or the run fails anyway.
 *
 * Contract: bounded, since the evidence is a failure's message. Source: DESIGN, Tools and effects; ADR 0023.
 */
export function questionAboutOutcome(
  state: RunState,
  call: ProposedToolCall,
  summary: string,
  { isOutcomeUnknown, error }: RunToolResult,
): string | undefined {
  const policy = state.snapshot?.tools.find((tool) => tool.name === call.name);
  const isDoomed = state.phase.type === 'running-tools' && state.phase.failure !== undefined;
  if (isOutcomeUnknown !== true || policy?.onUnknown !== 'ask-person' || isDoomed) return undefined;
  return `Did ${summary} take effect? ${error?.message ?? ''} Find out, and answer with what the model should know.`;
}

/** What the model reads of a person's answer: to its own question as it is, about an unknown outcome with what it answers. */
export function answerText(call: ProposedToolCall, text: string): string {
  return call.name === askUserTool
    ? text
    : `The call was interrupted, and a person looked into what came of it: ${text}`;
}

/** Line of the report about a call that was stopped with its run: a person must know what may have happened. */
export function stoppedLine(state: RunState, call: ProposedToolCall, summary: string): string {
  const policy = state.snapshot?.tools.find((tool) => tool.name === call.name);
  const isKnown = policy?.effect === 'read' || !hasRules(state, 2);
  return `${summary}: stopped with the run${isKnown ? '' : '; whether it took effect is not known'}`;
}
