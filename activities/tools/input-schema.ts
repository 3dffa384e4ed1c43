/** Turns schemas into the JSON Schema subset that Anthropic, OpenAI Responses and Chat all accept. */
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';

/** Names of properties that Anthropic accepts; OpenAI takes more. */
const propertyName = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Keywords that both vendors refuse at the top level, where only a plain object is allowed. */
const refusedAtTop = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if'] as const;

/** Deepest nesting of a schema; OpenAI allows 10 in strict mode. */
const maxDepth = 32;

/** True for a JSON object, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a JSON array, with its items typed. */
const isJsonArray = (value: JsonValue | undefined): value is readonly JsonValue[] =>
  Array.isArray(value);

/** The schema that a local reference (`#`, `#/$defs/Name`, `#/definitions/Name`) points to. */
export function resolveReference(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference === '#') {
    return root;
  }
  if (!reference.startsWith('#/')) {
    return undefined;
  }
  let found: JsonValue | undefined = root;
  for (const step of reference.slice(2).split('/')) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isJsonObject(found) ? found[key] : undefined;
  }
  return found;
}

/** Inlines references, except recursive ones, which keep their definitions. */
function inlineReferences(root: JsonObject, node: JsonValue, open: readonly string[]): JsonValue {
  if (Array.isArray(node)) {
    return node.map((item: JsonValue) => inlineReferences(root, item, open));
  }
  if (!isJsonObject(node)) {
    return node;
  }
  const reference = node['$ref'];
  if (typeof reference === 'string' && reference !== '#' && !leadsBack(root, reference)) {
    const target = resolveReference(root, reference);
    if (isJsonObject(target) && open.length < maxDepth) {
      const beside = Object.entries(node).filter(([key]) => key !== '$ref');
      const inlined = { ...target, ...Object.fromEntries(beside) };
      return inlineReferences(root, inlined, [...open, reference]);
    }
  }
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, inlineReferences(root, value, open)]),
  );
}

/** References of a schema, at any depth. */
function referencesIn(node: JsonValue | undefined, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(node)) {
    node.forEach((item: JsonValue) => referencesIn(item, found));
  } else if (isJsonObject(node)) {
    const reference = node['$ref'];
    if (typeof reference === 'string') {
      found.add(reference);
    }
    Object.values(node).forEach((value) => referencesIn(value, found));
  }
  return found;
}

/** Whether following a reference comes back to it. */
function leadsBack(root: JsonObject, reference: string): boolean {
  const seen = new Set<string>();
  const open = [...referencesIn(resolveReference(root, reference))];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === reference || next === '#') {
      return true;
    }
    if (!seen.has(next)) {
      seen.add(next);
      open.push(...referencesIn(resolveReference(root, next)));
    }
  }
  return false;
}

/** Drops keywords that mean nothing to a model or that a vendor refuses. */
function withoutNoise(node: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(node).filter(([key, value]) => {
      const isSafeIntegerBound =
        (key === 'minimum' || key === 'maximum') &&
        (value === Number.MIN_SAFE_INTEGER || value === Number.MAX_SAFE_INTEGER);
      const isPlainNames =
        key === 'propertyNames' && isJsonObject(value) && Object.keys(value).join() === 'type';
      // For the runtime, not for the model (`privileged-parameters.ts`).
      const isMark = key === 'privileged' && typeof value === 'boolean';
      const isNoise = isSafeIntegerBound || isPlainNames || isMark;
      return !isNoise && key !== '$schema' && key !== '$id';
    }),
  );
}

/** The origin of a checked schema, for messages. */
interface SchemaOrigin {
  readonly tool: string;
  /** Called for what vendors refuse: throws, or returns a replacement. */
  readonly refuse: (
    construct: string,
    path: string,
    remedy: string,
    node: JsonObject,
  ) => JsonObject;
}

type SchemaCheck = (node: JsonObject, path: string, origin: SchemaOrigin) => JsonObject;

const checkArray: SchemaCheck = (node, path, origin) => {
  if (node['prefixItems'] !== undefined || Array.isArray(node['items'])) {
    const remedy = 'use an object with named properties, or z.array';
    return { ...origin.refuse('a tuple', path, remedy, node), items: {} };
  }
  return node['type'] === 'array' && !isJsonObject(node['items']) ? { ...node, items: {} } : node;
};

const checkProperties: SchemaCheck = (node, path, origin) => {
  const properties = node['properties'];
  const bad = isJsonObject(properties)
    ? Object.keys(properties).find((name) => !propertyName.test(name))
    : undefined;
  return bad === undefined
    ? node
    : origin.refuse(
        `the property name ${JSON.stringify(bad)}`,
        path,
        'use 1 to 64 letters, digits, "_", "." or "-"',
        node,
      );
};

const keywordsWithSchemaMaps = new Set(['properties', '$defs', 'definitions', 'patternProperties']);
const keywordsWithData = new Set(['default', 'enum', 'const', 'examples', 'example', 'required']);

function acceptable(
  node: JsonObject,
  path: string,
  origin: SchemaOrigin,
  depth: number,
): JsonObject {
  if (depth > maxDepth) {
    return origin.refuse(`more than ${maxDepth} levels`, path, 'flatten the schema', {});
  }
  const checked = withoutNoise(checkProperties(checkArray(node, path, origin), path, origin));
  const child = (value: JsonValue, childPath: string): JsonValue =>
    Array.isArray(value)
      ? value.map((item: JsonValue) => child(item, childPath))
      : isJsonObject(value)
        ? acceptable(value, childPath, origin, depth + 1)
        : value;
  return Object.fromEntries(
    Object.entries(checked).map(([key, value]): [string, JsonValue] => {
      if (keywordsWithData.has(key)) {
        return [key, value];
      }
      if (keywordsWithSchemaMaps.has(key) && isJsonObject(value)) {
        const entries = Object.entries(value);
        return [
          key,
          Object.fromEntries(entries.map(([name, v]) => [name, child(v, `${path}.${name}`)])),
        ];
      }
      return [key, child(value, key === 'items' ? `${path}[]` : path)];
    }),
  );
}

function withObjectTop(schema: JsonObject, origin: SchemaOrigin): JsonObject {
  let top = schema;
  for (const keyword of refusedAtTop) {
    if (top[keyword] !== undefined) {
      top = origin.refuse(
        `"${keyword}" at the top level`,
        'input',
        'wrap the alternatives: z.object({ request: z.union([…]) })',
        top,
      );
    }
  }
  if (top['type'] !== 'object') {
    top = origin.refuse(
      `the type ${JSON.stringify(top['type'] ?? 'any')} at the top level`,
      'input',
      'the input of a tool must be z.object({ … })',
      top,
    );
  }
  return { ...top, type: 'object', properties: top['properties'] ?? {} };
}

function convert(schema: JsonObject, origin: SchemaOrigin): JsonObject {
  const inlined = inlineReferences(schema, schema, []);
  const root = isJsonObject(inlined) ? inlined : {};
  const usesDefinitions = Object.entries(root).some(
    ([key, value]) =>
      key !== '$defs' && key !== 'definitions' && [...referencesIn(value)].some((r) => r !== '#'),
  );
  const { $defs, definitions, ...body } = root;
  const kept: JsonObject = usesDefinitions
    ? { ...body, ...($defs && { $defs }), ...(definitions && { definitions }) }
    : body;
  return acceptable(withObjectTop(kept, origin), 'input', origin, 0);
}

/** Closes each object that does not mention additional properties, except inside `allOf`. */
function closeObjects(node: JsonObject): JsonObject {
  const close = (value: JsonValue): JsonValue =>
    isJsonArray(value) ? value.map(close) : isJsonObject(value) ? closeObjects(value) : value;
  const closed = Object.entries(node).map(([key, value]): [string, JsonValue] =>
    key === 'allOf' || keywordsWithData.has(key) ? [key, value] : [key, close(value)],
  );
  const isSilent = isJsonObject(node['properties']) && node['additionalProperties'] === undefined;
  return { ...Object.fromEntries(closed), ...(isSilent && { additionalProperties: false }) };
}

/**
 * Converts a tool's zod schema.
 *
 * Errors: `UserError` that names the tool, the construct and the remedy, for what one of the vendors refuses or JSON Schema
 * cannot say. Unknown properties are refused unless the schema is loose: a dropped `dry_run` would run for real.
 * Source: vendors' 400 answers: no `anyOf`, `oneOf`, `allOf`, `not`, `enum` at the top level; property names
 * `^[a-zA-Z0-9_.-]{1,64}$`; arrays need `items`.
 */
export function inputSchemaFromZod(tool: string, schema: z.ZodType): JsonObject {
  const converted = convert(plainSchemaFromZod(tool, schema), {
    tool,
    refuse: (construct, path, remedy) => {
      throw new UserError(
        `Tool "${tool}": its input schema has ${construct} (at ${path}), which model vendors refuse; ${remedy}.`,
      );
    },
  });
  return closeObjects(converted);
}

/**
 * Adds the metadata of a schema from another copy of zod. Its descriptions and `privileged` marks are in that copy's registry,
 * which only the schema can read; approvals depend on the marks.
 */
function addOwnMeta(schema: object, json: object): void {
  const own = schema as { readonly meta?: () => unknown };
  if (typeof own.meta !== 'function') return;
  const said = own.meta();
  for (const [key, value] of Object.entries({ ...(said as object | undefined) }))
    if (key !== 'id' && !(key in json)) Object.assign(json, { [key]: value });
}

/**
 * A zod schema as JSON Schema, as its author means it.
 *
 * Errors: `UserError` for what JSON Schema cannot say.
 */
export function plainSchemaFromZod(tool: string, schema: z.ZodType): JsonObject {
  let json: unknown;
  try {
    const converted = z.toJSONSchema(schema, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        if (z.globalRegistry.get(zodSchema) === undefined) addOwnMeta(zodSchema, jsonSchema);
      },
    });
    json = JSON.parse(JSON.stringify(converted));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new UserError(
      `Tool "${tool}": its input schema cannot be described to a model: ${reason}. ` +
        'Use JSON types in the input (z.string, z.number, z.boolean, z.array, z.object, z.enum) and convert in execute.',
      { cause: thrown },
    );
  }
  return isJsonObject(json) ? json : {};
}

/** Merges top-level alternatives into one object with all their properties; required is what every alternative requires. */
function mergeAlternatives(node: JsonObject): JsonObject {
  const alternatives = [node['oneOf'], node['anyOf']]
    .filter(isJsonArray)
    .flat()
    .filter((branch) => isJsonObject(branch) && isJsonObject(branch['properties']))
    .filter(isJsonObject);
  const parts = [node['allOf']].filter(isJsonArray).flat().filter(isJsonObject);
  const all = [...alternatives, ...parts, node].map((branch) => branch['properties']);
  const properties: JsonObject = Object.fromEntries(
    all.filter(isJsonObject).flatMap(Object.entries),
  );
  const requiredOf = (branch: JsonObject): readonly JsonValue[] =>
    isJsonArray(branch['required']) ? branch['required'] : [];
  const common = alternatives
    .map(requiredOf)
    .reduce<readonly JsonValue[] | undefined>(
      (held, names) => held?.filter((name) => names.includes(name)) ?? names,
      undefined,
    );
  const required = new Set([...requiredOf(node), ...parts.flatMap(requiredOf), ...(common ?? [])]);
  return {
    ...node,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** The node without anything that a vendor may refuse. */
function loosened(node: JsonObject): JsonObject {
  const open = Object.fromEntries(
    Object.entries(node).filter(
      ([key, value]) =>
        key !== 'prefixItems' &&
        !refusedAtTop.some((refused) => refused === key) &&
        !(key === 'items' && !isJsonObject(value)),
    ),
  );
  const { properties, required } = open;
  if (!isJsonObject(properties)) {
    return open;
  }
  const isAcceptedName = (name: JsonValue): boolean =>
    typeof name === 'string' && propertyName.test(name);
  return {
    ...open,
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => isAcceptedName(name)),
    ),
    ...(isJsonArray(required) && { required: required.filter(isAcceptedName) }),
    ...(Object.keys(properties).every(isAcceptedName) ? {} : { additionalProperties: true }),
  };
}

/**
 * Makes a foreign schema (an MCP server's) acceptable: what a vendor refuses is removed from the model's schema, but still
 * applies when the input is checked. Alternatives at the top level become one object with all their properties.
 *
 * Contract: never throws.
 */
export function inputSchemaFromJson(tool: string, schema: JsonObject): JsonObject {
  return convert(mergeAlternatives(schema), {
    tool,
    refuse: (_construct, _path, _remedy, node) => loosened(node),
  });
}
