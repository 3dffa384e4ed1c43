/** Results that hold a person's word: answers to questions, calls that nobody approved, arguments that somebody changed. */
import type { ToolResultBlock } from '../../workflows/core/message';
import { askUserTool } from '../../workflows/core/tools/ports';
import { objectInText } from '../untrusted/json-in-text';

/** How the core begins the result of a call that a person, or nobody in time, approved (`toToolResponse`). */
const deniedCall = '{"error":true,"code":"tool_denied"';
/** How `checkEdit` begins the result of a call with changed arguments. */
const changedCall = '[Agent runtime: a person changed these arguments';

/** Whether the whole result is a person's word, so that no compaction may put it away. */
export function isPersonsWord({ name, content, isError }: ToolResultBlock): boolean {
  return isError ? content.startsWith(deniedCall) : name === askUserTool;
}

/** What a person decided about the call; undefined where nobody did. */
export function personsDecision({ name, content, isError }: ToolResultBlock): string | undefined {
  if (content.startsWith(changedCall)) return `${name}: ${content.split('\n', 1)[0] ?? ''}`;
  if (!isError || !content.startsWith(deniedCall)) return undefined;
  const message = objectInText(content)?.['message'];
  return typeof message === 'string' ? `${name}: ${message}` : undefined;
}
