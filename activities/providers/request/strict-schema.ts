/** Rewrites a JSON Schema into the part that a vendor enforces while the model writes (ADR 0057). */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { asText, isRecord } from '../untrusted-json';
import { perObject } from './per-object';
import type { SchemaSubset } from './tool-schema';
import { schemaWithin } from './tool-schema';

const isObject = (value: JsonValue | undefined): value is JsonObject => isRecord(value);
const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : [];
const valuesOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  isObject(value) ? Object.values(value) : [];

/** Keywords without which a schema says nothing about its value. */
const telling = ['type', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'];
/** Keywords whose meaning a closed schema cannot keep: references that are left are recursive. */
const beyond = ['$ref', 'patternProperties', 'prefixItems', 'not', 'if', 'dependentSchemas'];

/** Whether a closed schema can allow everything that this one allows. */
function isClosable(schema: JsonValue): boolean {
  if (!isObject(schema) || !telling.some((keyword) => Object.hasOwn(schema, keyword))) return false;
  if (beyond.some((keyword) => Object.hasOwn(schema, keyword))) return false;
  const { additionalProperties: more, items, properties, type } = schema;
  if (more !== undefined && more !== false) return false;
  if (type === 'object' && properties === undefined) return false;
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => listOf(schema[keyword]));
  return [...valuesOf(properties), ...parts, ...(items === undefined ? [] : [items])].every(
    isClosable,
  );
}

function orNull(schema: JsonObject): JsonObject {
  const { description, ...rest } = schema;
  const hasNull = listOf(rest['anyOf']).some((each) => isObject(each) && each['type'] === 'null');
  return hasNull || rest['type'] === 'null'
    ? schema
    : { anyOf: [rest, { type: 'null' }], ...(description === undefined ? {} : { description }) };
}

/** Closes each object of a schema that has only the keywords of a subset. */
function closed(schema: JsonObject, requiresAll: boolean): JsonObject {
  const inner = (value: JsonValue): JsonObject =>
    isObject(value) ? closed(value, requiresAll) : {};
  const { properties, items, anyOf, ...rest } = schema;
  const required = listOf(rest['required']).map(asText);
  const named = isObject(properties) ? Object.entries(properties) : [];
  return {
    ...rest,
    ...(anyOf === undefined ? {} : { anyOf: listOf(anyOf).map(inner) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(rest['type'] === 'object'
      ? {
          properties: Object.fromEntries(
            named.map(([name, value]) => {
              const own = inner(value);
              return [name, requiresAll && !required.includes(name) ? orNull(own) : own];
            }),
          ),
          required: requiresAll ? named.map(([name]) => name) : required,
          additionalProperties: false,
        }
      : {}),
  };
}

/** A schema as a vendor enforces it. */
interface Strict {
  /** Absent if a closed schema would rule out what the whole one allows: records, any value, recursion. */
  readonly strict?: JsonObject;
}

function strictly(
  subset: SchemaSubset,
  { requiresAll }: { readonly requiresAll: boolean },
): (schema: JsonObject) => Strict {
  return perObject((schema: JsonObject) =>
    schema['type'] === 'object' && isClosable(schema)
      ? { strict: closed(schemaWithin(schema, subset), requiresAll) }
      : {},
  );
}

const shared = ['type', 'description', 'properties', 'required', 'items', 'anyOf', 'enum', 'const'];
const formats = [
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
];

/**
 * What OpenAI enforces. A property that may be absent may be null instead: `withoutFilledNulls` takes it out of what the model writes.
 *
 * Contract: pure; what is not enforced stands in words in the description, and is still checked by the whole schema.
 * Source: OpenAI's guide to Structured Outputs, "Supported schemas". Patterns are left to our own check: dialects of them differ.
 */
export const openAiStrict = strictly(
  {
    keywords: [...shared, 'format', 'multipleOf', 'minimum', 'maximum', 'minItems', 'maxItems'],
    formats: { string: formats },
  },
  { requiresAll: true },
);

/** What Anthropic enforces. Contract: as `openAiStrict`. Source: its guide to structured outputs, "JSON Schema limitations". */
export const anthropicStrict = strictly(
  { keywords: [...shared, 'format'], formats: { string: [...formats, 'uri'] } },
  { requiresAll: false },
);

/** Whether a place of a schema takes null. */
function takesNull(schema: JsonObject): boolean {
  const { type, anyOf, oneOf, enum: values } = schema;
  if (schema['const'] === null || listOf(values).includes(null)) return true;
  if (type === 'null' || listOf(type).includes('null')) return true;
  const branches = [...listOf(anyOf), ...listOf(oneOf)];
  return branches.some((branch) => isObject(branch) && takesNull(branch));
}

/** The one branch of a union with null. */
function nonNull(schema: JsonObject): JsonObject {
  const branches = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter(isObject);
  const [only, second] = branches.filter(({ type }) => type !== 'null');
  return only === undefined || second !== undefined ? schema : only;
}

/**
 * The value without the nulls that stand for absent properties: of properties that need not be there, and whose schema takes no null.
 *
 * Contract: pure; nothing else changes. Unions of objects are left as they are.
 */
export function withoutFilledNulls(value: JsonValue, schema: JsonObject): JsonValue {
  const { properties, items, required } = nonNull(schema);
  if (Array.isArray(value) && isObject(items))
    return listOf(value).map((each) => withoutFilledNulls(each, items));
  if (!isObject(value) || !isObject(properties)) return value;
  const kept = Object.entries(value).flatMap(([name, each]): [string, JsonValue][] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isObject(own)) return [[name, each]];
    const isFilled = each === null && !listOf(required).includes(name) && !takesNull(own);
    return isFilled ? [] : [[name, withoutFilledNulls(each, own)]];
  });
  return Object.fromEntries(kept);
}
