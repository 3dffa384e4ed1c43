/** Planned calls that were made before: one that failed for good, and one that has done its work. */
import type { JsonObject } from '../../workflows/core/json';
import type { Message } from '../../workflows/core/message';
import type { RecoveryAction, StuckContext } from '../../workflows/core/recovery/action';
import { canonicalJson } from '../stores/content-hash';
import type { Tool } from '../tools/tool';

/** Codes of failures that the same call may not meet again. */
const mayPass: ReadonlySet<string> = new Set([
  'tool_execution_failed',
  'tool_timeout',
  'rate_limit',
  'subagent_failed',
]);

/** Whether the conversation has a call of this tool with this input that worked. */
function hasWorked(messages: readonly Message[], name: string, made: string): boolean {
  const ids = new Set(
    messages.flatMap((message) =>
      message.role !== 'assistant'
        ? []
        : message.blocks.flatMap((block) =>
            block.type === 'tool-call' && block.name === name && canonicalJson(block.input) === made
              ? [block.toolCallId]
              : [],
          ),
    ),
  );
  return messages.some(
    (message) =>
      message.role === 'tool' &&
      message.results.some(({ toolCallId, isError }) => ids.has(toolCallId) && !isError),
  );
}

/**
 * Why a planned call must not be made: the same call failed, and it is no retry of a failure that may pass; or it changes the
 * world, and the same call has worked. Undefined if it may be made. A planner is a model too, and a small one plans what it sees
 * (ADR 0085).
 */
export function whyRepeated(
  { strategy, action: { toolName, parameters } }: RecoveryAction,
  { failures }: StuckContext,
  messages: readonly Message[],
  { effect }: Pick<Tool, 'effect'>,
): string | undefined {
  const asText = (input: JsonObject | undefined): string => canonicalJson(input ?? {});
  const made = asText(parameters);
  const failed = failures.findLast(
    ({ tool, input }) => tool === toolName && input !== undefined && asText(input) === made,
  );
  if (failed !== undefined)
    return strategy === 'retry' && mayPass.has(failed.code)
      ? undefined
      : `it repeats a call of ${toolName} that failed with ${failed.code}`;
  return effect !== 'read' && hasWorked(messages, toolName, made)
    ? `it repeats a call of ${toolName} that has already worked`
    : undefined;
}
