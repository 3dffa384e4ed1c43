/** What an MCP server says about its tools, made safe before anybody reads it: one by one, sanitized, and bounded. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import { canonicalJson, contentHash } from '../../stores/content-hash';
import { sanitizeText } from '../../untrusted/sanitizer';
import { maxDescriptionChars } from '../define-tool';
import { isJsonObject, propertyName, withoutReferences } from '../input-schema';
import { soundSchema } from './sound-schema';

/** Characters of a tool's own name; the protocol recommends at most 128. */
const maxNameChars = 128;
/** Characters of a schema as JSON. The largest of a public server that we know has 20,000. */
const maxSchemaChars = 64 * 1024;
/** Characters of all schemas of a server: each run carries the definitions in a payload of at most 2 MB (ADR 0003). */
const maxServerChars = 512 * 1024;
/** Names in a schema: those of keywords and parameters, and patterns (`activities/untrusted/foreign-pattern.ts`). */
const maxKeyChars = 1_000;

/** What a server says about what a tool does; believed only if the server's hints are trusted. */
interface McpHints {
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
}

/** A tool whose definition can be used. */
export interface McpDefinition {
  /** The server's own name. */
  readonly name: string;
  readonly hints: McpHints;
  /** Sanitized. */
  readonly description: string;
  /** As the server wrote it, as far as it is JSON Schema, to check inputs by. */
  readonly schema: JsonObject;
  /** The same for the model: sanitized. */
  readonly shownSchema: JsonObject;
  /** Of results; absent if there is none that can be used. */
  readonly outputSchema?: JsonObject;
  /** Digest of name, description, input schema and hints as the server wrote them: an approval is bound to it. */
  readonly digest: string;
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

/** Whether a schema is one of objects, or may be one: what it says about the type, or its alternatives do. */
function isOfObjects(schema: JsonObject): boolean {
  const { type } = schema;
  if (type !== undefined) return [type].flat().includes('object');
  const alternatives = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat().filter(isJsonObject);
  return alternatives.length === 0 || alternatives.some(isOfObjects);
}

/** The input schema, or in words why there is none. A tool without one has no parameters that it names. */
function inputSchemaOf(given: JsonValue | undefined): JsonObject | string {
  const json = JSON.stringify(given ?? {});
  if (json.length > maxSchemaChars)
    return `its schema has ${json.length} characters, more than ${maxSchemaChars}`;
  const listed: unknown = given === true ? {} : JSON.parse(json, withoutOddNames);
  if (!isJsonObject(listed)) return 'its input schema is no JSON object';
  const schema = soundSchema(listed);
  return isOfObjects(withoutReferences(schema))
    ? schema
    : 'its input schema does not describe an object';
}

/** The schema of results, if it can be used: a bad one costs nothing. */
function outputSchemaOf(given: JsonValue | undefined): JsonObject | undefined {
  try {
    if (!isJsonObject(given) || JSON.stringify(given).length > maxSchemaChars) return undefined;
    return soundSchema(given);
  } catch {
    return undefined;
  }
}

/** In words why a name cannot be used. */
function nameProblem(name: string): string | undefined {
  if (name === '' || name.length > maxNameChars)
    return `its name has ${name.length} characters, not 1 to ${maxNameChars}`;
  return clean(name) === name ? undefined : 'its name holds hidden characters or a secret';
}

/** Whether a tool runs only as a task of the protocol, whose results are fetched later. */
function needsTask(execution: JsonValue | undefined): boolean {
  return isJsonObject(execution) && execution['taskSupport'] === 'required';
}

/** The definition, or in words why it cannot be used. */
function definitionOf(listed: unknown): McpDefinition | string {
  try {
    if (!isJsonObject(listed)) return 'it is no tool: it is no JSON object';
    const { name, annotations, inputSchema } = listed;
    if (typeof name !== 'string') return 'it is no tool: its name is not a string';
    const problem = nameProblem(name);
    if (problem !== undefined) return problem;
    if (needsTask(listed['execution'])) return 'it runs only as a task, which is not supported';
    const schema = inputSchemaOf(inputSchema);
    if (typeof schema === 'string') return schema;
    const hints = isJsonObject(annotations) ? annotations : {};
    const given = typeof listed['description'] === 'string' ? listed['description'] : '';
    return {
      name,
      hints: {
        isReadOnly: hints['readOnlyHint'] === true,
        isIdempotent: hints['idempotentHint'] === true,
      },
      description: clean(given).trim(),
      schema,
      shownSchema: cleanSchema(schema) as JsonObject,
      ...defined({ outputSchema: outputSchemaOf(listed['outputSchema']) }),
      digest: contentHash(canonicalJson({ name, given, inputSchema: inputSchema ?? null, hints })),
    };
  } catch {
    return 'its definition is nested too deeply';
  }
}

/** The beginning of what a tool calls itself, for people. */
function shownName(listed: unknown): string {
  const name: unknown = isJsonObject(listed) ? listed['name'] : undefined;
  return typeof name === 'string'
    ? sanitizeText(name.slice(0, maxKeyChars), { maxChars: 64 })
    : '?';
}

/**
 * Takes a server's list apart: a tool that cannot be used does not take the others with it.
 *
 * Contract: never throws, whatever the server listed; what it gives is bounded; each name comes once.
 */
export function mcpDefinitions(server: string, listed: readonly unknown[]): McpDefinitions {
  const definitions = new Map<string, McpDefinition>();
  const dropped: string[] = [];
  let chars = 0;
  const use = (definition: McpDefinition): string | undefined => {
    if (definitions.has(definition.name)) return 'the server lists another one of this name';
    chars += JSON.stringify(definition.schema).length + maxDescriptionChars;
    if (chars > maxServerChars)
      return `the definitions of this server have more than ${maxServerChars} characters`;
    definitions.set(definition.name, definition);
    return undefined;
  };
  for (const each of listed) {
    const definition = definitionOf(each);
    const problem = typeof definition === 'string' ? definition : use(definition);
    if (problem !== undefined)
      dropped.push(`MCP server "${server}": tool "${shownName(each)}" is left out: ${problem}.`);
  }
  return { definitions: [...definitions.values()], dropped };
}
