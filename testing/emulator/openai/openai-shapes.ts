/** What OpenAI's two wires refuse alike: the shapes that they share, and the vendor's words for what does not fit. */
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { imageMediaTypes, isBase64, pdfPages, sniffedMediaType } from '../media-rules';
import { innerIssue, numberOf, objectOf, stringOf } from '../json-read';
import type { VendorError } from '../step';
import { askedForm, openAiStrictProblem } from '../strict-schemas';

/** Refusals in the order in which the vendor would find them. */
export type Refusals = Generator<VendorError>;

/** A refusal as `invalid_request_error`. */
export function refusal(message: string, param: string | null, code: string | null): VendorError {
  return { status: 400, type: 'invalid_request_error', message, param, code };
}

/** A field that the API does not know. */
export function unknownField(param: string): VendorError {
  return refusal(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
}

/** Refuses a value from within a shape. In `message`, `{at}` is replaced by the place of the value. */
export function refuse(context: z.RefinementCtx, message: string, code: string): void {
  context.addIssue({ code: 'custom', message, params: { code } });
}

/** Each way in which a body does not fit the shape, in the vendor's words. */
export function* shapeRules(shape: z.ZodType, body: JsonObject): Refusals {
  for (const issue of shape.safeParse(body, { reportInput: true }).error?.issues ?? [])
    yield inVendorsWords(issue);
}

type Issue = z.core.$ZodIssue;

function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((place, key) => {
    if (typeof key === 'number') return `${place}[${key}]`;
    return place === '' ? String(key) : `${place}.${String(key)}`;
  }, '');
}

function inVendorsWords(issue: Issue): VendorError {
  const at = placeOf(issue.path);
  switch (issue.code) {
    case 'custom':
      return refusal(issue.message.replaceAll('{at}', at), at, String(issue.params?.['code']));
    case 'unrecognized_keys':
      return unknownField(placeOf([...issue.path, issue.keys[0] ?? '']));
    case 'invalid_value':
      return unsupportedWord(at, stringOf(issue.input as JsonValue), issue.values);
    case 'invalid_union':
      return outsideOfUnion(issue);
    case 'too_small':
    case 'too_big':
      return ofWrongSize(issue, at);
    case 'invalid_format':
      return ofWrongFormat(issue, at);
    case 'invalid_type':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
      return ofWrongType(at, issue.code === 'invalid_type' ? issue.expected : '', issue.input);
  }
}

function ofWrongType(at: string, expected: string, got: unknown): VendorError {
  if (got === undefined)
    return refusal(`Missing required parameter: '${at}'.`, at, 'missing_required_parameter');
  const wanted: Readonly<Record<string, string>> = {
    string: 'a string',
    object: 'an object',
    array: 'an array of objects',
    union: 'one of a string or array of objects',
  };
  const gotType = Array.isArray(got)
    ? 'an array'
    : `a${typeof got === 'object' ? 'n' : ''} ${typeof got}`;
  return refusal(
    `Invalid type for '${at}': expected ${wanted[expected] ?? `a ${expected}`}, but got ${got === null ? 'null' : gotType} instead.`,
    at,
    'invalid_type',
  );
}

function outsideOfUnion(issue: Extract<Issue, { code: 'invalid_union' }>): VendorError {
  const { discriminator } = issue;
  const inner = innerIssue(issue);
  if (inner !== undefined) return inVendorsWords(inner);
  if (discriminator === undefined) return ofWrongType(placeOf(issue.path), 'union', issue.input);
  const got = stringOf(objectOf(issue.input as JsonValue)[discriminator]);
  const path = discriminator === 'type' ? issue.path.slice(0, -1) : issue.path;
  return unsupportedWord(placeOf(path), got, 'options' in issue ? (issue.options ?? []) : []);
}

function unsupportedWord(at: string, got: string, supported: readonly unknown[]): VendorError {
  const words = supported.map((word) => `'${String(word)}'`);
  const comma = words.length < 3 ? ' and ' : ', and ';
  const list = [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(comma);
  return refusal(`Invalid value: '${got}'. Supported values are: ${list}.`, at, 'invalid_value');
}

/** A length or a number out of bounds. */
function ofWrongSize(
  issue: Extract<Issue, { code: 'too_small' | 'too_big' }>,
  at: string,
): VendorError {
  const { origin, input: got } = issue;
  const isSmall = issue.code === 'too_small';
  const bound = String(isSmall ? issue.minimum : issue.maximum);
  if (typeof got === 'number') {
    return refusal(
      `Invalid '${at}': integer below minimum value. Expected a value >= ${bound}, but got ${got} instead.`,
      at,
      'integer_below_min_value',
    );
  }
  const a = origin === 'array' ? 'an array' : 'a string';
  const { length } = got as string | readonly unknown[];
  const [fault, gotWords, code] = isSmall
    ? [`empty ${origin}`, `an empty ${origin}`, `empty_${origin}`]
    : [`${origin} too long`, `${a} with length ${length}`, `${origin}_above_max_length`];
  return refusal(
    `Invalid '${at}': ${fault}. Expected ${a} with ${isSmall ? 'minimum' : 'maximum'} length ${bound}, but got ${gotWords} instead.`,
    at,
    code,
  );
}

function ofWrongFormat(
  {
    input,
    pattern,
    prefix,
  }: Extract<Issue, { code: 'invalid_format' }> & { readonly prefix?: unknown },
  at: string,
): VendorError {
  const bare = (pattern ?? '').slice(1, -1);
  return refusal(
    typeof prefix === 'string'
      ? `Invalid '${at}': '${String(input)}'. Expected an ID that begins with '${prefix}'.`
      : `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '${bare}'.`,
    at,
    'invalid_value',
  );
}

/** Any value, or none. */
export const anything = z.unknown().optional();

/** A tool's or function's name (API reference). */
export const nameShape = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-zA-Z0-9_-]+$/);

/** An inline image. */
export const imageShape = z.string().superRefine((url, context) => {
  if (/^https?:\/\//.test(url)) return;
  const [, mediaType = '', data = ''] = /^data:([^;,]+);base64,(.*)$/.exec(url) ?? [];
  if (!isBase64(data)) {
    refuse(
      context,
      "Invalid '{at}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got an invalid value.",
      'invalid_value',
    );
  } else if (!imageMediaTypes.includes(mediaType) || sniffedMediaType(data) === undefined) {
    refuse(
      context,
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      'invalid_image_format',
    );
  }
});

/** An inline PDF with its name, as both wires have it (vercel/ai#7266). */
export const fileFields = {
  filename: z.string().min(1),
  file_data: z.string().superRefine((url, context) => {
    const [, data = ''] = /^data:application\/pdf;base64,(.*)$/.exec(url) ?? [];
    if (isBase64(data) && pdfPages(data) !== undefined) return;
    refuse(
      context,
      "Invalid file data: '{at}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got an invalid base64-encoded value.",
      'invalid_value',
    );
  }),
};

/** How closely the model looks at an image. */
export const detailShape = z.enum(['low', 'high', 'auto']).optional();

/** What is wrong with the schema of a function's parameters, in words. */
function schemaProblem(schema: JsonObject, isStrict: boolean): string | undefined {
  const { type, properties } = schema;
  if (type !== 'object')
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${stringOf(type) || 'None'}"'.`;
  if (properties === undefined) return 'In context=(), object schema missing properties.';
  if (['oneOf', 'anyOf', 'allOf', 'enum', 'not'].some((key) => schema[key] !== undefined))
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  return isStrict ? openAiStrictProblem(schema) : undefined;
}

/** The definition of a function. */
export const functionShape = z
  .looseObject({ name: nameShape, parameters: z.json().nullish(), strict: anything })
  .superRefine(({ name, parameters, strict }, context) => {
    if (parameters === undefined || parameters === null) return;
    const problem = schemaProblem(objectOf(parameters), strict === true);
    if (problem !== undefined)
      refuse(
        context,
        `Invalid schema for function '${name}': ${problem}`,
        'invalid_function_parameters',
      );
  });

/** A list of at most 128 tools (API reference); the shape is that of a tool of type `function`. */
export function toolsShape(functionTool: z.ZodType): z.ZodArray {
  const tool = z.looseObject({ type: z.string() }).superRefine((value, context) => {
    if (value.type !== 'function') return;
    for (const issue of functionTool.safeParse(value, { reportInput: true }).error?.issues ?? [])
      context.addIssue({ ...issue });
  });
  return z.array(tool).max(128);
}

/** Names that two tools share, and parameters that a reasoning model (`o1`, `o3`, `o4`, `gpt-5`, and their variants) refuses. */
export function* sharedRules(
  body: JsonObject,
  toolNames: readonly (JsonValue | undefined)[],
): Refusals {
  if (new Set(toolNames).size < toolNames.length)
    yield refusal('Tool names must be unique.', 'tools', 'invalid_value');
  yield* reasoningFieldRules(body);
  const form = askedForm(body);
  const problem = form && schemaProblem(form, true);
  if (problem !== undefined) {
    const field = body['text'] === undefined ? 'response_format' : 'text.format.schema';
    yield refusal(`Invalid schema for response_format: ${problem}`, field, 'invalid_json_schema');
  }
  if (!/^(o\d|gpt-5)/.test(stringOf(body['model']))) return;
  for (const field of ['top_p', 'stop']) {
    if (body[field] === undefined) continue;
    yield refusal(
      `Unsupported parameter: '${field}' is not supported with this model.`,
      field,
      'unsupported_parameter',
    );
  }
  if (body['max_tokens'] !== undefined) {
    yield refusal(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    );
  }
  const temperature = numberOf(body['temperature']) ?? 1;
  if (temperature !== 1) {
    yield refusal(
      `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`,
      'temperature',
      'unsupported_value',
    );
  }
}

/** Efforts that the API knows (API reference); each model takes a part of them. */
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** Classes of service (API reference). */
const tiers = ['auto', 'default', 'flex', 'scale', 'priority'];

function* reasoningFieldRules(body: JsonObject): Refusals {
  const tier = body['service_tier'];
  if (tier !== undefined && !tiers.includes(stringOf(tier)))
    yield unsupportedWord('service_tier', stringOf(tier), tiers);
  const [field, effort] =
    body['reasoning_effort'] === undefined
      ? ['reasoning.effort', objectOf(body['reasoning'])['effort']]
      : ['reasoning_effort', body['reasoning_effort']];
  if (effort === undefined) return;
  if (/^(gpt-[34]|chatgpt)/.test(stringOf(body['model'])))
    yield refusal(
      `Unsupported parameter: '${field}' is not supported with this model.`,
      field,
      'unsupported_parameter',
    );
  if (!efforts.includes(stringOf(effort))) yield unsupportedWord(field, stringOf(effort), efforts);
}

/** The first id that was there before. */
export function repeated(ids: readonly string[]): string | undefined {
  if (new Set(ids).size === ids.length) return undefined;
  return ids.find((id, index) => ids.indexOf(id) < index);
}

/** The first refusal, or none. */
export function firstOf(refusals: Refusals): VendorError | undefined {
  const [first] = refusals;
  return first;
}
