/** Turns schemas into the JSON Schema subset that Anthropic, OpenAI Responses and Chat all accept. */
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';

/** Names of properties that Anthropic accepts; OpenAI takes more. */
export const propertyName = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Keywords that both vendors refuse at the top level, where only a plain object is allowed. */
const refusedAtTop = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if'] as const;

/** Schemas inside a schema, once references are resolved: a short schema can describe millions. */
const maxInlined = 5_000;

/** Deepest nesting of a schema; OpenAI allows 10 in strict mode. */
const maxDepth = 32;

/** True for a JSON object, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a JSON array, with its items typed. */
const isJsonArray = (value: JsonValue | undefined): value is readonly JsonValue[] =>
  Array.isArray(value);

/** The schema that a local reference (`#`, `#/$defs/Name`, `#/definitions/Name`) points to. Errors: `URIError`. */
export function resolveReference(root: JsonObject, reference: string): JsonValue | undefined {
  const [start, ...steps] = reference.split('/');
  return steps.reduce<JsonValue | undefined>(
    (found, step) => {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return isJsonObject(found) ? found[key] : undefined;
    },
    start === '#' ? root : undefined,
  );
}

const keywordsWithSchemaMaps = new Set(['properties', '$defs', 'definitions', 'patternProperties']);
const keywordsWithData = new Set(['default', 'enum', 'const', 'examples', 'example', 'required']);

/** The schema with a change made to each schema directly inside it; `step` leads there in a value: `.name`, `[]`. */
export function mapSchemas(
  node: JsonObject,
  change: (inner: JsonObject, step: string) => JsonObject,
): JsonObject {
  const changed = (value: JsonValue, step: string): JsonValue => {
    if (isJsonArray(value)) return value.map((item) => changed(item, step));
    return isJsonObject(value) ? change(value, step) : value;
  };
  const entries = Object.entries(node).map(([key, value]): [string, JsonValue] => {
    if (keywordsWithData.has(key)) return [key, value];
    if (!keywordsWithSchemaMaps.has(key) || !isJsonObject(value))
      return [key, changed(value, key === 'items' ? '[]' : '')];
    const named = Object.entries(value).map(([name, inner]): [string, JsonValue] => [
      name,
      changed(inner, `.${name}`),
    ]);
    return [key, Object.fromEntries(named)];
  });
  return Object.fromEntries(entries);
}

function inlineReferences(
  root: JsonObject,
  node: JsonObject,
  open: readonly JsonObject[],
  size: { inlined: number },
): JsonObject {
  size.inlined += 1;
  if (size.inlined > maxInlined) throw new RangeError('the schema is too large');
  const { $ref: reference, ...beside } = node;
  const target = typeof reference === 'string' ? resolveReference(root, reference) : undefined;
  if (!isJsonObject(target))
    return mapSchemas(node, (inner) => inlineReferences(root, inner, open, size));
  if (open.includes(target)) throw new RangeError('the schema is recursive');
  return inlineReferences(root, { ...target, ...beside }, [...open, target], size);
}

/** The schema with its definitions in the place of references; a recursive or very large one keeps both. */
export function withoutReferences({ $schema: _, $id: _id, ...schema }: JsonObject): JsonObject {
  const { $defs: _defs, definitions: _definitions, ...body } = schema;
  try {
    return inlineReferences(schema, body, [schema], { inlined: 0 });
  } catch {
    return schema;
  }
}

/**
 * Whether a schema keeps references: alternatives that refer to themselves take exponential time to check, so a foreign one is
 * not checked here.
 */
export function hasReferences(schema: JsonObject): boolean {
  return /"\$(?:ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(withoutReferences(schema)));
}

/** Drops keywords that mean nothing to a model or that a vendor refuses. */
function withoutNoise(node: JsonObject): JsonObject {
  const isNoise = (key: string, value: JsonValue): boolean => {
    if (key === 'minimum' || key === 'maximum') return Math.abs(Number(value)) === safeInteger;
    if (key === 'propertyNames') return isJsonObject(value) && Object.keys(value).join() === 'type';
    // For the runtime, not for the model (`privileged-parameters.ts`).
    return key === 'privileged' ? typeof value === 'boolean' : key === '$schema' || key === '$id';
  };
  return Object.fromEntries(Object.entries(node).filter(([key, value]) => !isNoise(key, value)));
}

/** The bound that zod gives to whole numbers. */
const safeInteger = Number.MAX_SAFE_INTEGER;

/** Called for what vendors refuse: throws, or returns a replacement. */
type Refuse = (construct: string, path: string, remedy: string, node: JsonObject) => JsonObject;

function checkArray(node: JsonObject, path: string, refuse: Refuse): JsonObject {
  if (node['prefixItems'] !== undefined || Array.isArray(node['items'])) {
    const remedy = 'use an object with named properties, or z.array';
    return { ...refuse('a tuple', path, remedy, node), items: {} };
  }
  return node['type'] === 'array' && !isJsonObject(node['items']) ? { ...node, items: {} } : node;
}

function checkProperties(node: JsonObject, path: string, refuse: Refuse): JsonObject {
  const properties = node['properties'];
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const bad = names.find((name) => !propertyName.test(name));
  if (bad === undefined) return node;
  const remedy = 'use 1 to 64 letters, digits, "_", "." or "-"';
  return refuse(`the property name ${JSON.stringify(bad)}`, path, remedy, node);
}

function acceptable(node: JsonObject, path: string, refuse: Refuse, depth = 0): JsonObject {
  if (depth > maxDepth)
    return refuse(`more than ${maxDepth} levels`, path, 'flatten the schema', {});
  const checked = checkProperties(checkArray(node, path, refuse), path, refuse);
  return mapSchemas(withoutNoise(checked), (inner, step) =>
    acceptable(inner, `${path}${step}`, refuse, depth + 1),
  );
}

function convert(schema: JsonObject, refuse: Refuse): JsonObject {
  let top = withoutReferences(schema);
  const refuseAtTop = (construct: string, remedy: string): void => {
    top = refuse(`${construct} at the top level`, 'input', remedy, top);
  };
  for (const keyword of refusedAtTop)
    if (top[keyword] !== undefined)
      refuseAtTop(`"${keyword}"`, 'wrap the alternatives: z.object({ request: z.union([…]) })');
  if (top['type'] !== 'object') {
    const type = JSON.stringify(top['type'] ?? 'any');
    refuseAtTop(`the type ${type}`, 'the input of a tool must be z.object({ … })');
  }
  const { properties = {} } = top;
  return acceptable({ ...top, type: 'object', properties }, 'input', refuse);
}

/** Closes each object that does not mention additional properties, except inside `allOf`. */
function closeObjects({ allOf, ...node }: JsonObject): JsonObject {
  const isSilent = isJsonObject(node['properties']) && node['additionalProperties'] === undefined;
  return {
    ...mapSchemas(node, closeObjects),
    ...(allOf !== undefined && { allOf }),
    ...(isSilent && { additionalProperties: false }),
  };
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
  const converted = convert(plainSchemaFromZod(tool, schema), (construct, path, remedy) => {
    throw new UserError(
      `Tool "${tool}": its input schema has ${construct} (at ${path}), which model vendors refuse; ${remedy}.`,
    );
  });
  return closeObjects(converted);
}

/** Types of zod whose values JSON does not have. */
const unsayable: ReadonlySet<string> = new Set([
  'bigint',
  'custom',
  'date',
  'function',
  'literal',
  'map',
  'nan',
  'set',
  'symbol',
  'transform',
  'undefined',
  'void',
]);

/** A place in a JSON Schema as one in an input: `input.items[].when`. */
function placeOf(path: readonly PropertyKey[]): string {
  let place = 'input';
  path.forEach((step, index) => {
    const isName = path[index - 1] === 'properties';
    if (isName) place += `.${String(step)}`;
    else if (step === 'items' || step === 'prefixItems') place += '[]';
    else if (step === 'additionalProperties') place += '.*';
  });
  return place;
}

/** Where a schema has what JSON Schema cannot say: `z.date() at input.when`. Empty if that cannot be told. */
function unsayableParts(schema: z.ZodType): readonly string[] {
  const found: string[] = [];
  try {
    z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema, path }) => {
        const { type } = zodSchema._zod.def;
        if (unsayable.has(type) && Object.keys(jsonSchema).length === 0)
          found.push(`z.${type}() at ${placeOf(path)}`);
      },
    });
  } catch {
    // The first error says enough.
  }
  return [...new Set(found)];
}

/**
 * A zod schema as JSON Schema, as its author means it.
 *
 * Errors: `UserError` for what JSON Schema cannot say, with the place of each part.
 */
export function plainSchemaFromZod(tool: string, schema: z.ZodType): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input' })));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new UserError(
      `Tool "${tool}": its input schema cannot be described to a model: ${[reason, ...unsayableParts(schema)].join('; ')}. ` +
        'Use JSON types in the input (z.string, z.number, z.boolean, z.array, z.object, z.enum) and convert in execute.',
      { cause: thrown },
    );
  }
  return isJsonObject(json) ? json : {};
}

/** Merges top-level alternatives into one object with all their properties; what only some of them require is optional. */
function mergeAlternatives(node: JsonObject): JsonObject {
  const branches = (key: string): readonly JsonObject[] => [node[key]].flat().filter(isJsonObject);
  const parts = [...branches('allOf'), node];
  const all = [...branches('oneOf'), ...branches('anyOf'), ...parts];
  const properties = all.flatMap(({ properties: own }) =>
    isJsonObject(own) ? Object.entries(own) : [],
  );
  const required = parts.flatMap(({ required: own }) => (isJsonArray(own) ? own : []));
  return {
    ...node,
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** The node without anything that a vendor may refuse. */
function loosened({
  prefixItems: _,
  properties,
  required,
  items,
  ...node
}: JsonObject): JsonObject {
  const isAccepted = (name: JsonValue): boolean =>
    typeof name === 'string' && propertyName.test(name);
  const named = isJsonObject(properties) ? Object.entries(properties) : [];
  const open = Object.entries(node).filter(([key]) => !refusedAtTop.some((word) => word === key));
  return {
    ...Object.fromEntries(open),
    ...(isJsonObject(items) && { items }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(named.filter(([name]) => isAccepted(name))),
    }),
    ...(isJsonArray(required) && { required: required.filter(isAccepted) }),
    ...(!named.every(([name]) => isAccepted(name)) && { additionalProperties: true }),
  };
}

/**
 * Makes a foreign schema (an MCP server's) acceptable: what a vendor refuses is removed from the model's schema, but still
 * applies when the input is checked. Alternatives at the top level become one object with all their properties.
 *
 * Contract: never throws.
 */
export function inputSchemaFromJson(schema: JsonObject): JsonObject {
  const merged = mergeAlternatives(withoutReferences(schema));
  return convert(merged, (_construct, _path, _remedy, node) => loosened(node));
}
