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

/** Codes after which the same tool may work with other parameters. */
const correctable: ReadonlySet<AgentError['code']> = new Set([
  'invalid_json',
  'invalid_params',
  'tool_execution_failed',
]);

/** Names the tool to call, so that a small model does not call another one. */
function nextCall(
  { code, toolName, recoverable }: AgentError,
  toolNames: readonly string[],
): readonly string[] {
  return toolName !== undefined &&
    recoverable &&
    correctable.has(code) &&
    toolNames.includes(toolName)
    ? [`Call ${toolName} again with the corrected parameters.`]
    : [];
}

/** `2nd time`. */
export function nthTime(count: number): string {
  const ends = ['th', 'st', 'nd', 'rd'];
  const isTeen = count % 100 > 10 && count % 100 < 14;
  return `${count}${(isTeen ? undefined : ends[count % 10]) ?? 'th'} time`;
}

/** What makes the message of a repeated error different: an equal request would get an equal reply. */
export interface Repetition {
  /** How often the error came in a row. */
  readonly times: number;
  /** Calls that were refused, in the model's own words: they are not in the transcript. */
  readonly calls: readonly string[];
}

function repeated({ times, calls }: Repetition, what: 'call' | 'reply'): readonly string[] {
  if (times < 2) return [];
  const quoted = calls.length === 0 ? '' : ` You called: ${calls.map(oneLine).join('; ')}`;
  return [
    `This error came for the ${nthTime(times)} in a row; the same ${what} will fail again.${quoted}`,
  ];
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
  repetition: Repetition = { times: 1, calls: [] },
): string {
  const details = unique(errors.map(detail));
  const instructions = unique(errors.map((error) => instruction(error, toolNames)));
  const isAboutCall = errors.some(({ toolName }) => toolName !== undefined);
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
    ...repeated(repetition, isAboutCall ? 'call' : 'reply'),
    ...unique(errors.flatMap((error) => nextCall(error, toolNames))),
  ].join('\n');
}
