/** What tool calls, checks of decisions, and subagents come to. */
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { SubagentEnd } from '../../workflows/core/run/outcome';
import type { UnstampedEvent } from '../../workflows/core/run/protocol';
import type { CommandOf } from './proposals';
import { agentError, priceOf, spend } from './proposals';
import type { World } from './world';
import { learn } from './world';

/** The arguments that people and plans want instead of the model's. */
export const otherInput = { arg: 99 };

/** The file that subagents edit, as the guard knows it. */
const editedFile = shortHash('f1');

export function toolEvent(
  world: World,
  command: CommandOf<'run-tool'>,
  outcome: string,
): UnstampedEvent {
  const { toolCallId, input } = command;
  const result = `blob-${toolCallId}-${outcome}`;
  const { name } = input;
  learn(world, toolCallId, { last: outcome });
  if (outcome === 'unknown') {
    const error = agentError('outcome_unknown', name);
    const text = 'boom outcome_unknown';
    const found = { text, preview: text, bytes: 8, fingerprint: 'u', error };
    return {
      type: 'tool-call-completed',
      toolCallId,
      result: { ...found, isOutcomeUnknown: true },
    };
  }
  learn(world, toolCallId, { result });
  if (outcome === 'err') {
    const error = agentError('tool_execution_failed', name);
    const failed = { result, preview: 'boom', bytes: 8, fingerprint: 'e', error };
    return { type: 'tool-call-completed', toolCallId, result: failed };
  }
  world.succeeded += 1;
  const fingerprint = world.agent.sameResults === true ? 'same' : `r-${toolCallId}`;
  const done = { result, preview: 'fine', bytes: 8, fingerprint };
  return {
    type: 'tool-call-completed',
    toolCallId,
    result: outcome === 'says-failed' ? { ...done, saysFailed: true } : done,
  };
}

export function editEvent(
  world: World,
  command: CommandOf<'check-edit'>,
  outcome: string,
): UnstampedEvent {
  const { callId, input } = command;
  const { toolCallId } = input;
  if (outcome === 'no')
    return { type: 'edit-checked', callId, result: { type: 'refused', problems: 'bad' } };
  const changes = input.input !== undefined;
  const known = world.calls.get(toolCallId);
  const isRejection = input.signed?.decision === 'reject';
  if (isRejection) learn(world, toolCallId, { isRejected: true });
  else learn(world, toolCallId, { approved: { input: changes ? otherInput : { arg: 1 } } });
  if (!changes) return { type: 'edit-checked', callId, result: { type: 'accepted' } };
  const call = {
    label: known?.label ?? toolCallId,
    input: otherInput,
    fingerprint: 'edited',
    approvalDigest: `edited-${toolCallId}`,
    editNotice: 'changed',
    ...(outcome === 'ok-file' ? { editedFile: 'f1' } : {}),
  };
  return { type: 'edit-checked', callId, result: { type: 'accepted', call } };
}

export function subagentEvent(
  world: World,
  command: CommandOf<'run-subagent'>,
  outcome: string,
): UnstampedEvent {
  const { toolCallId, request } = command;
  learn(world, toolCallId, { last: `subagent-${outcome}` });
  return {
    type: 'subagent-ended',
    toolCallId,
    end: subagentEnd(world, toolCallId, request.parent, outcome),
  };
}

function subagentEnd(
  world: World,
  toolCallId: string,
  parent: CommandOf<'run-subagent'>['request']['parent'],
  outcome: string,
): SubagentEnd {
  if (outcome === 'not-started') return { type: outcome, message: 'it runs already' };
  if (parent === undefined || outcome === 'lost') return { type: 'lost', message: 'gone' };
  const { limits, allowance } = parent;
  const startedAtMs = world.calls.get(toolCallId)?.startedAtMs ?? world.nowMs;
  const status = outcome === 'ok' ? 'completed' : outcome === 'failed' ? 'failed' : 'cancelled';
  const used = (left = 0): number => Math.min(1, left);
  return {
    type: 'ended',
    status,
    message: 'it said so',
    worked: ['x'],
    ...(outcome === 'ok' ? { head: 'head-of-subagent' } : {}),
    ...(outcome === 'failed' ? { reason: 'guard_tool_calls' } : {}),
    consumed: {
      spend: spend(world, allowance, 3 * priceOf(world)),
      unpricedCalls: 0,
      toolCalls: Math.min(2, limits.maxToolCalls),
      events: 1,
      activeMs: Math.max(world.nowMs - startedAtMs, 0),
      guard: {
        toolRuns: { a: used(limits.toolCallsLeft['a']) },
        fileEdits: {
          [editedFile]: used(limits.fileEditsLeft[editedFile] ?? limits.maxEditsPerFile),
        },
      },
    },
  };
}

export function cancelledEnd(
  world: World,
  { toolCallId, request }: CommandOf<'run-subagent'>,
): Omit<Extract<SubagentEnd, { type: 'ended' }>, 'type'> {
  learn(world, toolCallId, { last: 'subagent-cancelled' });
  const end = subagentEnd(world, toolCallId, request.parent, 'cancelled');
  if (end.type !== 'ended') throw new Error('a cancelled subagent has ended');
  return end;
}
