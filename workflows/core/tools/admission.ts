/** Decides about each call of a reply: it may start, waits for a person, or never runs. */
import { exactCall } from '../errors/fingerprint';
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import type { GuardSlice } from '../guard/state';
import type { SnapshotSlice } from '../run/ports';
import { hasFlag, toolPolicy } from '../run/ports';
import { newPrivileges } from '../people/new-privileges-after-error';
import type { PeopleSlice } from '../people/state';
import { shownText } from '../secrets/shown-text';
import type { ProposedToolCall } from './ports';
import { askUserTool, completeTaskTool } from './ports';
import type { ToolCallProgress } from './state';
import { settleWithError } from './state';

/** Beside other calls, or while a person waits, `complete_task` does not end the run. */
function prematureEnd({ inbox, escalation }: PeopleSlice): AgentError {
  const didNotEnd = (why: string, first: string): AgentError =>
    agentError('tool_denied', `The run did not end, because ${why}.`, {
      hint: first,
      toolName: completeTaskTool,
    });
  if (inbox.length > 0)
    return didNotEnd(
      'a new message of the user had arrived',
      `Read the new message first, then call ${completeTaskTool} again if the task is done.`,
    );
  return escalation === undefined
    ? didNotEnd(
        'other tools were called in the same reply',
        `Look at the other results first, then call ${completeTaskTool} alone.`,
      )
    : didNotEnd(
        'a person takes it over first',
        `Read what the person says, then call ${completeTaskTool} again if the task is done.`,
      );
}

/** Without a question that fits into the run's state, nobody could answer. */
const unreadableQuestion = agentError(
  'invalid_params',
  'Nobody was asked, because the question is empty or has more than 64 KB of JSON.',
  { hint: `Call ${askUserTool} with one short question.`, toolName: askUserTool },
);

/** A run is handed over once at a time. */
const secondHandoff = ({ name: toolName }: ProposedToolCall): AgentError =>
  agentError('tool_denied', 'The run is handed over by another call of the same reply.', {
    hint: 'Hand the run over to one agent.',
    toolName,
  });

/** A call that changes the world, again as it just worked. */
const repeatedEffect = ({ name: toolName }: ProposedToolCall): AgentError =>
  agentError(
    'tool_denied',
    `${toolName} was not called again: this same call has just worked, and its result is above.`,
    {
      hint: 'If that was all, answer now. If it is needed a second time, make the call once more.',
      toolName,
    },
  );

/**
 * Whether a call repeats the newest one, which worked and changed the world. The model is asked once whether it means it, as a
 * small model makes its last call again instead of answering; if it makes the call once more, this and all later ones run
 * (R-TOOL-14).
 */
function repeatsEffect(call: ProposedToolCall, state: Admitting): boolean {
  const { newestCall, askedAbout = [] } = state.guard;
  const effect = toolPolicy(state, call.name)?.effect;
  const exact = exactCall(call);
  return (
    hasFlag(state, 'asks-again') &&
    effect !== undefined &&
    effect !== 'read' &&
    exact === newestCall &&
    !askedAbout.includes(exact)
  );
}

type Admitting = PeopleSlice & SnapshotSlice & GuardSlice;

/** The first status of each call of a reply. */
export function admitCalls(
  calls: readonly ProposedToolCall[],
  state: Admitting,
): readonly ToolCallProgress[] {
  const handoff = calls.find(
    ({ name, error }) => error === undefined && toolPolicy(state, name)?.handoff !== undefined,
  );
  return calls.map((call) =>
    call !== handoff &&
    call.error === undefined &&
    toolPolicy(state, call.name)?.handoff !== undefined
      ? settleWithError(call, secondHandoff(call))
      : admitCall(call, state),
  );
}

/** The first status of a call. */
function admitCall(call: ProposedToolCall, state: Admitting): ToolCallProgress {
  if (call.error !== undefined) return settleWithError(call, call.error);
  if (call.name === completeTaskTool) return settleWithError(call, prematureEnd(state));
  if (call.name === askUserTool) {
    const question = call.input?.['question'];
    return typeof question === 'string' && question.trim() !== ''
      ? {
          call,
          status: { type: 'awaiting-answer', question: shownText(question, question.length) },
        }
      : settleWithError(call, unreadableQuestion);
  }
  if (repeatsEffect(call, state)) return settleWithError(call, repeatedEffect(call));
  if (call.approvalDigest !== undefined || newPrivileges(state, call).length > 0)
    return { call, status: { type: 'awaiting-approval' } };
  return { call, status: { type: 'ready' } };
}
