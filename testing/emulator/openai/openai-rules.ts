/** Refusals and rules that OpenAI's two wires share. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { imageMediaTypes, isBase64, sniffedMediaType } from '../image-rules';
import { isObject, listOf, numberOf, objectOf, stringOf } from '../json-read';
import type { VendorError } from '../step';

/** Refusals in the order in which the vendor would find them. */
export type Refusals = Generator<VendorError>;

/** Longest tool name on both wires (API reference). */
const maxNameCharacters = 64;
/** Most tools per request (API reference). */
const maxTools = 128;
const namePattern = /^[a-zA-Z0-9_-]+$/;

/** A refusal as `invalid_request_error`. */
export function refusal(message: string, param: string | null, code: string | null): VendorError {
  return { status: 400, type: 'invalid_request_error', message, param, code };
}

/** A field is missing. */
export function missing(param: string): VendorError {
  return refusal(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
}

/** A field has the wrong JSON type. */
export function wrongType(param: string, wanted: string, got: JsonValue | undefined): VendorError {
  return refusal(
    `Invalid type for '${param}': expected ${wanted}, but got ${typeWords(got)} instead.`,
    param,
    'invalid_type',
  );
}

function typeWords(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A list has no entries. */
export function emptyArray(param: string): VendorError {
  return refusal(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    'empty_array',
  );
}

/** A number is too small. */
export function belowMinimum(param: string, minimum: number, got: number): VendorError {
  return refusal(
    `Invalid '${param}': integer below minimum value. Expected a value >= ${minimum}, but got ${got} instead.`,
    param,
    'integer_below_min_value',
  );
}

/** A field that the API does not know. */
export function unknownField(param: string): VendorError {
  return refusal(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
}

/** A word that is none of the supported ones. */
export function unsupportedWord(
  param: string,
  got: string,
  supported: readonly string[],
): VendorError {
  const words = supported.map((word) => `'${word}'`);
  const list =
    words.length < 3
      ? words.join(' and ')
      : `${words.slice(0, -1).join(', ')}, and ${words.at(-1) ?? ''}`;
  return refusal(`Invalid value: '${got}'. Supported values are: ${list}.`, param, 'invalid_value');
}

/** A string must be there, not empty, not longer than so many characters. */
export function* stringRules(
  value: JsonValue | undefined,
  param: string,
  maximum: number,
): Refusals {
  if (value === undefined) yield missing(param);
  if (typeof value !== 'string') {
    yield wrongType(param, 'a string', value);
    return;
  }
  if (value === '') {
    yield refusal(
      `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      param,
      'empty_string',
    );
  }
  if (value.length > maximum) {
    yield refusal(
      `Invalid '${param}': string too long. Expected a string with maximum length ${maximum}, but got a string with length ${value.length} instead.`,
      param,
      'string_above_max_length',
    );
  }
}

/** A list must not have more entries. */
export function* lengthRules(
  value: JsonValue | undefined,
  param: string,
  maximum: number,
): Refusals {
  const { length } = listOf(value);
  if (length <= maximum) return;
  yield refusal(
    `Invalid '${param}': array too long. Expected an array with maximum length ${maximum}, but got an array with length ${length} instead.`,
    param,
    'array_above_max_length',
  );
}

/** A tool's or function's name. */
export function* nameRules(value: JsonValue | undefined, param: string): Refusals {
  yield* stringRules(value, param, maxNameCharacters);
  if (!namePattern.test(stringOf(value))) {
    yield refusal(
      `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '${namePattern.source}'.`,
      param,
      'invalid_value',
    );
  }
}

function* strictRules(schema: JsonObject, refuse: (what: string) => VendorError): Refusals {
  if (schema['additionalProperties'] !== false) {
    yield refuse(
      "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    );
  }
  const required = listOf(schema['required']).map(stringOf);
  const left = Object.keys(objectOf(schema['properties'])).find((key) => !required.includes(key));
  if (left !== undefined) {
    yield refuse(
      `In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`,
    );
  }
}

function* parameterRules(definition: JsonObject, param: string): Refusals {
  const schema = definition['parameters'];
  const refuse = (what: string): VendorError =>
    refusal(
      `Invalid schema for function '${stringOf(definition['name'])}': ${what}`,
      param,
      'invalid_function_parameters',
    );
  if (schema === undefined || schema === null) return;
  const type = isObject(schema) ? schema['type'] : undefined;
  if (type !== 'object') {
    const got = typeof type === 'string' ? type : 'None';
    yield refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: "${got}"'.`);
  }
  if (!isObject(schema)) return;
  if (schema['properties'] === undefined) {
    yield refuse('In context=(), object schema missing properties.');
  }
  if (['oneOf', 'anyOf', 'allOf', 'enum', 'not'].some((key) => schema[key] !== undefined)) {
    yield refuse(
      "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    );
  }
  if (definition['strict'] === true) yield* strictRules(schema, refuse);
}

function* choiceRules(body: JsonObject): Refusals {
  for (const field of ['tool_choice', 'parallel_tool_calls']) {
    if (body[field] === undefined) continue;
    yield refusal(
      `Invalid value for '${field}': '${field}' is only allowed when 'tools' are specified.`,
      field,
      null,
    );
  }
}

/** Tools; `nested` where their definition sits under `function` (Chat Completions). */
export function* toolRules(body: JsonObject, nested: boolean): Refusals {
  const tools = body['tools'];
  if (tools === undefined) {
    if (nested) yield* choiceRules(body);
    return;
  }
  const list = listOf(tools).map(objectOf);
  if (nested && list.length === 0) yield emptyArray('tools');
  yield* lengthRules(tools, 'tools', maxTools);
  for (const [index, tool] of list.entries()) {
    if (tool['type'] === undefined) yield missing(`tools[${index}].type`);
    if (tool['type'] === 'function') yield* definitionRules(tool, `tools[${index}]`, nested);
  }
  const names = list.map((tool) => stringOf((nested ? objectOf(tool['function']) : tool)['name']));
  if (new Set(names).size < names.length) {
    yield refusal('Tool names must be unique.', 'tools', 'invalid_value');
  }
}

function* definitionRules(tool: JsonObject, place: string, nested: boolean): Refusals {
  const at = nested ? `${place}.function` : place;
  const definition = nested ? objectOf(tool['function']) : tool;
  yield* nameRules(definition['name'], `${at}.name`);
  yield* parameterRules(definition, `${at}.parameters`);
}

/** An inline image and its detail. */
export function* imageRules(url: string, detail: JsonValue | undefined, param: string): Refusals {
  if (detail !== undefined && !['low', 'high', 'auto'].includes(stringOf(detail))) {
    yield unsupportedWord(`${param}.detail`, stringOf(detail), ['low', 'high', 'auto']);
  }
  if (/^https?:\/\//.test(url)) return;
  const match = /^data:([^;,]+);base64,(.*)$/.exec(url);
  const [mediaType, data] = [match?.[1] ?? '', match?.[2] ?? ''];
  if (match === null || !isBase64(data)) {
    yield refusal(
      `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got an invalid value.`,
      param,
      'invalid_value',
    );
  }
  if (!imageMediaTypes.includes(mediaType) || sniffedMediaType(data) === undefined) {
    yield refusal(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      null,
      'invalid_image_format',
    );
  }
}

/** Models that reason refuse the older parameters (`o1`, `o3`, `o4`, `gpt-5` and their variants). */
export function* reasoningModelRules(body: JsonObject): Refusals {
  if (!/^(o\d|gpt-5)/.test(stringOf(body['model']))) return;
  if (body['max_tokens'] !== undefined && body['messages'] !== undefined) {
    yield refusal(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    );
  }
  const temperature = numberOf(body['temperature']);
  if (temperature !== undefined && temperature !== 1) {
    yield refusal(
      `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`,
      'temperature',
      'unsupported_value',
    );
  }
}

/** The first refusal, or none. */
export function firstOf(refusals: Refusals): VendorError | undefined {
  for (const found of refusals) return found;
  return undefined;
}
