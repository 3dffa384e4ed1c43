/** Reads results in a transcript: the error of a failed call, and what a person said or decided. */
import type { ToolResultBlock } from '../../workflows/core/message';
import { askUserTool } from '../../workflows/core/tools/ports';
import { objectInText } from '../untrusted/json-in-text';

/** How `checkEdit` begins the result of a call with changed arguments. */
const changedCall = '[Agent runtime: a person changed these arguments';

/** Code and message of a failed call: the line of JSON that its result begins with (`toToolResponse`). */
function errorOf({ isError, content }: ToolResultBlock): Readonly<Record<string, unknown>> {
  const [firstLine = ''] = content.split('\n', 1);
  return isError && firstLine.startsWith('{') ? (objectInText(firstLine) ?? {}) : {};
}

/** Whether the call failed before it could change anything. A call of unknown outcome may have. */
export function hasChangedNothing(result: ToolResultBlock): boolean {
  const { code } = errorOf(result);
  return result.isError && code !== 'tool_timeout' && code !== 'outcome_unknown';
}

/** Whether the whole result is what a person said, so that compaction must keep it. */
export function isPersonsWord(result: ToolResultBlock): boolean {
  return result.isError ? errorOf(result)['code'] === 'tool_denied' : result.name === askUserTool;
}

/** What a person decided about the call; undefined if nobody did. */
export function personsDecision(result: ToolResultBlock): string | undefined {
  const { name, content } = result;
  if (content.startsWith(changedCall)) return `${name}: ${content.split('\n', 1)[0] ?? ''}`;
  const { code, message } = errorOf(result);
  return code === 'tool_denied' && typeof message === 'string' ? `${name}: ${message}` : undefined;
}
