/** The recovery message: what the model reads about the errors of the iteration before. Sent once, never stored (R-ERR-1). */
import type { AgentError, AgentErrorCode } from '../failure';
import { noteProvenance } from '../model-call/next-request';

/**
 * A message that a tool, a vendor or the model wrote, as one line: so only the runtime can begin a line of the note, and no
 * error can add a hint or an instruction of its own.
 */
function oneLine(message: string): string {
  return message.trim().replace(/\s*[\r\n\u2028\u2029]\s*/g, ' | ');
}

/**
 * What the recovery message tells the model to do about each agent error.
 *
 * Source: R-ERR-3 fixes four of them; the others follow their form. `{tools}` is replaced by the tools' names.
 */
export const recoveryInstructions = {
  no_tool_call: 'You must provide a tool call in your response.',
  empty_reply: 'Your reply was empty. Answer, or call a tool.',
  invalid_json: 'Ensure your tool call JSON is properly formatted.',
  missing_tool_name:
    'Name the tool in the field "tool_name". Use one of the available tools: [{tools}]',
  invalid_tool: 'Use one of the available tools: [{tools}]',
  invalid_params: 'Correct the parameters so that they fit the schema of the tool.',
  tool_execution_failed: 'The error was: {message}',
  tool_timeout: 'The error was: {message}',
  rate_limit: 'The error was: {message}',
  auth_failed: 'The error was: {message}',
  tool_denied: 'The error was: {message}',
  outcome_unknown: 'The error was: {message}',
  output_truncated:
    'Your reply was cut off at the output token limit, so nothing of it was run. Write less at once, in smaller parts.',
  subagent_failed: 'The error was: {message}',
} as const satisfies Record<AgentErrorCode, string>;

function instruction(error: AgentError, toolNames: readonly string[]): string {
  return recoveryInstructions[error.code]
    .replace('{tools}', () => toolNames.join(', '))
    .replace('{message}', () => oneLine(error.message));
}

/** Characters of a tool's name: what vendors accept. The name of an unknown tool is the model's own invention. */
const toolNameChars = 64;

/** A tool's name as errors show it, bounded. */
export function shownToolName(name: string): string {
  return name.slice(0, toolNameChars);
}

function detail(error: AgentError): string {
  const { toolName } = error;
  const message = oneLine(error.message);
  return toolName === undefined ? message : `${oneLine(shownToolName(toolName))}: ${message}`;
}

function unique(lines: readonly string[]): readonly string[] {
  return [...new Set(lines)];
}

/**
 * Builds the recovery message for the errors of one iteration.
 *
 * Contract: `errors` is not empty; messages are already sanitized; hints come from trusted code only.
 * Source: R-ERR-2, R-ERR-3, R-ERR-4.
 */
export function buildErrorRecoveryMessage(
  errors: readonly AgentError[],
  toolNames: readonly string[],
): string {
  const details = unique(errors.map(detail));
  const instructions = unique(errors.map((error) => instruction(error, toolNames)));
  const hints = unique(errors.flatMap((error) => (error.hint === undefined ? [] : [error.hint])));
  return [
    noteProvenance,
    'The previous iteration failed with the following error:',
    '',
    details.join('\n'),
    '',
    'Please analyze what went wrong and try a different approach.',
    ...instructions,
    ...hints.map((hint) => `Hint: ${hint}`),
  ].join('\n');
}
