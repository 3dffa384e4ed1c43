/** The recovery message: what the model reads about the errors of the previous iteration. Sent once, never stored (R-ERR-1). */
import type { AgentError } from '../failure';
import { recoveryInstructions } from '../failure';
import { noteProvenance } from '../model-call/next-request';

/**
 * A message that a tool, a vendor or the model wrote, as one line: so only the runtime can begin a line of the note, and no
 * error can add a hint or an instruction of its own.
 */
function oneLine(message: string): string {
  return message.trim().replace(/(?<!\s)\s*[\r\n\u2028\u2029]\s*/g, ' | ');
}

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
