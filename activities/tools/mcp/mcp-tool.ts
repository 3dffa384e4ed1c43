/** One tool of an MCP server, as agents use it. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import { sanitizeText } from '../../untrusted/sanitizer';
import { defaultCallCaps } from '../default-call-caps';
import { askWhere, inputNamesOf } from '../define-tool';
import { editedFileField } from '../edits-file';
import { checkBy, parseBy } from '../input-problems';
import { hasReferences, inputSchemaFromJson, isJsonObject } from '../input-schema';
import { OutputWithMedia } from '../output-with-media';
import { privilegedFinder } from '../privileged-parameters';
import type { Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import type { McpCall } from './mcp-call';
import { callError, callMcp, saysResultNotWritten } from './mcp-call';
import type { McpConnection } from './mcp-connection';
import { NotReached } from './mcp-connection';
import type { McpDefinition } from './mcp-definitions';
import type { McpOptions, McpToolOptions } from './mcp-options';
import { readMcpResult } from './mcp-result';
import { rulesFor, rulesThatMayFit } from './mcp-tool-rules';

/** Milliseconds that a call may take. */
export const defaultCallTimeoutMs = 60_000;
/** Milliseconds for a new connection and its list of tools, beside the call itself. */
export const connectAllowanceMs = 45_000;
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
  { trustHints = false }: McpOptions,
  { effect }: McpToolOptions,
  { hints }: McpDefinition,
): ToolEffect {
  if (effect !== undefined) return effect;
  if (trustHints && hints.isReadOnly) return 'read';
  return trustHints && hints.isIdempotent ? 'keyed' : 'irreversible';
}

/** Whether a person is asked before a call. */
export function approvalOf({
  approval = 'never',
}: McpToolOptions): Pick<Tool, 'approval' | 'needsApproval'> {
  if (typeof approval !== 'function')
    return { approval, needsApproval: () => approval === 'always' };
  // As for every tool without a schema of the run's context, the rule gets none.
  const asks = askWhere((input, context) =>
    approval(isJsonObject(input) ? input : {}, { ...context, context: undefined }),
  );
  return { approval: 'rule', needsApproval: asks };
}

/** Behind a result that breaks the server's own promise. */
const oddResult =
  '[This result does not fit the output schema that the tool declares. The call is done; the result stands here as it came.]';

/** Any object: how it reads is not the SDK's to decide, since the call is done. */
export const anyResult = z.looseObject({});

/** What agents read of a result. Errors: `ToolError` where the server says that the call failed, or nothing can be read. */
export function shownResult(
  call: McpCall,
  result: JsonObject,
  fitsPromise: (structured: unknown) => boolean = () => true,
): string | OutputWithMedia {
  const { text, isError, isUnreadable, structured, media } = readMcpResult(result);
  const said = sanitizeText(text.slice(0, seenChars), { maxChars: 500 });
  if (isError && saysResultNotWritten(text)) throw callError(call, 'unreadable', said);
  if (isError)
    throw new ToolError(said || `${call.tool} failed without a message`, { output: text });
  if (isUnreadable) throw callError(call, 'unreadable', 'its result has no readable text');
  const output = fitsPromise(structured) ? text : `${text}\n${oddResult}`;
  return media.length === 0 ? output : new OutputWithMedia(output, media);
}

async function execute(
  call: McpCall,
  fitsPromise: (structured: unknown) => boolean,
  input: unknown,
  context: ToolContext,
): Promise<string | OutputWithMedia> {
  const { idempotencyKey } = context;
  const params = { name: call.tool, arguments: input, _meta: { idempotencyKey } };
  const result = await callMcp(call, context, (client, options) =>
    client.request({ method: 'tools/call', params }, anyResult, options),
  );
  return shownResult(call, result as JsonObject, fitsPromise);
}

/** Makes a tool of its definition. */
export function toolFrom(place: McpPlace, name: string, definition: McpDefinition): Tool {
  const { options, connection } = place;
  const rules = rulesFor(options, definition.name);
  const { description, schema, shownSchema, outputSchema } = definition;
  const modelSchema = inputSchemaFromJson(shownSchema);
  const check = checkBy(schema);
  const checkOutput = outputSchema && checkBy(outputSchema);
  const effect = effectOf(options, rules, definition);
  const { timeoutMs = defaultCallTimeoutMs } = rules;
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
    ...approvalOf(rules),
    approvals: undefined,
    runsPrograms: rules.runsPrograms === true,
    editsFile: editedFileField(definition.name, effect, inputNamesOf(modelSchema)),
    cosmetic: [],
    maxCalls: defaultCallCaps.get(name),
    onUnknown: rules.onUnknown ?? 'tell-model',
    label: undefined,
    parse: (input) => parseBy(modelSchema, check, input),
    privilegedIn: privilegedFinder(schema, hasReferences),
    hintFor: () => undefined,
    execute: (input, context) => execute(call, fitsPromise, input, context),
    probe: undefined,
    definitionDigest: () => place.definitions.get(definition.name) ?? 'not listed',
    readDefinition: place.readAgain,
  };
}

/** Calls a tool that was not listed, if its server lists it now. Errors: `ToolError` with a hint if it does not. */
async function callFound(
  server: string,
  name: string,
  look: () => Promise<Tool | undefined>,
  input: unknown,
  context: ToolContext,
): Promise<unknown> {
  const hint =
    'Its server does not offer it at the moment; your parameters are not the cause. Go on without it, or try it again later.';
  const tool = await look().catch((thrown: unknown) => {
    if (!(thrown instanceof NotReached)) throw thrown;
    throw new ToolError(`${name} was not called: ${thrown.message}`, { hint });
  });
  if (tool === undefined)
    throw new ToolError(
      `${name} was not called: MCP server "${server}" does not list it any more`,
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
  const rules = rulesThatMayFit(options, name);
  const mayAsk = rules.some(({ approval = 'never' }) => approval !== 'never');
  const longestMs = rules.map(({ timeoutMs = defaultCallTimeoutMs }) => timeoutMs);
  let found: Tool | undefined;
  const look = async (): Promise<Tool | undefined> => (found = await find());
  return {
    name,
    source: options.name,
    description: `A tool of the MCP server ${options.name}.`,
    inputSchema: { type: 'object', properties: {} },
    effect: 'irreversible',
    timeoutMs: Math.max(defaultCallTimeoutMs, ...longestMs) + connectAllowanceMs,
    approval: mayAsk ? 'always' : 'never',
    needsApproval: () => mayAsk,
    approvals: undefined,
    runsPrograms: rules.some(({ runsPrograms }) => runsPrograms === true),
    editsFile: undefined,
    cosmetic: [],
    maxCalls: defaultCallCaps.get(name),
    onUnknown: rules.some(({ onUnknown }) => onUnknown === 'ask-person')
      ? 'ask-person'
      : 'tell-model',
    label: undefined,
    parse: (input) => parseBy({}, () => [], input),
    privilegedIn: () => [],
    hintFor: () => undefined,
    execute: (input, context) => callFound(options.name, name, look, input, context),
    probe: undefined,
    definitionDigest: () => found?.definitionDigest?.() ?? 'not listed',
    readDefinition: async () => {
      await look();
    },
  };
}
