/** What an MCP server says about its tools, made safe before anybody reads it: one by one, sanitized, and bounded. */
import { ToolSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { sanitizeText } from '../../untrusted/sanitizer';
import { maxDescriptionChars } from '../define-tool';
import { isJsonObject, propertyName } from '../input-schema';

/** Characters of a tool's own name; the protocol recommends at most 128. */
const maxNameChars = 128;
/** Characters of a schema as JSON. The largest of a public server that we know has 20,000. */
const maxSchemaChars = 64 * 1024;
/** Characters of all schemas of a server: each run carries the definitions in a payload of at most 2 MB (ADR 0003). */
const maxServerChars = 512 * 1024;
/** Names in a schema: those of keywords and parameters, and patterns (`activities/untrusted/foreign-pattern.ts`). */
const maxKeyChars = 1_000;

/** A tool whose definition can be used. */
export interface McpDefinition {
  readonly tool: McpTool;
  /** Sanitized. */
  readonly description: string;
  /** As the server wrote it, to check inputs by. */
  readonly schema: JsonObject;
  /** The same for the model: sanitized. */
  readonly shownSchema: JsonObject;
}

/** What can be used of a server's list, and in words what cannot. */
export interface McpDefinitions {
  readonly definitions: readonly McpDefinition[];
  readonly dropped: readonly string[];
}

const clean = (text: string): string => sanitizeText(text, { maxChars: maxDescriptionChars });

/** A schema without secrets and hidden characters in any of its texts; entries with such a name are left out. */
function cleanSchema(value: JsonValue): JsonValue {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map(cleanSchema);
  if (!isJsonObject(value)) return value;
  const isPlain = ([key]: readonly [string, JsonValue]): boolean =>
    key.length <= maxKeyChars && clean(key) === key;
  const entries = Object.entries(value).filter(isPlain);
  return Object.fromEntries(entries.map(([key, inner]) => [key, cleanSchema(inner)]));
}

/** Leaves out required names that no vendor accepts: a refusal would repeat them to the model, as orders in plain words. */
function withoutOddNames(key: string, value: unknown): unknown {
  const isAccepted = (name: unknown): boolean =>
    typeof name === 'string' && propertyName.test(name);
  return key === 'required' && Array.isArray(value) ? value.filter(isAccepted) : value;
}

/** The definition, or in words why it cannot be used. */
function definitionOf(listed: unknown): McpDefinition | string {
  try {
    const parsed = ToolSchema.safeParse(listed);
    if (!parsed.success)
      return `it is no tool: ${parsed.error.issues[0]?.message ?? 'not an object'}`;
    const tool = parsed.data;
    const { name, description = '' } = tool;
    if (name === '' || name.length > maxNameChars)
      return `its name has ${name.length} characters, not 1 to ${maxNameChars}`;
    if (clean(name) !== name) return 'its name holds hidden characters or a secret';
    const json = JSON.stringify(tool.inputSchema);
    if (json.length > maxSchemaChars)
      return `its schema has ${json.length} characters, more than ${maxSchemaChars}`;
    const schema = JSON.parse(json, withoutOddNames) as JsonObject;
    const shownSchema = cleanSchema(schema) as JsonObject;
    return { tool, description: clean(description).trim(), schema, shownSchema };
  } catch {
    return 'its definition is nested too deeply';
  }
}

/** The beginning of what a tool calls itself, for people. */
function shownName(listed: unknown): string {
  const name: unknown = isJsonObject(listed) ? listed['name'] : undefined;
  return typeof name === 'string' ? sanitizeText(name, { maxChars: 64 }) : '?';
}

/**
 * Takes a server's list apart: a tool that cannot be used does not take the others with it.
 *
 * Contract: never throws, whatever the server listed; what it gives is bounded.
 */
export function mcpDefinitions(server: string, listed: readonly unknown[]): McpDefinitions {
  const definitions: McpDefinition[] = [];
  const dropped: string[] = [];
  let chars = 0;
  for (const each of listed) {
    const definition = definitionOf(each);
    if (typeof definition !== 'string') {
      chars += JSON.stringify(definition.schema).length + maxDescriptionChars;
      if (chars <= maxServerChars) definitions.push(definition);
    }
    const problem =
      chars > maxServerChars
        ? `the definitions of this server have more than ${maxServerChars} characters`
        : definition;
    if (typeof problem === 'string')
      dropped.push(`MCP server "${server}": tool "${shownName(each)}" is left out: ${problem}.`);
  }
  return { definitions, dropped };
}
