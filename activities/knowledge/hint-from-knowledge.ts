/** Adds a hint from tool knowledge to an error; a tool's own hint takes precedence. */
import { literalPattern } from '../../workflows/core/literal-pattern';
import type { AgentError, AgentErrorCode } from '../../workflows/core/failure';
import { failureMessageChars } from '../../workflows/core/limits';
import { shapeOf } from '../tools/value-shape';
import { mentionsOutage } from '../tool-call/outage';
import { isJsonObject } from '../tools/input-schema';
import type { ToolHint, ToolKnowledge } from '../definitions/tool-knowledge';

/** How tools say that something was not found. */
const notFound =
  /ENOENT|no such file|not found|does(?: not|n't) exist|(?:cannot|could not) find|unknown file|\b404\b/i;

const serviceCodes: ReadonlySet<AgentErrorCode> = new Set([
  'tool_timeout',
  'rate_limit',
  'auth_failed',
]);

const partialPaths: ReadonlySet<string> = new Set([
  'bare file name',
  'path with line',
  'absolute path',
]);

function given(input: unknown, parameter: string | undefined): string {
  if (parameter === undefined || !isJsonObject(input)) return 'absent';
  return shapeOf(input[parameter]);
}

function isMentioned({ parameter }: ToolHint, message: string): boolean {
  if (parameter === undefined) return false;
  return new RegExp(`(?<![\\w-])${literalPattern(parameter)}(?![\\w-])`, 'i').test(message);
}

function relevant(
  hints: readonly ToolHint[],
  { message }: AgentError,
  input: unknown,
): ToolHint | undefined {
  if (notFound.test(message)) {
    const path = hints.find(
      (hint) => hint.mistake === 'wrong-path' && partialPaths.has(given(input, hint.parameter)),
    );
    if (path !== undefined) return path;
  }
  return hints.find((hint) => hint.mistake !== 'wrong-path' && isMentioned(hint, message));
}

/** What knowledge advises about an error; undefined if it knows nothing to the point. */
export function hintFromKnowledge(
  knowledge: ToolKnowledge,
  tool: string,
  error: AgentError,
  input: unknown,
): string | undefined {
  const known = relevant(knowledge.hints[tool] ?? [], error, input);
  if (known !== undefined) return known.hint;
  const others = knowledge.alternatives[tool] ?? [];
  const isService = serviceCodes.has(error.code) || mentionsOutage(error.message);
  return isService && others.length > 0
    ? `Other tools for the same purpose: ${others.join(', ')}.`
    : undefined;
}

/** The error with a hint from knowledge, unless it has its own. */
export function withKnownHint(
  error: AgentError,
  knowledge: ToolKnowledge | undefined,
  input: unknown,
): AgentError {
  if (knowledge === undefined || error.hint !== undefined || error.toolName === undefined)
    return error;
  const hint = hintFromKnowledge(knowledge, error.toolName, error, input);
  return hint === undefined ? error : { ...error, hint: hint.slice(0, failureMessageChars) };
}
