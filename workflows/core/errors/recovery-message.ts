/** The recovery message: what the model reads about the errors of the previous iteration. Sent once, never stored (R-ERR-1). */
import type { AgentError } from '../failure';
import { recoveryInstructions } from '../failure';
import { noteProvenance } from '../model-call/next-request';
import { fencedError, inertLine, inertTags } from '../secrets/inert-tags';

/** Characters of a tool's name: what vendors accept. The name of an unknown tool is the model's own invention. */
const toolNameChars = 64;

/** A tool's name as errors show it, bounded. */
export function shownToolName(name: string): string {
  return name.slice(0, toolNameChars);
}

/** Codes whose message is the runtime's own. */
const ownWords: ReadonlySet<AgentError['code']> = new Set([
  'no_tool_call',
  'empty_reply',
  'missing_tool_name',
  'output_truncated',
  'guardrail',
  'premature_answer',
]);

/** Whether the instruction of a code repeats its message. */
function isInInstruction({ code }: AgentError): boolean {
  return recoveryInstructions[code].includes('{message}');
}

/** An error where it is not told by its instruction: what others said is fenced, and stands once. */
function detail(error: AgentError): string {
  const { toolName, code, message } = error;
  const tool = toolName === undefined ? '' : `${inertLine(shownToolName(toolName))}: `;
  if (isInInstruction(error)) return `${tool}${code}`;
  return ownWords.has(code) ? `${tool}${inertLine(message)}` : fencedError(`${tool}${message}`);
}

function instruction(error: AgentError, toolNames: readonly string[]): string {
  const { code, message, toolName } = error;
  const text = recoveryInstructions[code]
    .replace('{tools}', () => toolNames.join(', '))
    .replace('{message}', () => message);
  return isInInstruction(error)
    ? fencedError(text, toolName === undefined ? undefined : shownToolName(toolName))
    : text;
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

/** Names the tool to call again, unless the error is repeating. Defers to a hint, which may ask for another tool (ADR 0090). */
function nextCall(
  { code, toolName, recoverable, hint }: AgentError,
  toolNames: readonly string[],
  times: number,
): readonly string[] {
  if (toolName === undefined || times > 1 || !recoverable) return [];
  if (!correctable.has(code) || !toolNames.includes(toolName)) return [];
  return hint === undefined
    ? [`Call ${toolName} again with the corrected parameters.`]
    : [
        `If the hint asks for another call, make that call. Otherwise call ${toolName} again with the corrected parameters.`,
      ];
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
  const quoted = calls.length === 0 ? '' : ` You called: ${calls.map(inertLine).join('; ')}`;
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
    ...hints.map((hint) => `Hint: ${inertTags(hint)}`),
    ...repeated(repetition, isAboutCall ? 'call' : 'reply'),
    ...unique(errors.flatMap((error) => nextCall(error, toolNames, repetition.times))),
  ].join('\n');
}
