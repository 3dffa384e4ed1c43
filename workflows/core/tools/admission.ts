/** Takes each call of a reply in: it runs at once, waits for a person, or never runs. */
import { toToolResponse } from '../errors/error-context';
import type { AgentError } from '../failure';
import type { PendingResult, ProposedToolCall } from './ports';
import { askUserTool, completeTaskTool } from './ports';
import { newPrivileges } from './privileged-parameters';
import type { RunState, ToolCallProgress } from '../run/state';
import { shownText } from '../people/shown-text';

/** A call with its result; `ran` tells whether the tool really ran, or a person answered. */
export function settle(
  call: ProposedToolCall,
  text: string,
  error: AgentError | undefined,
  ran: boolean,
): ToolCallProgress {
  const pending: PendingResult = {
    toolCallId: call.toolCallId,
    name: call.name,
    text,
    isError: error !== undefined,
    ...(call.editNotice === undefined ? {} : { notice: call.editNotice }),
  };
  return {
    call,
    status: { type: 'settled', pending, ran, ...(error === undefined ? {} : { error }) },
  };
}

/** A call that never ran, and why. */
export function settleWithError(call: ProposedToolCall, error: AgentError): ToolCallProgress {
  return settle(call, toToolResponse(error), error, false);
}

/** `complete_task` beside other calls, or with a message of a person waiting, does not end the run. */
function prematureEnd(call: ProposedToolCall, state: RunState): AgentError {
  const personWaits = state.inbox.length > 0;
  if (!personWaits && state.escalation !== undefined)
    return {
      kind: 'agent',
      code: 'tool_denied',
      message: 'The run did not end, because a person takes it over first.',
      hint: `Read what the person says, then call ${completeTaskTool} again if the task is done.`,
      recoverable: true,
      toolName: call.name,
    };
  return {
    kind: 'agent',
    code: 'tool_denied',
    message: personWaits
      ? 'The run did not end, because a new message of the user had arrived.'
      : 'The run did not end, because other tools were called in the same reply.',
    hint: personWaits
      ? `Read the new message first, then call ${completeTaskTool} again if the task is done.`
      : `Look at the other results first, then call ${completeTaskTool} alone.`,
    recoverable: true,
    toolName: call.name,
  };
}

/** Without a question that fits into the run's state, nobody could answer. */
const unreadableQuestion: AgentError = {
  kind: 'agent',
  code: 'invalid_params',
  message: 'Nobody was asked, because the question is empty or longer than 4 KB.',
  hint: `Call ${askUserTool} with one short question.`,
  recoverable: true,
  toolName: askUserTool,
};

/** Whether a call runs at once, waits for a person, or never runs. */
export function admitCall(call: ProposedToolCall, state: RunState): ToolCallProgress {
  if (call.error !== undefined) return settleWithError(call, call.error);
  if (call.name === completeTaskTool) return settleWithError(call, prematureEnd(call, state));
  if (call.name === askUserTool) {
    const question = call.input?.['question'];
    return typeof question === 'string' && question.trim() !== ''
      ? {
          call,
          status: { type: 'awaiting-answer', question: shownText(question, question.length) },
        }
      : settleWithError(call, unreadableQuestion);
  }
  if (call.approvalDigest !== undefined || newPrivileges(state, call).length > 0)
    return { call, status: { type: 'awaiting-approval' } };
  return { call, status: { type: 'running' } };
}
