/** Which tools of a server agents get, and how each is used: what the author says by name or pattern. */
import { sanitizeText } from '../../untrusted/sanitizer';
import { nearestName } from '../nearest-name';
import type { McpOptions, McpToolOptions } from './mcp-options';
import { plainName } from './mcp-tool-names';

/** Tools by which agents read what a server offers beside its tools; `tools` and `approval` hold for them, too. */
export const readingTools = {
  resources: ['list_resources', 'read_resource'],
  prompts: ['list_prompts', 'get_prompt'],
} as const;

/** Whether a text is a pattern, not a name. */
export const isPattern = (text: string): boolean => text.includes('*');

/** Whether a name is the one given, or fits the pattern. Contract: takes time in proportion to the name, for each part. */
export function fits(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

/** Whether agents get a tool of this name. */
export function isSelected({ allow, deny = [] }: McpOptions, name: string): boolean {
  const isIn = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => fits(pattern, name));
  return (allow === undefined || isIn(allow)) && !isIn(deny);
}

/** How the tool of this name is used. */
export function rulesFor({ tools = {} }: McpOptions, name: string): McpToolOptions {
  const patterns = Object.entries(tools).filter(([key]) => isPattern(key) && fits(key, name));
  const own = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return Object.assign({}, ...patterns.map(([, rules]) => rules), own) as McpToolOptions;
}

/** The end of a name that a digest makes unique: it does not show the server's own name. */
const digestEnd = /_[0-9a-f]{8}$/;

/**
 * What may be said of a tool that is known only by its name for agents, as its server does not list it now: at least all that the
 * options say of it.
 */
export function rulesThatMayFit(options: McpOptions, agentName: string): readonly McpToolOptions[] {
  const { name, tools = {} } = options;
  const rest = agentName.slice(name.length + 1);
  const entries = Object.entries(tools);
  const renamed = entries.find(([, { rename }]) => rename === rest);
  if (renamed !== undefined) return [rulesFor(options, renamed[0])];
  const parts = (key: string): string => key.split('*').map(plainName).join('*');
  return entries
    .filter(([key]) => digestEnd.test(rest) || fits(parts(key), rest))
    .map(([, rules]) => rules);
}

/** What the options say of all tools of the server, those that come later included. */
export function overall({ tools = {} }: McpOptions): {
  readonly approval: 'never' | 'always' | 'rule';
  readonly runsPrograms: boolean;
} {
  const { '*': all, ...others } = tools;
  const approvals = Object.values(others).flatMap(({ approval }) => approval ?? []);
  const approval = all?.approval ?? 'never';
  const isSame = typeof approval === 'string' && approvals.every((each) => each === approval);
  return {
    approval: isSame ? approval : 'rule',
    runsPrograms: Object.values(tools).some(({ runsPrograms }) => runsPrograms === true),
  };
}

/** In words, which names and patterns of the options fit no tool of the server: a misspelled one must not pass in silence. */
export function unusedNames(options: McpOptions, listed: readonly string[]): readonly string[] {
  const { name, allow = [], deny = [], tools = {} } = options;
  const there = [...listed, ...Object.values(readingTools).flat()];
  const given = [
    ...Object.keys(tools).map((key) => [key, 'tools'] as const),
    ...allow.map((key) => [key, 'allow'] as const),
    ...deny.map((key) => [key, 'deny'] as const),
  ];
  const remedyFor = (key: string): string => {
    const meant = nearestName(key, there);
    return meant === undefined
      ? "use the server's own names, without its prefix"
      : `perhaps "${sanitizeText(meant, { maxChars: 64 })}" is meant`;
  };
  return given
    .filter(([key]) => key !== '*' && !there.some((each) => fits(key, each)))
    .map(
      ([key, option]) =>
        `MCP server "${name}" lists no tool "${key}", which its option ${option} names; ${remedyFor(key)}.`,
    );
}
