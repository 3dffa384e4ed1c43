/** Tools by which agents read an MCP server's resources and prompts. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import { defineTool } from '../define-tool';
import { isJsonObject } from '../input-schema';
import type { Tool, ToolContext, ToolDefinition } from '../tool';
import type { Ask } from './mcp-call';
import { callMcp } from './mcp-call';
import { listAll } from './mcp-list';
import type { McpPlace } from './mcp-tool';
import {
  anyResult,
  approvalOf,
  connectAllowanceMs,
  defaultCallTimeoutMs,
  shownResult,
} from './mcp-tool';
import type { readingTools } from './mcp-tool-rules';
import { rulesFor } from './mcp-tool-rules';

/** What of an item in a list says something to a model. */
const shownFields = ['uri', 'uriTemplate', 'name', 'title', 'description', 'mimeType', 'arguments'];

/** One item on a line, as JSON. */
function itemLine(item: unknown): string {
  const entries = Object.entries(isJsonObject(item) ? item : { name: item });
  return JSON.stringify(Object.fromEntries(entries.filter(([key]) => shownFields.includes(key))));
}

function listText(title: string, items: readonly unknown[]): readonly string[] {
  return items.length === 0 ? [] : [`${title}:`, ...items.map(itemLine)];
}

async function listResources(client: Client, options: RequestOptions): Promise<string> {
  const resources = await listAll(client, 'resources', options);
  const templates = await listAll(client, 'resourceTemplates', options);
  const lines = [
    ...listText('Resources', resources),
    ...listText('Templates of URIs; put values in place of {…}', templates),
  ];
  return lines.join('\n') || 'The server has no resources at the moment.';
}

async function listPrompts(client: Client, options: RequestOptions): Promise<string> {
  const lines = listText('Prompts', await listAll(client, 'prompts', options));
  return lines.join('\n') || 'The server has no prompts at the moment.';
}

/** The contents of a resource as the content of a tool's result. */
async function readResource(
  client: Client,
  options: RequestOptions,
  uri: string,
): Promise<JsonObject> {
  const request = { method: 'resources/read' as const, params: { uri } };
  const { contents } = await client.request(request, anyResult, options);
  const items = [contents ?? []].flat() as JsonObject[];
  return { content: items.map((resource) => ({ type: 'resource', resource })) };
}

/** The messages of a prompt likewise, each after its role. */
async function getPrompt(
  client: Client,
  options: RequestOptions,
  params: { readonly name: string; readonly arguments?: Readonly<Record<string, string>> },
): Promise<JsonObject> {
  const request = { method: 'prompts/get' as const, params: { ...params } };
  const { messages } = await client.request(request, anyResult, options);
  const items = [messages ?? []].flat().filter(isJsonObject);
  return {
    content: items.flatMap(({ role, content }) => [
      ...(typeof role === 'string' ? [`[${role}]`] : []),
      ...[content ?? []].flat(),
    ]),
  };
}

type ReadingName = (typeof readingTools)['resources' | 'prompts'][number];

/** Makes one of the tools; `what` is what it asks of the server. */
function readingTool<Input extends z.ZodType>(
  { options, connection }: McpPlace,
  tool: ReadingName,
  {
    what,
    ...parts
  }: Pick<ToolDefinition<Input>, 'description' | 'input' | 'hint'> & {
    readonly what: (input: z.output<Input>) => Ask<string | JsonObject>;
  },
): Tool {
  const server = options.name;
  const { timeoutMs = defaultCallTimeoutMs, ...rules } = rulesFor(options, tool);
  const call = { connection, server, tool, isRead: true, isRepeatable: true, timeoutMs };
  const defined = defineTool({
    ...parts,
    name: `${server}_${tool}`,
    effect: 'read',
    execute: async (input: z.output<Input>, context: ToolContext<undefined>) => {
      const result = await callMcp(call, context, what(input));
      return typeof result === 'string' ? result : shownResult(call, result);
    },
  });
  return {
    ...defined,
    ...approvalOf(rules),
    source: server,
    timeoutMs: timeoutMs + connectAllowanceMs,
  };
}

const makers = {
  resources: (place: McpPlace, server: string): readonly Tool[] => [
    readingTool(place, 'list_resources', {
      description: `Lists the resources of the MCP server ${server}: texts and files that ${server}_read_resource reads.`,
      input: z.strictObject({}),
      what: () => listResources,
    }),
    readingTool(place, 'read_resource', {
      description: `Reads a resource of the MCP server ${server}.`,
      input: z.strictObject({ uri: z.string().describe('URI of the resource.') }),
      hint: `Use a URI that ${server}_list_resources or a result names.`,
      what:
        ({ uri }) =>
        (client, request) =>
          readResource(client, request, uri),
    }),
  ],
  prompts: (place: McpPlace, server: string): readonly Tool[] => [
    readingTool(place, 'list_prompts', {
      description: `Lists the prompts of the MCP server ${server}, with their arguments.`,
      input: z.strictObject({}),
      what: () => listPrompts,
    }),
    readingTool(place, 'get_prompt', {
      description: `Gets the text of a prompt of the MCP server ${server}.`,
      input: z.strictObject({
        name: z.string().describe('Name of the prompt.'),
        arguments: z.record(z.string(), z.string()).exactOptional(),
      }),
      hint: `Use a name and arguments that ${server}_list_prompts gives.`,
      what: (input) => (client, request) => getPrompt(client, request, input),
    }),
  ],
};

/**
 * The tools that the options ask for and the server offers, and in words what it does not offer.
 *
 * Contract: all of them are `read`: the protocol has no request here that changes something.
 */
export function readingToolsFrom(
  place: McpPlace,
  offered: ServerCapabilities,
): { readonly tools: readonly Tool[]; readonly missing: readonly string[] } {
  const { options } = place;
  const asked = (['resources', 'prompts'] as const).filter((what) => options[what] === true);
  const isThere = (what: (typeof asked)[number]): boolean => offered[what] !== undefined;
  return {
    tools: asked.filter(isThere).flatMap((what) => makers[what](place, options.name)),
    missing: asked
      .filter((what) => !isThere(what))
      .map(
        (what) =>
          `MCP server "${options.name}" offers no ${what}, which its option ${what} asks for; leave it out.`,
      ),
  };
}
