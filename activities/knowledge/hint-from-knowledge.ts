/** Adds a hint from tool knowledge to an error; a tool's own hint takes precedence. */
import { literalPattern } from '../../workflows/core/literal-pattern';
import type { AgentError, AgentErrorCode } from '../../workflows/core/failure';
import { failureMessageChars } from '../../workflows/core/limits';
import { shapeOf } from '../tools/value-shape';
import { mentionsOutage, saysServiceFailed } from '../tool-call/outage';
import { isJsonObject } from '../tools/input-schema';
import type { ToolHint, ToolKnowledge } from '../definitions/tool-knowledge';
import { shortened } from '../../workflows/core/shortened';

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

/** The hint if the service behind a tool failed: parameters, which R-TOOL-3 would blame, are seldom the cause. */
const serviceHint =
  'The service behind this tool failed or could not be reached. Unless you chose its address, your parameters are not the cause: try again later, or use another tool.';

/** Whether the service behind the tool failed, and not the call. */
function isServiceFailure({ code, message }: AgentError): boolean {
  if (code === 'rate_limit') return true;
  return code === 'tool_execution_failed' && saysServiceFailed(message);
}

/** What knowledge advises about an error; undefined if it knows nothing to the point. */
export function hintFromKnowledge(
  knowledge: ToolKnowledge,
  tool: string,
  error: AgentError,
  input: unknown,
): string | undefined {
  const known = relevant(knowledge.hints[tool] ?? [], error, input);
  if (known !== undefined && !isServiceFailure(error)) return known.hint;
  const others = knowledge.alternatives[tool] ?? [];
  const isService = serviceCodes.has(error.code) || mentionsOutage(error.message);
  return isService && others.length > 0
    ? `Other tools for the same purpose: ${others.join(', ')}.`
    : undefined;
}

/** The error with a hint from knowledge or about its service, unless it already has a hint. Source: R-TOOL-5. */
export function withKnownHint(
  error: AgentError,
  knowledge: ToolKnowledge | undefined,
  input: unknown,
): AgentError {
  if (error.hint !== undefined || error.toolName === undefined) return error;
  const known = knowledge && hintFromKnowledge(knowledge, error.toolName, error, input);
  const hint = known ?? (isServiceFailure(error) ? serviceHint : undefined);
  return hint === undefined ? error : { ...error, hint: shortened(hint, failureMessageChars) };
}
