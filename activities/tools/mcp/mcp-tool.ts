/** One tool of an MCP server, as agents use it. */
import type { JsonObject } from '../../../workflows/core/json';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import { sanitizeText } from '../../untrusted/sanitizer';
import { defaultCallCaps } from '../default-call-caps';
import { inputNamesOf } from '../define-tool';
import { editedFileField } from '../edits-file';
import type { InputCheck } from '../input-problems';
import { inputCheck, parametersHint, problemTexts } from '../input-problems';
import {
  hasReferences,
  inputSchemaFromJson,
  isJsonObject,
  withoutReferences,
} from '../input-schema';
import { OutputWithMedia } from '../output-with-media';
import { privilegedFinder } from '../privileged-parameters';
import type { ParsedInput, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import type { McpCall } from './mcp-call';
import { callError, callMcpTool, saysResultNotWritten } from './mcp-call';
import type { McpConnection } from './mcp-connection';
import { NotReached } from './mcp-connection';
import type { McpDefinition } from './mcp-definitions';
import type { McpOptions } from './mcp-options';
import { readMcpResult } from './mcp-result';

const defaultCallTimeoutMs = 60_000;
/** Milliseconds for a new connection and its list of tools, beside the call itself. */
const connectAllowanceMs = 45_000;
/** Characters of an error's text that are cleaned for its message; the whole is its output. */
const seenChars = 8_192;

/** Digests of the tools that a server lists now, by its own names. */
export type KnownDefinitions = Map<string, string>;

/** What all tools of a server share. */
export interface McpPlace {
  readonly options: McpOptions;
  readonly connection: McpConnection;
  readonly definitions: KnownDefinitions;
  /** Reads the server's list again. Errors: `NotReached`. */
  readonly readAgain: () => Promise<void>;
}

/** By the agent's author; by the server's own hints only where the author trusts them. */
function effectOf(
  { effects = {}, trustHints = false }: McpOptions,
  { name, hints }: McpDefinition,
): ToolEffect {
  if (Object.hasOwn(effects, name)) return effects[name] ?? 'irreversible';
  if (trustHints && hints.isReadOnly) return 'read';
  return trustHints && hints.isIdempotent ? 'keyed' : 'irreversible';
}

function parseBy(modelSchema: JsonObject, check: InputCheck, input: unknown): ParsedInput {
  const texts = problemTexts(check(input), []);
  if (texts.length === 0 && isJsonObject(input)) return { ok: true, value: input };
  return {
    ok: false,
    problems: texts.length === 0 ? ['The input must be a JSON object'] : texts,
    hint: parametersHint(modelSchema),
  };
}

/** By the server's own schema; one that cannot be compiled, or refers to itself, only the server checks. */
function checkBy(schema: JsonObject): InputCheck {
  return hasReferences(schema) ? () => [] : inputCheck(withoutReferences(schema));
}

/** Behind a result that breaks the server's own promise. */
const oddResult =
  '[This result does not fit the output schema that the tool declares. The call is done; the result stands here as it came.]';

async function execute(
  call: McpCall,
  fitsPromise: (structured: unknown) => boolean,
  input: unknown,
  context: ToolContext,
): Promise<string | OutputWithMedia> {
  const result = await callMcpTool(call, isJsonObject(input) ? input : {}, context);
  const { text, isError, isUnreadable, structured, media } = readMcpResult(result as JsonObject);
  const said = sanitizeText(text.slice(0, seenChars), { maxChars: 500 });
  if (isError && saysResultNotWritten(text)) throw callError(call, 'unreadable', said);
  if (isError)
    throw new ToolError(said || `${call.tool} failed without a message`, { output: text });
  if (isUnreadable) throw callError(call, 'unreadable', 'its result has no readable text');
  const output = fitsPromise(structured) ? text : `${text}\n${oddResult}`;
  return media.length === 0 ? output : new OutputWithMedia(output, media);
}

/** Makes a tool of its definition. */
export function toolFrom(place: McpPlace, name: string, definition: McpDefinition): Tool {
  const { options, connection } = place;
  const { description, schema, shownSchema, outputSchema } = definition;
  const modelSchema = inputSchemaFromJson(shownSchema);
  const check = checkBy(schema);
  const checkOutput = outputSchema && checkBy(outputSchema);
  const approval = options.approval ?? 'never';
  const effect = effectOf(options, definition);
  const timeoutMs = options.callTimeoutMs ?? defaultCallTimeoutMs;
  const call: McpCall = {
    connection,
    server: options.name,
    tool: definition.name,
    isRead: effect === 'read',
    isRepeatable: effect !== 'irreversible',
    timeoutMs,
  };
  const fitsPromise = (structured: unknown): boolean =>
    checkOutput === undefined || (structured !== undefined && checkOutput(structured).length === 0);
  return {
    name,
    source: options.name,
    description: description || `Tool ${definition.name} of the MCP server ${options.name}.`,
    inputSchema: modelSchema,
    effect,
    timeoutMs: timeoutMs + connectAllowanceMs,
    approval,
    approvals: undefined,
    runsPrograms: options.runsPrograms === true,
    editsFile: editedFileField(definition.name, effect, inputNamesOf(modelSchema)),
    cosmetic: [],
    maxCalls: defaultCallCaps.get(name),
    onUnknown: options.onUnknown ?? 'tell-model',
    label: undefined,
    parse: (input) => parseBy(modelSchema, check, input),
    needsApproval: () => approval === 'always',
    privilegedIn: privilegedFinder(schema, hasReferences),
    hintFor: () => undefined,
    execute: (input, context) => execute(call, fitsPromise, input, context),
    probe: undefined,
    definitionDigest: () => place.definitions.get(definition.name) ?? 'not listed',
    readDefinition: place.readAgain,
  };
}

/**
 * Stands for a tool that a run has and its server has not listed here: the server is down, or dropped the tool.
 *
 * Contract: a call asks the server again, and runs if it lists the tool now.
 */
export function absentTool(
  options: McpOptions,
  name: string,
  find: () => Promise<Tool | undefined>,
): Tool {
  const approval = options.approval ?? 'never';
  let found: Tool | undefined;
  const look = async (): Promise<Tool | undefined> => (found = await find());
  return {
    name,
    source: options.name,
    description: `A tool of the MCP server ${options.name}.`,
    inputSchema: { type: 'object', properties: {} },
    effect: 'irreversible',
    timeoutMs: (options.callTimeoutMs ?? defaultCallTimeoutMs) + connectAllowanceMs,
    approval,
    approvals: undefined,
    runsPrograms: options.runsPrograms === true,
    editsFile: undefined,
    cosmetic: [],
    maxCalls: defaultCallCaps.get(name),
    onUnknown: options.onUnknown ?? 'tell-model',
    label: undefined,
    parse: (input) => parseBy({}, () => [], input),
    needsApproval: () => approval === 'always',
    privilegedIn: () => [],
    hintFor: () => undefined,
    execute: async (input, context) => {
      const hint =
        'Its server does not offer it at the moment; your parameters are not the cause. Go on without it, or try it again later.';
      const tool = await look().catch((thrown: unknown) => {
        if (!(thrown instanceof NotReached)) throw thrown;
        throw new ToolError(`${name} was not called: ${thrown.message}`, { hint });
      });
      if (tool === undefined)
        throw new ToolError(
          `${name} was not called: MCP server "${options.name}" does not list it any more`,
          { hint },
        );
      const parsed = tool.parse(input);
      if (!parsed.ok)
        throw new ToolError(parsed.problems.join('; '), {
          code: 'invalid_params',
          ...(parsed.hint !== undefined && { hint: parsed.hint }),
        });
      if (isJsonObject(input) && tool.privilegedIn(input).length > 0)
        throw new ToolError(`${name} was not called: its server is back; this needs approval`, {
          hint: 'Call it again, so that a person can approve the call.',
        });
      return tool.execute(parsed.value, context);
    },
    probe: undefined,
    definitionDigest: () => found?.definitionDigest?.() ?? 'not listed',
    readDefinition: async () => {
      await look();
    },
  };
}
