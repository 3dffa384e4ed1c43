/** Whether a planned call repeats one that must not be made again. */
import { exactCall } from '../../workflows/core/errors/fingerprint';
import type { AgentErrorCode } from '../../workflows/core/failure';
import type { Message } from '../../workflows/core/message';
import { isError } from '../../workflows/core/recovery/heuristics';
import type { RecoveryAction, StuckContext } from '../../workflows/core/recovery/action';
import type { Tool } from '../tools/tool';

/** Codes of failures that may not come again when the same call is made again. */
const mayPass: ReadonlySet<AgentErrorCode> = new Set([
  'tool_execution_failed',
  'tool_timeout',
  'rate_limit',
  'subagent_failed',
]);

/** Whether a plan may repeat a call that failed. */
export function mayRetry({ failures }: StuckContext): boolean {
  return failures.some(({ code }) => mayPass.has(code));
}

/** Whether the conversation has this call, and it worked. */
function hasWorked(messages: readonly Message[], made: string): boolean {
  const worked = new Set(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? message.results.filter(({ isError }) => !isError).map(({ toolCallId }) => toolCallId)
        : [],
    ),
  );
  return messages.some(
    (message) =>
      message.role === 'assistant' &&
      message.blocks.some(
        (block) =>
          block.type === 'tool-call' && worked.has(block.toolCallId) && exactCall(block) === made,
      ),
  );
}

/**
 * Why a planned call must not be made: the same call failed, and this is no retry of a failure that may pass; it is a retry, but the
 * run is not stuck on a failure; or it changes the world, and the same call has worked. Undefined if it may be made. A planner is a
 * model too, and a small one plans what it sees (ADR 0085, ADR 0090).
 */
export function whyRepeated(
  { strategy, action: { toolName, parameters } }: RecoveryAction,
  { failures, trouble }: StuckContext,
  messages: readonly Message[],
  { effect }: Pick<Tool, 'effect'>,
): string | undefined {
  const made = exactCall({ name: toolName, input: parameters });
  const failed = failures.findLast(({ tool, input }) => exactCall({ name: tool, input }) === made);
  if (failed !== undefined)
    return strategy === 'retry' && mayPass.has(failed.code)
      ? undefined
      : `it repeats a call of ${toolName} that failed with ${failed.code}`;
  if (strategy === 'retry' && !isError(trouble))
    return `it retries ${toolName}, but no failure is what the run is stuck on`;
  return effect !== 'read' && hasWorked(messages, made)
    ? `it repeats a call of ${toolName} that has already worked`
    : undefined;
}
