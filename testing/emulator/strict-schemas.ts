/** What vendors refuse of a JSON Schema that they are to enforce, in their words. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { isList, isObject, listOf, objectOf, stringOf } from './json-read';

type Path = readonly string[];

/** Schemas below a schema, with their places. */
function* below(schema: JsonObject, path: Path): Generator<readonly [JsonObject, Path]> {
  for (const [name, value] of Object.entries(objectOf(schema['properties'])))
    yield [objectOf(value), [...path, 'properties', name]];
  if (schema['items'] !== undefined) yield [objectOf(schema['items']), [...path, 'items']];
  for (const keyword of ['anyOf', 'oneOf', 'allOf'])
    for (const [index, value] of listOf(schema[keyword]).entries())
      yield [objectOf(value), [...path, keyword, String(index)]];
}

/** OpenAI's guide to Structured Outputs, "Supported schemas". */
const openAiUnknown = [
  ...['minLength', 'maxLength', 'uniqueItems', 'minProperties', 'maxProperties', 'propertyNames'],
  ...['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'prefixItems', 'default'],
];

/** OpenAI's problem with a strict schema; undefined if it enforces it. */
export function openAiStrictProblem(schema: JsonObject, path: Path = []): string | undefined {
  const at = `In context=(${path.map((step) => `'${step}'`).join(', ')})`;
  const { type, properties, required, additionalProperties } = schema;
  const unknown = openAiUnknown.find((keyword) => schema[keyword] !== undefined);
  if (unknown !== undefined) return `${at}, '${unknown}' is not permitted.`;
  if (type === undefined && !['anyOf', '$ref', 'enum', 'const'].some((key) => key in schema))
    return `${at}, schema must have a 'type' key.`;
  if (type === 'object') {
    if (additionalProperties !== false)
      return `${at}, 'additionalProperties' is required to be supplied and to be false.`;
    const left = Object.keys(objectOf(properties)).find((key) => !listOf(required).includes(key));
    if (left !== undefined)
      return `${at}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`;
  }
  if (type === 'array' && schema['items'] === undefined)
    return `${at}, array schema missing items.`;
  for (const [inner, place] of below(schema, path)) {
    const problem = openAiStrictProblem(inner, place);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Keywords that Anthropic does not enforce, by type (guide to structured outputs, "JSON Schema limitations"). */
const anthropicUnknown: Readonly<Record<string, readonly string[]>> = {
  integer: ['minimum', 'maximum', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: ['minimum', 'maximum', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'],
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems'],
};

/** Anthropic's problem with a schema that it is to enforce; undefined if it does. */
export function anthropicStrictProblem(schema: JsonObject): string | undefined {
  const type = stringOf(schema['type']);
  const found = (anthropicUnknown[type] ?? []).filter((keyword) => schema[keyword] !== undefined);
  if (found.length > 0)
    return `For '${type}' type, properties ${found.join(', ')} are not supported`;
  if (type === 'object' && schema['additionalProperties'] !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  for (const [inner] of below(schema, [])) {
    const problem = anthropicStrictProblem(inner);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The form that a request asks the vendor to enforce, wherever its wire has it; undefined if none. */
export function askedForm(body: JsonObject): JsonObject | undefined {
  const chat = objectOf(objectOf(body['response_format'])['json_schema'])['schema'];
  const responses = objectOf(objectOf(body['text'])['format'])['schema'];
  const anthropic = objectOf(objectOf(body['output_config'])['format'])['schema'];
  const form: JsonValue | undefined = chat ?? responses ?? anthropic;
  return form === undefined || isList(form) || !isObject(form) ? undefined : form;
}
