/** The lists that an MCP server gives page by page: its tools, resources and prompts. */
import { setMaxListeners } from 'node:events';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { maxFrameBytes } from './mcp-frame';

/** Pages of a list that are read, in case it never ends. */
const maxPages = 50;

const methods = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const;

/** A page, whose items are read one by one: the SDK's own reading refuses all of them for the sake of one. */
const page = z.looseObject({ nextCursor: z.string().nullish().catch(undefined) });

/** Characters of what a page lists; 0 where it is nested too deeply to be written: such an item is left out by itself. */
function charsOf(listed: readonly unknown[]): number {
  try {
    return JSON.stringify(listed).length;
  } catch {
    return 0;
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor?: string | null | undefined;
}

async function pageOf(
  client: Client,
  what: keyof typeof methods,
  cursor: string | undefined,
  options: RequestOptions,
): Promise<Page> {
  // Not by the client's `listTools`: that compiles output schemas, whose patterns then run over every result.
  const request = { method: methods[what], params: cursor === undefined ? {} : { cursor } };
  try {
    const { nextCursor, [what]: items } = await client.request(request, page, options);
    if (Array.isArray(items)) return { items, nextCursor };
  } catch (thrown) {
    // A server need not have each of the lists.
    if (thrown instanceof McpError && thrown.code === (ErrorCode.MethodNotFound as number))
      return { items: [] };
    throw thrown;
  }
  throw new Error(`its answer to ${request.method} has no list "${what}"`);
}

/**
 * All items of a list, as the server gave them; none if the server has no such list.
 *
 * Errors: the SDK's; an `Error` for a list above the bound of a message, or a page that is none.
 */
export async function listAll(
  client: Client,
  what: keyof typeof methods,
  options: RequestOptions,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let chars = 0;
  // The SDK leaves a listener on the signal with each request.
  if (options.signal !== undefined) setMaxListeners(0, options.signal);
  for (let count = 0; count < maxPages; count++) {
    const { items: some, nextCursor } = await pageOf(client, what, cursor, options);
    chars += charsOf(some);
    if (chars > maxFrameBytes)
      throw new Error(`its list of ${what} has more than ${maxFrameBytes} characters`);
    items.push(...some);
    if (typeof nextCursor !== 'string' || nextCursor === '' || seen.has(nextCursor)) break;
    cursor = nextCursor;
    seen.add(cursor);
  }
  return items;
}
