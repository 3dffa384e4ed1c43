/** Makes tools of the tools of an MCP server. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
import {
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import { InfraException } from '../../lifecycle/infra-exception';
import { UserError } from '../../lifecycle/user-error';
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
import type { ParsedInput, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import type { McpOptions, McpTools } from './mcp-options';
import type { McpDefinition } from './mcp-definitions';
import { mcpDefinitions } from './mcp-definitions';
import type { McpConnection } from './mcp-connection';
import { mcpConnection } from './mcp-connection';
import { privilegedFinder } from '../privileged-parameters';
import { mcpToolNames } from './mcp-tool-names';

const defaultCallTimeoutMs = 60_000;
/** Pages of a server's tool list that are read, in case it never ends. */
const maxToolPages = 50;

interface ServerUse {
  readonly options: McpOptions;
  readonly connection: McpConnection;
  readonly timeoutMs: number;
}

/** By the server's own annotations, whose truth is the server owner's responsibility. */
function effectOf({ annotations }: McpTool): ToolEffect {
  if (annotations?.readOnlyHint === true) {
    return 'read';
  }
  return annotations?.idempotentHint === true ? 'keyed' : 'irreversible';
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

const fieldOf = (thrown: unknown, key: string): unknown =>
  typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, key) : undefined;

const requestTimeout: number = ErrorCode.RequestTimeout;
const connectionClosed: number = ErrorCode.ConnectionClosed;

/** Whether the server cannot have seen the call: nobody listened, or (404) it was restarted and the session is gone. */
function isNeverSent(thrown: unknown): boolean {
  const causeCode = fieldOf(fieldOf(thrown, 'cause'), 'code');
  return (
    fieldOf(thrown, 'code') === 404 ||
    fieldOf(thrown, 'message') === 'Not connected' ||
    causeCode === 'ECONNREFUSED' ||
    causeCode === 'ENOTFOUND'
  );
}

function isConnectionError(thrown: unknown): boolean {
  const code = fieldOf(thrown, 'code');
  return (
    thrown instanceof StreamableHTTPError ||
    fieldOf(thrown, 'message') === 'fetch failed' ||
    [connectionClosed, 'EPIPE', 'ECONNRESET'].some((known) => known === code)
  );
}

/** What a failed call says about the connection. */
function sortFailure(
  thrown: unknown,
): 'timeout' | 'unauthorized' | 'never-sent' | 'lost' | 'answered' {
  const code = fieldOf(thrown, 'code');
  if (thrown instanceof UnauthorizedError || code === 401 || code === 403) {
    return 'unauthorized';
  }
  if (thrown instanceof McpError && code !== connectionClosed) {
    return code === requestTimeout ? 'timeout' : 'answered';
  }
  if (isNeverSent(thrown)) {
    return 'never-sent';
  }
  return isConnectionError(thrown) ? 'lost' : 'answered';
}

function failed(use: ServerUse, tool: McpTool, thrown: unknown): unknown {
  const { name } = use.options;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `${tool.name} of MCP server "${name}": ${sanitizeText(reason, { maxChars: 400 })}`;
  const kind = sortFailure(thrown);
  if (kind === 'unauthorized')
    return new ToolError(message, { code: 'auth_failed', recoverable: false, cause: thrown });
  if (kind === 'answered') return new ToolError(message, { cause: thrown });
  if (effectOf(tool) !== 'irreversible')
    return new ToolError(message, {
      code: kind === 'timeout' ? 'tool_timeout' : 'tool_execution_failed',
      cause: thrown,
    });
  const why = kind === 'timeout' ? '' : 'the server was lost during the call, and ';
  return new ToolError(`${message}; ${why}whether it took effect is unknown`, {
    code: 'outcome_unknown',
    cause: thrown,
  });
}

async function callOnce(
  use: ServerUse,
  client: Client,
  tool: McpTool,
  input: JsonObject,
  context: ToolContext,
): Promise<CallToolResult> {
  const answer = await client.callTool(
    { name: tool.name, arguments: input, _meta: { idempotencyKey: context.idempotencyKey } },
    CallToolResultSchema,
    {
      signal: context.signal,
      timeout: use.timeoutMs,
      maxTotalTimeout: use.timeoutMs,
      onprogress: ({ message }) => {
        context.progress(message ?? '');
      },
    },
  );
  return CallToolResultSchema.parse(answer);
}

/**
 * Calls the tool. After a lost connection, calls once more on a new one if the first call was never sent or may be repeated.
 */
async function call(
  use: ServerUse,
  tool: McpTool,
  input: JsonObject,
  context: ToolContext,
): Promise<CallToolResult> {
  for (let isSecond = false; ; isSecond = true) {
    const client = await use.connection.client();
    try {
      return await callOnce(use, client, tool, input, context);
    } catch (thrown) {
      context.signal.throwIfAborted();
      const kind = sortFailure(thrown);
      const isLost = kind === 'lost';
      if (isLost || kind === 'never-sent') await client.close().catch(() => undefined);
      const mayRepeat = isLost ? effectOf(tool) !== 'irreversible' : kind === 'never-sent';
      if (isSecond || !mayRepeat) throw failed(use, tool, thrown);
    }
  }
}

type Content = CallToolResult['content'][number];

/** Bytes that base64 text encodes. */
const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

function contentText(content: Content): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
    case 'audio':
      return `[${content.type} ${content.mimeType}, ${bytesOf(content.data)} bytes, not shown]`;
    case 'resource_link':
      return `[resource ${content.name}: ${content.uri}]`;
    case 'resource':
      return 'text' in content.resource
        ? `[resource ${content.resource.uri}]\n${content.resource.text}`
        : `[resource ${content.resource.uri}, ${bytesOf(content.resource.blob)} bytes, not shown]`;
  }
}

/** All content in order; structured content where there is no other. */
function resultText(result: CallToolResult): string {
  const text = result.content.map(contentText).join('\n');
  return text === '' && result.structuredContent !== undefined
    ? JSON.stringify(result.structuredContent)
    : text;
}

async function execute(
  use: ServerUse,
  tool: McpTool,
  input: unknown,
  context: ToolContext,
): Promise<string> {
  const result = await call(use, tool, isJsonObject(input) ? input : {}, context);
  const text = resultText(result);
  if (result.isError === true) {
    throw new ToolError(
      sanitizeText(text, { maxChars: 500 }) || `${tool.name} failed without a message`,
      {
        output: text,
      },
    );
  }
  return text;
}

function toolFrom(use: ServerUse, name: string, definition: McpDefinition): Tool {
  const { tool, description, schema, shownSchema } = definition;
  const modelSchema = inputSchemaFromJson(shownSchema);
  // By the server's own schema; if it cannot be compiled or refers to itself, only the server checks.
  const check: InputCheck = hasReferences(schema)
    ? () => []
    : inputCheck(withoutReferences(schema));
  const approval = use.options.approval ?? 'never';
  return {
    name,
    description: description || `Tool ${tool.name} of the MCP server ${use.options.name}.`,
    inputSchema: modelSchema,
    effect: effectOf(tool),
    timeoutMs: use.timeoutMs + connectAllowanceMs,
    approval,
    approvals: undefined,
    runsPrograms: use.options.runsPrograms === true,
    editsFile: editedFileField(tool.name, effectOf(tool), inputNamesOf(modelSchema)),
    cosmetic: [],
    maxCalls: defaultCallCaps.get(name),
    onUnknown: use.options.onUnknown ?? 'tell-model',
    label: undefined,
    parse: (input) => parseBy(modelSchema, check, input),
    needsApproval: () => approval === 'always',
    privilegedIn: privilegedFinder(schema, hasReferences),
    hintFor: () => undefined,
    execute: (input, context) => execute(use, tool, input, context),
    probe: undefined,
  };
}

/** Milliseconds for a new connection beside the call itself. */
const connectAllowanceMs = 30_000;

/** A page of a list, whose tools are read one by one: the SDK's own reading refuses all of them for the sake of one. */
const toolPage = ListToolsResultSchema.extend({ tools: z.array(z.unknown()) });

/** Not by the client's `listTools`: that compiles output schemas, whose patterns then run over every result. */
async function listTools(client: Client): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxToolPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, toolPage);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) {
      break;
    }
  }
  return tools;
}

/** Connects and makes the tools, with the contract and the errors of `connectMcp`. */
export async function mcpServerTools(options: McpOptions): Promise<McpTools> {
  if (!/^[a-zA-Z0-9_-]{1,32}$/.test(options.name)) {
    throw new UserError(
      `MCP server name ${JSON.stringify(options.name)} cannot begin tool names; use 1 to 32 letters, digits, "_" or "-".`,
    );
  }
  const { type }: { readonly type: string } = options.transport;
  if (type !== 'stdio' && type !== 'http')
    throw new UserError(
      `MCP server "${options.name}": there is no transport "${type}"; use "http" (streamable HTTP, which replaced "sse") or "stdio".`,
    );
  if (options.transport.type === 'http' && !URL.canParse(options.transport.url)) {
    throw new UserError(
      `MCP server "${options.name}": its URL cannot be parsed; give http(s)://host/path.`,
    );
  }
  const connection = mcpConnection(options.name, options.transport);
  const use = { options, connection, timeoutMs: options.callTimeoutMs ?? defaultCallTimeoutMs };
  const listed = await listTools(await connection.client()).catch(async (thrown: unknown) => {
    await connection.close().catch(() => undefined);
    throw new InfraException(
      {
        code: 'tool_infrastructure',
        message: `MCP server "${options.name}" did not list its tools; check that it is an MCP server with tools.`,
      },
      { cause: thrown },
    );
  });
  const { definitions, dropped } = mcpDefinitions(options.name, listed);
  for (const message of dropped) process.emitWarning(message, 'HoldfastWarning');
  const names = mcpToolNames(
    options.name,
    definitions.map(({ tool }) => tool.name),
  );
  const tools = definitions.map((each, index) => toolFrom(use, names[index] ?? '', each));
  return { tools, dropped, close: () => connection.close() };
}
