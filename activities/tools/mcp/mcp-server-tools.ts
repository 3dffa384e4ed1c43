/** Makes tools of the tools of an MCP server, and keeps them up to date. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { PaginatedResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { InfraException } from '../../lifecycle/infra-exception';
import { UserError } from '../../lifecycle/user-error';
import { maxFrameBytes } from './mcp-frame';
import type { McpConnection } from './mcp-connection';
import { mcpConnection, NotReached, wordsOf } from './mcp-connection';
import { mcpDefinitions } from './mcp-definitions';
import type { McpOptions, McpTools } from './mcp-options';
import type { KnownDefinitions } from './mcp-tool';
import { absentTool, toolFrom } from './mcp-tool';
import { mcpToolNames } from './mcp-tool-names';
import type { Tool } from '../tool';

/** Milliseconds that a worker's start waits for a server. */
const defaultStartTimeoutMs = 10_000;
/** Milliseconds to list the tools. */
const listTimeoutMs = 15_000;
/** Pages of a server's tool list that are read, in case it never ends. */
const maxToolPages = 50;
/** Milliseconds until a server that was not there at the start is tried again, doubled each time. */
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Milliseconds between two readings of a list that keeps changing. */
const refreshMs = 10_000;

/** A page of a list, whose tools are read one by one: the SDK's own reading refuses all of them for the sake of one. */
const toolPage = PaginatedResultSchema.extend({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish().catch(undefined),
});

/** Characters of what a page lists; 0 where it is nested too deeply to be written: such a tool is left out by itself. */
function charsOf(listed: readonly unknown[]): number {
  try {
    return JSON.stringify(listed).length;
  } catch {
    return 0;
  }
}

/** Not by the client's `listTools`: that compiles output schemas, whose patterns then run over every result. */
async function listTools(client: Client): Promise<readonly unknown[]> {
  const signal = AbortSignal.timeout(listTimeoutMs);
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | null | undefined;
  let chars = 0;
  for (let page = 0; page < maxToolPages; page++) {
    const params: { cursor?: string } = typeof cursor === 'string' ? { cursor } : {};
    const request = { method: 'tools/list', params } as const;
    const answer: z.infer<typeof toolPage> = await client.request(request, toolPage, { signal });
    chars += charsOf(answer.tools);
    if (chars > maxFrameBytes)
      throw new Error(`its list of tools has more than ${maxFrameBytes} characters`);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (typeof cursor !== 'string' || cursor === '' || seen.has(cursor)) break;
    seen.add(cursor);
  }
  return tools;
}

const effects: readonly unknown[] = ['read', 'keyed', 'irreversible'];

function checkOptions({ name, transport, effects: given = {} }: McpOptions): void {
  if (!/^[a-zA-Z0-9_-]{1,32}$/.test(name))
    throw new UserError(
      `MCP server name ${JSON.stringify(name)} cannot begin tool names; use 1 to 32 letters, digits, "_" or "-".`,
    );
  const where = `MCP server "${name}"`;
  const { type }: { readonly type: string } = transport;
  if (type !== 'stdio' && type !== 'http')
    throw new UserError(
      `${where}: there is no transport "${type}"; use "http" (streamable HTTP, which replaced "sse") or "stdio".`,
    );
  if (transport.type === 'http' && !URL.canParse(transport.url))
    throw new UserError(`${where}: its URL cannot be parsed; give http(s)://host/path.`);
  for (const [tool, effect] of Object.entries(given))
    if (!effects.includes(effect))
      throw new UserError(
        `${where}: effects.${tool} is ${JSON.stringify(effect)}; give "read", "keyed" or "irreversible".`,
      );
}

function warn(message: string): void {
  process.emitWarning(message, 'HoldfastWarning');
}

/** What is known of one server, over all its sessions. */
class McpServerTools implements McpTools {
  readonly name: string;
  readonly approval: 'never' | 'always';
  readonly runsPrograms: boolean;
  tools: readonly Tool[] = [];
  dropped: readonly string[] = [];
  problem: string | undefined = 'it has not answered yet';
  readonly #options: McpOptions;
  readonly #connection: McpConnection;
  readonly #definitions: KnownDefinitions = new Map();
  /** All that were ever listed: runs that know one may still call it. */
  readonly #everListed = new Map<string, Tool>();
  readonly #stopped = new AbortController();
  #isReading = false;

  constructor(options: McpOptions) {
    this.name = options.name;
    this.approval = options.approval ?? 'never';
    this.runsPrograms = options.runsPrograms === true;
    this.#options = options;
    this.#connection = mcpConnection(options, {
      onSession: (client) => this.#read(client),
      onListChanged: (client) => {
        this.#readSoon(client);
      },
    });
  }

  /** A tool of this server by the name that runs have; one that is not known now answers that its server is not there. */
  readonly toolNamed = (name: string): Tool =>
    this.#everListed.get(name) ??
    absentTool(this.#options, name, async () => {
      await this.#connection.session();
      return this.#everListed.get(name);
    });

  /** Connects, and waits as long as a worker's start may. Errors: `InfraException` if the server is required. */
  async start(): Promise<void> {
    const { startTimeoutMs = defaultStartTimeoutMs, required = false } = this.#options;
    const first = this.#connection.session();
    const late = `MCP server "${this.name}" did not list its tools within ${startTimeoutMs} ms.`;
    try {
      const waited = delay(startTimeoutMs, late, { ref: false });
      if ((await Promise.race([first, waited])) !== late) return;
      this.problem = late;
    } catch (thrown) {
      this.problem = thrown instanceof NotReached ? thrown.message : wordsOf(thrown);
    }
    if (required) {
      await this.close();
      throw new InfraException({ code: 'tool_infrastructure', message: this.problem });
    }
    warn(
      `${this.problem} Runs that start now have none of its tools; it is tried until it answers.`,
    );
    void this.#keepTrying(first);
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#connection.close();
  }

  async #keepTrying(first: Promise<unknown>): Promise<void> {
    const { signal } = this.#stopped;
    try {
      for (let [next, pauseMs] = [first, firstPauseMs]; ; pauseMs *= 2) {
        const isThere = await next.then(
          () => true,
          () => false,
        );
        if (isThere) break;
        const pause = Math.min(pauseMs, longestPauseMs);
        await delay(pause, undefined, { ref: false, signal });
        next = this.#connection.session();
      }
      warn(`MCP server "${this.name}" is there now, with ${this.tools.length} tools.`);
    } catch {
      // Closed.
    }
  }

  /** Reads the list: what it says now counts for runs that start, and for approvals. */
  async #read(client: Client): Promise<void> {
    let listed: readonly unknown[];
    try {
      listed = await listTools(client);
    } catch (thrown) {
      throw new Error(`it did not list its tools: ${wordsOf(thrown)}`, { cause: thrown });
    }
    const { definitions, dropped } = mcpDefinitions(this.name, listed);
    const named = new Set(definitions.map(({ name }) => name));
    const unknown = Object.keys(this.#options.effects ?? {}).filter((name) => !named.has(name));
    const all = [
      ...dropped,
      ...unknown.map(
        (tool) =>
          `MCP server "${this.name}" lists no tool "${tool}", which its option effects names.`,
      ),
    ];
    for (const message of all) if (!this.dropped.includes(message)) warn(message);
    this.dropped = all;
    this.#definitions.clear();
    for (const each of definitions) this.#definitions.set(each.name, each.digest);
    const names = mcpToolNames(this.name, [...named]);
    const place = {
      options: this.#options,
      connection: this.#connection,
      definitions: this.#definitions,
      readAgain: () => this.#readAgain(),
    };
    this.tools = definitions.map((each, index) => toolFrom(place, names[index] ?? '', each));
    for (const tool of this.tools) this.#everListed.set(tool.name, tool);
    this.problem = undefined;
  }

  /** Reads the list again in the session that lasts, or in a new one. */
  async #readAgain(): Promise<void> {
    const session = await this.#connection.session();
    await session.use(() => this.#read(session.client));
  }

  /** A list that keeps changing is read once in a while. */
  #readSoon(client: Client): void {
    if (this.#isReading) return;
    this.#isReading = true;
    const read = async (): Promise<void> => {
      await delay(firstPauseMs, undefined, { ref: false });
      // A session that is gone: the next one reads the list again.
      await this.#read(client).catch(() => undefined);
      await delay(refreshMs, undefined, { ref: false });
      this.#isReading = false;
    };
    void read();
  }
}

/** Connects and makes the tools, with the contract and the errors of `connectMcp`. */
export async function mcpServerTools(options: McpOptions): Promise<McpTools> {
  checkOptions(options);
  const server = new McpServerTools(options);
  await server.start();
  return server;
}
