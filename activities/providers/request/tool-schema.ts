/** Rewrites a tool's JSON Schema for servers that take a part of it: into an equivalent, else into words of the description. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { asNumber, asText, isRecord } from '../untrusted-json';

/** The part of JSON Schema that a server takes. What a call may have is still decided by the tool's own schema. */
export interface SchemaSubset {
  /** All others are rewritten. `$ref` is always written out, and a type stands in every place but beside `anyOf`. */
  readonly keywords: readonly string[];
  /** Values of `format` by type; absent: all. */
  readonly formats?: Readonly<Record<string, readonly string[]>>;
  /** Types whose values an `enum` may list; absent: all. */
  readonly enumTypes?: readonly string[];
  /** True if `null` is the keyword `nullable`. */
  readonly hasNullable?: boolean;
  /** True if a tool without inputs has no schema. */
  readonly hasNoEmptyObject?: boolean;
}

const shared = ['type', 'description', 'properties', 'required', 'items', 'anyOf', 'enum'];
const bounds = ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'minItems', 'maxItems'];

/**
 * Gemini's function declarations: `Schema` of its API reference.
 *
 * Source: "Unknown name "exclusiveMinimum" …: Cannot find field." (pizza-bot-app/pizza-bot#62, zed-industries/zed#44875),
 * "Proto field is not repeating, cannot start list" (hashgraph/hedera-agent-kit-js#448), "enum: only allowed for STRING type"
 * (directus/directus#27100).
 */
export const geminiSchemas: SchemaSubset = {
  keywords: [...shared, ...bounds, 'format', 'nullable', 'minProperties', 'maxProperties'],
  formats: {
    string: ['date-time', 'enum'],
    number: ['float', 'double'],
    integer: ['int32', 'int64'],
  },
  enumTypes: ['string'],
  hasNullable: true,
  hasNoEmptyObject: true,
};

/**
 * Moonshot's "flavored" schemas.
 *
 * Source: "when using anyOf, type should be defined in anyOf items instead of the parent schema", "type is not defined",
 * "required property … is not defined in properties" (MoonshotAI/kimi-cli#2531, earendil-works/pi#4138, MoonshotAI/kimi-code#1610).
 */
export const moonshotSchemas: SchemaSubset = {
  keywords: [...shared, ...bounds, 'format', 'const', 'default', 'additionalProperties', 'title'],
};

/** Levels of a schema that are written out; what is deeper is any value. */
const deepest = 12;
/** How often a recursive reference is written out within itself. */
const mostRepeats = 2;
/** Keywords of a whole schema that are written out: references multiply, and a hostile server's schema must end. */
const mostKeywords = 5_000;
/** Keywords that say nothing about a value. */
const silent = /^(?:\$\w+|definitions|title|examples|deprecated|readOnly|writeOnly)$/;

interface Scope {
  readonly root: JsonObject;
  readonly subset: SchemaSubset;
  readonly depth: number;
  /** References on the way here. */
  readonly references: readonly string[];
  readonly written: { keywords: number };
}

const isObject = (value: JsonValue | undefined): value is JsonObject => isRecord(value);
const objectOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});
const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : [];

/**
 * The schema in the part that a server takes.
 *
 * Contract: pure, total; the result has only `keywords` of the subset. A place that takes any value asks for text, as the server
 * demands a type; nothing else that fits the tool's own schema is ruled out.
 */
export function schemaWithin(schema: JsonObject, subset: SchemaSubset): JsonObject {
  return rewritten(schema, {
    root: schema,
    subset,
    depth: 0,
    references: [],
    written: { keywords: 0 },
  });
}

function rewritten(given: JsonValue | undefined, outer: Scope): JsonObject {
  const { schema, references } = flattened(objectOf(given), outer);
  const scope = { ...outer, depth: outer.depth + 1, references };
  scope.written.keywords += Object.keys(schema).length;
  const repeats = references.filter((each) => each === references.at(-1)).length;
  if (scope.depth > deepest || repeats > mostRepeats || scope.written.keywords > mostKeywords)
    return { type: 'string', description: asText(schema['description']) || 'any value' };
  const words: string[] = [];
  const plain = typed(withoutExclusives(withoutConst(schema, scope, words), words));
  const kept: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(plain)) {
    const fitting = keywordWithin(keyword, value, plain, scope, words);
    if (fitting !== undefined) kept[keyword] = fitting;
  }
  const named = objectOf(kept['properties']);
  const required = listOf(kept['required']).filter((name) => Object.hasOwn(named, asText(name)));
  if (required.length > 0) kept['required'] = required;
  else delete kept['required'];
  const description = [asText(plain['description']), ...words].filter((text) => text !== '');
  if (description.length > 0) kept['description'] = description.join('; ');
  return kept;
}

/** What the keyword may be; undefined, and words, where the server does not take it. */
function keywordWithin(
  keyword: string,
  value: JsonValue,
  schema: JsonObject,
  scope: Scope,
  words: string[],
): JsonValue | undefined {
  switch (keyword) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(objectOf(value)).map(([name, each]) => [name, rewritten(each, scope)]),
      );
    case 'items':
      return rewritten(value, scope);
    case 'anyOf':
      return listOf(value).map((branch) => rewritten(branch, scope));
    case 'enum':
      return enumWithin(listOf(value), schema, scope.subset, words);
    case 'description':
      return undefined;
    default:
      return plainKeyword(keyword, value, schema, scope.subset, words);
  }
}

function plainKeyword(
  keyword: string,
  value: JsonValue,
  schema: JsonObject,
  subset: SchemaSubset,
  words: string[],
): JsonValue | undefined {
  if (isTaken(keyword, value, schema, subset)) return value;
  if (!silent.test(keyword) && value !== false && !isTrivial(keyword, value))
    words.push(`${keyword} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return undefined;
}

function isTaken(
  keyword: string,
  value: JsonValue,
  { type }: JsonObject,
  { keywords, formats }: SchemaSubset,
): boolean {
  if (!keywords.includes(keyword)) return false;
  if (keyword === 'format' && formats !== undefined)
    return formats[asText(type)]?.includes(asText(value)) === true;
  return !(keyword === 'additionalProperties' && isObject(value));
}

/** Zod writes that names of properties are text. */
function isTrivial(keyword: string, value: JsonValue): boolean {
  return keyword === 'propertyNames' && isObject(value) && Object.keys(value).join() === 'type';
}

function enumWithin(
  values: readonly JsonValue[],
  { type }: JsonObject,
  { enumTypes }: SchemaSubset,
  words: string[],
): JsonValue | undefined {
  if (enumTypes === undefined) return values.length === 0 ? undefined : [...values];
  const sent = values.filter((value) => typeof value === 'string' && value !== '');
  const isWhole = sent.length === values.filter((value) => value !== null && value !== '').length;
  if (!enumTypes.includes(asText(type)) || sent.length === 0 || !isWhole) {
    if (values.length > 0) words.push(`one of ${JSON.stringify(values)}`);
    return undefined;
  }
  if (sent.length < values.length) words.push('may be empty');
  return sent;
}

interface Flat {
  readonly schema: JsonObject;
  readonly references: readonly string[];
}

/** The schema without references, `allOf`, `oneOf`, tuples, and a list of types; an `anyOf` of one is that one. */
function flattened(given: JsonObject, scope: Scope): Flat {
  let flat: Flat = { schema: given, references: scope.references };
  for (let step = 0; step < deepest; step += 1) {
    const { schema, references } = referenced(flat.schema, flat.references, scope.root);
    const whole = withOneKindOfItems(merged(schema));
    const { anyOf, ...rest } = withOneType(whole, scope.subset);
    const branches = listOf(anyOf);
    flat = { schema: branches.length < 2 ? rest : { ...rest, anyOf: branches }, references };
    if (branches.length === 1) flat = { ...flat, schema: { ...rest, ...objectOf(branches[0]) } };
    else if (['$ref', 'allOf', 'oneOf'].every((name) => !Object.hasOwn(flat.schema, name))) break;
  }
  return flat;
}

/** The schema that a local `$ref` names, with what stands beside it. */
function referenced(
  { $ref: reference, ...beside }: JsonObject,
  references: readonly string[],
  root: JsonObject,
): Flat {
  if (typeof reference !== 'string') return { schema: beside, references };
  const named = objectOf(namedIn(root, reference));
  return { schema: { ...named, ...beside }, references: [...references, reference] };
}

function namedIn(root: JsonObject, reference: string): JsonValue | undefined {
  const path = reference.replace(/^#\/?/, '').split('/');
  return path
    .filter((name) => name !== '')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<JsonValue | undefined>((value, name) => objectOf(value)[name], root);
}

/** `allOf` as one schema, `oneOf` as `anyOf`. */
function merged({ allOf, oneOf, ...schema }: JsonObject): JsonObject {
  const whole = [schema, ...listOf(allOf).map(objectOf)].reduce<JsonObject>((all, part) => {
    const properties = { ...objectOf(all['properties']), ...objectOf(part['properties']) };
    const required = [...listOf(all['required']), ...listOf(part['required'])];
    return {
      ...all,
      ...part,
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
    };
  }, {});
  return oneOf === undefined || whole['anyOf'] !== undefined ? whole : { ...whole, anyOf: oneOf };
}

/** A tuple as a list of any of its kinds. */
function withOneKindOfItems({ prefixItems, ...schema }: JsonObject): JsonObject {
  const kinds = [...listOf(prefixItems), ...listOf(schema['items'])];
  return kinds.length === 0 ? schema : { ...schema, items: { anyOf: kinds } };
}

/** One type for each schema: several become branches, those of `anyOf` have their own, and `null` is `nullable` where a server has that. */
function withOneType(schema: JsonObject, { hasNullable = false }: SchemaSubset): JsonObject {
  const { type, anyOf, ...rest } = schema;
  const named = Array.isArray(type) ? listOf(type) : type === undefined ? [] : [type];
  const types = named.filter((name) => !hasNullable || name !== 'null');
  const branches = listOf(anyOf).filter(
    (branch) => !hasNullable || objectOf(branch)['type'] !== 'null',
  );
  const takesNull = types.length < named.length || branches.length < listOf(anyOf).length;
  const plain: JsonObject = takesNull ? { ...rest, nullable: true } : rest;
  const [first, second] = types;
  if (branches.length > 0) {
    const inherited: JsonObject = first === undefined ? {} : { type: first };
    return { ...plain, anyOf: branches.map((branch) => ({ ...inherited, ...objectOf(branch) })) };
  }
  if (second !== undefined) return { ...plain, anyOf: types.map((name) => ({ type: name })) };
  return first === undefined ? plain : { ...plain, type: first };
}

function typeNameOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

/** `const` as an `enum` of one. */
function withoutConst(schema: JsonObject, { subset }: Scope, words: string[]): JsonObject {
  const { const: only, ...rest } = schema;
  if (only === undefined || subset.keywords.includes('const')) return schema;
  if (typeof only === 'string') return { type: 'string', ...rest, enum: [only] };
  words.push(`must be ${JSON.stringify(only)}`);
  return only === null ? { ...rest, nullable: true } : { type: typeNameOf(only), ...rest };
}

/** Above 0 is from 1 on for an integer; for other numbers the bound itself is excluded in words. */
function withoutExclusives(schema: JsonObject, words: string[]): JsonObject {
  const { exclusiveMinimum: above, exclusiveMaximum: below, ...rest } = schema;
  const isInteger = rest['type'] === 'integer';
  const [least, most] = [asNumber(above), asNumber(below)];
  if (least !== undefined && !isInteger) words.push(`greater than ${least}`);
  if (most !== undefined && !isInteger) words.push(`less than ${most}`);
  const closest = (name: string, bound: number, pick: (...all: number[]) => number): JsonObject => {
    const given = asNumber(rest[name]);
    return { [name]: given === undefined ? bound : pick(given, bound) };
  };
  return {
    ...rest,
    ...(least === undefined
      ? {}
      : closest('minimum', isInteger ? Math.floor(least) + 1 : least, Math.max)),
    ...(most === undefined
      ? {}
      : closest('maximum', isInteger ? Math.ceil(most) - 1 : most, Math.min)),
  };
}

/** A type where there is none: what the other keywords are about, else a text. A list has items. */
function typed(schema: JsonObject): JsonObject {
  const { type, anyOf, enum: values, properties, items } = schema;
  if (anyOf !== undefined) return schema;
  const [first] = listOf(values);
  const about = properties !== undefined ? 'object' : items !== undefined ? 'array' : undefined;
  const own = type ?? about ?? (first === undefined ? 'string' : typeNameOf(first));
  return own === 'array' && items === undefined
    ? { ...schema, type: own, items: { type: 'string' } }
    : { ...schema, type: own };
}
