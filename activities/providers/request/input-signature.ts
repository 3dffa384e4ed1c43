/** A tool's input in a line that a small model reads well and cannot mistake for a call: `{"room": string, "nights"?: integer}`. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { asText, isRecord } from '../untrusted-json';

/** Keywords that a signature has words for; a schema with another one is shown as it is. */
const known = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'oneOf'],
  ...['enum', 'const', 'description', 'title', 'default', 'format', 'pattern', 'examples'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'uniqueItems', 'deprecated'],
]);

/** Levels that are written as a signature; what is deeper is shown as it is. */
const deepest = 6;

const isObject = (value: JsonValue | undefined): value is JsonObject => isRecord(value);
const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : [];

const bound = /^(?:format|pattern|default|m(?:in|ax)\w+|exclusive\w+|multipleOf)$/;

/** What a value must be beside its type, in words: the author's description, then bounds; a default if that names none. */
function remarks(schema: JsonObject): string {
  const description = asText(schema['description']).replace(/\s+/g, ' ').trim();
  const bounds = Object.entries(schema).flatMap(([keyword, value]) =>
    bound.test(keyword) && !(keyword === 'default' && /default/i.test(description))
      ? [`${keyword} ${typeof value === 'string' ? value : JSON.stringify(value)}`]
      : [],
  );
  const said = [description, ...bounds].filter((each) => each !== '').join('; ');
  return said === '' ? '' : ` (${said})`;
}

function fieldsOf(schema: JsonObject, depth: number): string {
  const { properties, additionalProperties: more } = schema;
  const required = new Set(listOf(schema['required']));
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => {
    const optional = required.has(name) ? '' : '?';
    const said = isObject(field) ? `${typeOf(field, depth)}${remarks(field)}` : 'any';
    return `${JSON.stringify(name)}${optional}: ${said}`;
  });
  const others = isObject(more) ? [`[any name]: ${typeOf(more, depth)}`] : [];
  return `{${[...fields, ...others].join(', ')}}`;
}

function listType(items: JsonValue | undefined, depth: number): string {
  const item = isObject(items) ? typeOf(items, depth) : 'any';
  return / \| /.test(item) ? `(${item})[]` : `${item}[]`;
}

function typeOf(schema: JsonObject, depth: number): string {
  const isKnown = Object.keys(schema).every((keyword) => known.has(keyword));
  const isMixed = schema['type'] !== undefined && ('anyOf' in schema || 'oneOf' in schema);
  if (depth > deepest || !isKnown || isMixed) return JSON.stringify(schema);
  const { type, enum: values, const: only } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values))
    return listOf(values)
      .map((value) => JSON.stringify(value))
      .join(' | ');
  const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter(isObject);
  if (alternatives.length > 0)
    return alternatives.map((each) => typeOf(each, depth + 1)).join(' | ');
  const types = typeof type === 'string' ? [type] : listOf(type).map(asText);
  const named = types.map((each) => {
    if (each === 'object') return fieldsOf(schema, depth + 1);
    return each === 'array' ? listType(schema['items'], depth + 1) : each;
  });
  return named.length === 0 ? 'any' : named.join(' | ');
}

/**
 * The signature of an input schema.
 *
 * Contract: pure; never throws. Each property is named, with `?` if it may be left out, its type, and its description; what has
 * no words here (`$ref`, `allOf`, …) is JSON Schema in its place. The schema itself still decides what a call may have.
 */
export function inputSignature(schema: JsonObject): string {
  return schema['type'] === 'object' ? typeOf(schema, 0) : JSON.stringify(schema);
}
