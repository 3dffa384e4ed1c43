/** Makes tools of the tools of an MCP server, and keeps them up to date. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InfraException } from '../../lifecycle/infra-exception';
import { isJsonObject } from '../input-schema';
import { checkMcpOptions } from './check-mcp-options';
import type { McpConnection } from './mcp-connection';
import { mcpConnection, NotReached, wordsOf } from './mcp-connection';
import { mcpDefinitions } from './mcp-definitions';
import { listAll } from './mcp-list';
import type { McpOptions, McpTools } from './mcp-options';
import type { KnownDefinitions } from './mcp-tool';
import { absentTool, toolFrom } from './mcp-tool';
import { mcpToolNames } from './mcp-tool-names';
import { isSelected, overall, rulesFor, unusedNames } from './mcp-tool-rules';
import { readingToolsFrom } from './mcp-reading-tools';
import type { Tool } from '../tool';

/** Milliseconds that a worker's start waits for a server. */
const defaultStartTimeoutMs = 10_000;
/** Milliseconds to list the tools. */
const listTimeoutMs = 15_000;
/** Milliseconds until a server that was not there at the start is tried again, doubled each time. */
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Milliseconds between two readings of a list that keeps changing. */
const refreshMs = 10_000;

/** The names in a list, of whatever can be read of it. */
function namesIn(listed: readonly unknown[]): readonly string[] {
  return listed.flatMap((each) => {
    const name = isJsonObject(each) ? each['name'] : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}

function warn(message: string): void {
  process.emitWarning(message, 'HoldfastWarning');
}

/** What is known of one server, over all its sessions. */
class McpServerTools implements McpTools {
  readonly name: string;
  readonly approval: McpTools['approval'];
  readonly runsPrograms: boolean;
  tools: readonly Tool[] = [];
  dropped: readonly string[] = [];
  problem: string | undefined = 'it has not answered yet';
  readonly #options: McpOptions;
  readonly #connection: McpConnection;
  readonly #definitions: KnownDefinitions = new Map();
  readonly #stopped = new AbortController();
  #isReading = false;
  /** Where the list has changed and was not read since. */
  #changedAt: Client | undefined;

  constructor(options: McpOptions) {
    const { approval, runsPrograms } = overall(options);
    this.name = options.name;
    this.approval = approval;
    this.runsPrograms = runsPrograms;
    this.#options = options;
    this.#connection = mcpConnection(options, {
      onSession: (client) => this.#read(client),
      onListChanged: (client) => {
        this.#readSoon(client);
      },
    });
  }

  /** A tool of this server by the name that runs have; a call of one that is not listed now asks the server again. */
  readonly toolNamed = (name: string): Tool =>
    this.#listed(name) ??
    absentTool(this.#options, name, async () => {
      await this.#readAgain();
      return this.#listed(name);
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

  #listed(name: string): Tool | undefined {
    return this.tools.find((tool) => tool.name === name);
  }

  /** Reads the list: what it says now counts for runs that start, and for approvals. */
  async #read(client: Client): Promise<void> {
    const options = this.#options;
    const signal = AbortSignal.timeout(listTimeoutMs);
    const listed = await listAll(client, 'tools', { signal }).catch((thrown: unknown) => {
      throw new Error(`it did not list its tools: ${wordsOf(thrown)}`, { cause: thrown });
    });
    const selected = listed.filter((each) =>
      namesIn([each]).every((name) => isSelected(options, name)),
    );
    const { definitions, dropped } = mcpDefinitions(this.name, selected);
    const place = {
      options,
      connection: this.#connection,
      definitions: this.#definitions,
      readAgain: () => this.#readAgain(),
    };
    const reading = readingToolsFrom(place, client.getServerCapabilities() ?? {});
    const said = [...dropped, ...unusedNames(options, namesIn(listed)), ...reading.missing];
    for (const message of said) if (!this.dropped.includes(message)) warn(message);
    this.dropped = said;
    this.#definitions.clear();
    for (const each of definitions) this.#definitions.set(each.name, each.digest);
    const renamed = (tool: string): string | undefined => rulesFor(options, tool).rename;
    const names = mcpToolNames(
      this.name,
      definitions.map(({ name }) => name),
      renamed,
      reading.tools.map(({ name }) => name),
    );
    const tools = definitions.map((each, index) => toolFrom(place, names[index] ?? '', each));
    // What the author named comes first, and so keeps its name beside one that looks like it.
    const isNamed = (_: Tool, index: number): boolean =>
      renamed(definitions[index]?.name ?? '') !== undefined;
    this.tools = [
      ...reading.tools,
      ...tools.filter(isNamed),
      ...tools.filter((tool, index) => !isNamed(tool, index)),
    ];
    this.problem = undefined;
  }

  /** Reads the list again in the session that lasts, or in a new one. */
  async #readAgain(): Promise<void> {
    const session = await this.#connection.session();
    await session.use(() => this.#read(session.client));
  }

  /** A list that keeps changing is read once in a while, and once more after its last change. */
  #readSoon(changedAt: Client): void {
    this.#changedAt = changedAt;
    if (this.#isReading) return;
    this.#isReading = true;
    const read = async (): Promise<void> => {
      while (this.#changedAt !== undefined) {
        await delay(firstPauseMs, undefined, { ref: false });
        const client = this.#changedAt;
        this.#changedAt = undefined;
        // A session that is gone: the next one reads the list again.
        await this.#read(client).catch(() => undefined);
        await delay(refreshMs, undefined, { ref: false });
      }
      this.#isReading = false;
    };
    void read();
  }
}

/** Connects and makes the tools, with the contract and the errors of `connectMcp`. */
export async function mcpServerTools(options: McpOptions): Promise<McpTools> {
  checkMcpOptions(options);
  const server = new McpServerTools(options);
  await server.start();
  return server;
}
