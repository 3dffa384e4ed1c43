/** A server's schema as JSON Schema: what is none is left out, since a vendor refuses a whole request for the sake of one keyword. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { isJsonObject, resolveReference } from '../input-schema';

const typeNames: readonly unknown[] = [
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
];

type Check = (value: JsonValue) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const isSchema: Check = (value) => isJsonObject(value) || typeof value === 'boolean';
const isList: Check = (value) => Array.isArray(value);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const isFilledListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every(check);
const isType: Check = (value) => typeNames.includes(value);
const isPattern: Check = (value) => {
  try {
    return typeof value === 'string' && new RegExp(value) instanceof RegExp;
  } catch {
    return false;
  }
};

/** What a keyword may hold; one that is not listed may hold anything. Source: JSON Schema 2020-12, and `items` lists of draft 7. */
const checks: Readonly<Record<string, Check>> = {
  type: (value) => isType(value) || isFilledListOf(isType)(value),
  title: isText,
  description: isText,
  format: isText,
  pattern: isPattern,
  enum: isFilledListOf(() => true),
  examples: isList,
  required: isListOf(isText),
  properties: isJsonObject,
  patternProperties: isJsonObject,
  dependentSchemas: isJsonObject,
  $defs: isJsonObject,
  definitions: isJsonObject,
  items: (value) => isSchema(value) || isListOf(isSchema)(value),
  prefixItems: isListOf(isSchema),
  additionalProperties: isSchema,
  propertyNames: isSchema,
  contains: isSchema,
  not: isSchema,
  if: isSchema,
  then: isSchema,
  else: isSchema,
  anyOf: isFilledListOf(isSchema),
  oneOf: isFilledListOf(isSchema),
  allOf: isFilledListOf(isSchema),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: (value) => typeof value === 'boolean',
};

const named: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);
const data: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', 'example']);

function leadsNowhere(root: JsonObject, reference: JsonValue): boolean {
  try {
    return typeof reference !== 'string' || !isJsonObject(resolveReference(root, reference));
  } catch {
    return true;
  }
}

/**
 * The schema without keywords that hold what they may not, and without references that lead nowhere. A property whose schema is
 * none may be anything.
 *
 * Errors: `RangeError` if it is nested too deeply.
 */
export function soundSchema(schema: JsonObject, root = schema): JsonObject {
  const inner = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(inner);
    return isJsonObject(value) ? soundSchema(value, root) : value;
  };
  const anySchema = (value: JsonValue): JsonValue => (isJsonObject(value) ? inner(value) : {});
  const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    if (key === '$ref' && leadsNowhere(root, value)) return [];
    if (Object.hasOwn(checks, key) && checks[key]?.(value) !== true) return [];
    if (data.has(key)) return [[key, value]];
    if (!named.has(key) || !isJsonObject(value)) return [[key, inner(value)]];
    const schemas = Object.entries(value).map(([name, each]) => [name, anySchema(each)] as const);
    return [[key, Object.fromEntries(schemas)]];
  });
  return Object.fromEntries(entries);
}
