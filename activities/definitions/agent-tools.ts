/** The tools of an agent as they are now: its author's, and those that its MCP servers list at the moment (ADR 0043). */
import { UserError } from '../lifecycle/user-error';
import { reservedToolNames } from '../tools/built-in-tools';
import { checkToolName } from '../tools/define-tool';
import type { AnyTool, Tool, ToolSource } from '../tools/tool';

/** Tools that OpenAI accepts in one request; more get 400 (`array_above_max_length`). Two belong to the runtime. */
const maxTools = 128 - reservedToolNames.length;

/** Entries by name. Errors: `UserError` for a name that is given twice. */
export function byName<Named extends { readonly name: string }>(
  what: string,
  entries: readonly Named[],
): ReadonlyMap<string, Named> {
  const map = new Map<string, Named>();
  for (const entry of entries) {
    if (map.has(entry.name))
      throw new UserError(`${what} "${entry.name}" is given twice; names must be unique.`);
    map.set(entry.name, entry);
  }
  return map;
}

function checkOwn(own: readonly Tool[]): void {
  for (const { name } of own) {
    checkToolName(name);
    if (reservedToolNames.includes(name))
      throw new UserError(
        `Tool name "${name}" belongs to the runtime; give your tool another name.`,
      );
  }
  if (own.length > maxTools)
    throw new UserError(
      `${own.length} tools are more than the ${maxTools} that OpenAI accepts; give the agent fewer.`,
    );
}

/** A name as it looks: names that look alike are one. */
function lookalikeKey(name: string): string {
  return name.toLowerCase().replace(/[-_]+/g, '_').replaceAll('0', 'o').replace(/[1i]/g, 'l');
}

/** Whether a name is one that a tool of this server may have. */
const isOf = (server: string, name: string): boolean =>
  lookalikeKey(name).startsWith(lookalikeKey(`${server}_`));

/** The same number of each server where there are too many, so that one server takes no room from another. */
function fairShare(served: readonly Tool[], room: number): ReadonlySet<Tool> {
  const counts = new Map<string, number>();
  const ranked = served.map((tool) => {
    const rank = counts.get(tool.source ?? '') ?? 0;
    counts.set(tool.source ?? '', rank + 1);
    return { tool, rank };
  });
  const kept = ranked.sort((one, other) => one.rank - other.rank).slice(0, room);
  return new Set(kept.map(({ tool }) => tool));
}

/** An agent's tools, and in words which tools of its servers it cannot have. */
export interface AgentTools {
  readonly registry: ReadonlyMap<string, Tool>;
  readonly leftOut: readonly string[];
}

/**
 * An agent's tools by name. A tool of an MCP server takes no name of another one, of the author, or of the runtime, nor one that
 * looks like it: the name is the author's, whoever comes first.
 *
 * Errors: `UserError` for what the author gave: a duplicate or reserved name, a name that vendors refuse, or more tools than they
 * accept. What a server lists is never the author's error.
 */
export function toolsByName(tools: readonly Tool[]): AgentTools {
  const own = tools.filter(({ source }) => source === undefined);
  checkOwn(own);
  const owners = new Map([
    ...reservedToolNames.map((name) => [lookalikeKey(name), 'the runtime'] as const),
    ...[...byName('Tool', own).keys()].map((name) => [lookalikeKey(name), `"${name}"`] as const),
  ]);
  const servers = [...new Set(tools.flatMap(({ source }) => source ?? []))];
  const leftOut: string[] = [];
  const drop = ({ name, source }: Tool, why: string): void => {
    leftOut.push(`MCP server "${source}": tool "${name}" is left out: ${why}.`);
  };
  const served = tools.filter((tool) => {
    const { name, source } = tool;
    if (source === undefined) return false;
    const owner = owners.get(lookalikeKey(name));
    if (owner !== undefined) {
      drop(tool, `its name is, or looks like, that of ${owner}`);
      return false;
    }
    const other = servers.find((each) => each.length > source.length && isOf(each, name));
    if (other !== undefined) {
      drop(tool, `its name begins with that of MCP server "${other}"`);
      return false;
    }
    owners.set(lookalikeKey(name), `"${name}" of MCP server "${source}"`);
    return true;
  });
  const kept = fairShare(served, maxTools - own.length);
  for (const tool of served)
    if (!kept.has(tool)) drop(tool, `the agent has more than ${maxTools} tools`);
  const all = tools.filter((tool) => tool.source === undefined || kept.has(tool));
  return { registry: byName('Tool', all), leftOut };
}

/** Whether an agent was given a server, not a tool. */
export function isSource(given: AnyTool | ToolSource): given is ToolSource {
  return 'toolNamed' in given;
}

/** What an agent was given, and what it comes to now. */
export interface LiveTools {
  /** The tools as they are now, in order. */
  readonly now: () => readonly Tool[];
  /** Names of the servers that have listed no tools yet. */
  readonly missing: () => readonly string[];
  /** A tool of a server by the name that a run has, though the server does not list it now. */
  readonly absent: (name: string) => Tool | undefined;
}

/**
 * Follows the tools of an agent's MCP servers; those that are left out are warnings of the process, each once.
 *
 * Errors: `UserError` for a server that is given twice.
 */
export function liveTools(given: readonly (AnyTool | ToolSource)[]): LiveTools {
  const sources = given.filter(isSource);
  byName('MCP server', sources);
  return {
    // Each run's context is checked with its tools' schemas before the run begins.
    now: () => given.flatMap((each) => (isSource(each) ? each.tools : [each as Tool])),
    missing: () => sources.flatMap(({ name, problem }) => (problem === undefined ? [] : [name])),
    absent: (name) => {
      const owners = sources.filter((source) => isOf(source.name, name));
      const [owner] = owners.sort((one, other) => other.name.length - one.name.length);
      return owner?.toolNamed(name);
    },
  };
}
