/** What fits Anthropic's Messages wire, and the vendor's words for what does not. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import { imageMediaTypes, isBase64, pdfPages, pngEdge, sniffedMediaType } from '../media-rules';
import { innerIssue, isObject, stringOf } from '../json-read';
import type { ValidationContext } from '../wire';

/** Bytes of one image's base64 text (API errors quote 5 MB of the encoded text). */
const maxImageBytes = 5_242_880;
/** Pixels of an image's longer side (vision guide). */
const maxEdge = 8_000;
/** Refuses sampling fields even at their defaults (vendor's migration guide). */
const versionWithoutSampling = '2026-10-21';

const anything = z.unknown().optional();
const idShape = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const nameShape = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);

/** In a message of a shape, `{at}` is replaced by the place of the value. */
function textShape(scope: string): z.ZodString {
  return z
    .string()
    .min(1, `${scope}: text content blocks must be non-empty`)
    .regex(/\S/, `${scope}: text content blocks must contain non-whitespace text`);
}

/** What is wrong with an image, in words. */
function imageProblem(mediaType: string, data: string): string | undefined {
  if (data.length > maxImageBytes)
    return `{at}: image exceeds 5 MB maximum: ${data.length} bytes > ${maxImageBytes} bytes`;
  if (pngEdge(data) > maxEdge)
    return `{at}.data: At least one of the image dimensions exceed max allowed size: ${maxEdge} pixels`;
  if (!isBase64(data)) return '{at}.data: Invalid base64 data';
  const sniffed = sniffedMediaType(data);
  if (sniffed === undefined) return 'Could not process image';
  return sniffed === mediaType
    ? undefined
    : `{at}.data: Image does not match the provided media type ${mediaType}`;
}

const imageSource = z.discriminatedUnion('type', [
  z
    .looseObject({
      type: z.literal('base64'),
      media_type: z.enum(imageMediaTypes),
      data: z.string(),
    })
    .superRefine(({ media_type: mediaType, data }, context) => {
      const problem = imageProblem(mediaType, data);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
  z.looseObject({ type: z.literal('url') }),
  z.looseObject({ type: z.literal('file') }),
]);

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: textShape('messages'),
  cache_control: anything,
  citations: anything,
});
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: imageSource,
  cache_control: anything,
});
/** A PDF, or a text; the vendor's words for what is none (anthropics/claude-code#5174). */
const documentSource = z.discriminatedUnion('type', [
  z
    .looseObject({
      type: z.literal('base64'),
      media_type: z.literal('application/pdf'),
      data: z.string(),
    })
    .superRefine(({ data }, context) => {
      const problem = !isBase64(data)
        ? '{at}.data: Invalid base64 data'
        : pdfPages(data) === undefined
          ? '{at}.data: The PDF specified was not valid.'
          : undefined;
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
  z.looseObject({ type: z.literal('text'), data: z.string() }),
  z.looseObject({ type: z.enum(['content', 'url', 'file']) }),
]);

const documentBlock = z.strictObject({
  type: z.literal('document'),
  source: documentSource,
  cache_control: anything,
  citations: anything,
  context: anything,
  title: anything,
});
const resultPart = z.discriminatedUnion('type', [
  documentBlock,
  imageBlock,
  z.looseObject({ type: z.literal('search_result') }),
  textBlock,
]);

/** Results of tools that the vendor itself runs (API reference, server tools). */
const serverResults = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'mcp_tool_result',
] as const;

const blockShape = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['server_tool_use', 'mcp_tool_use']), id: idShape }),
  z.looseObject({ type: z.enum(serverResults), tool_use_id: idShape }),
  textBlock,
  imageBlock,
  documentBlock,
  z.strictObject({ type: z.literal('thinking'), thinking: anything, signature: z.string() }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: anything }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: idShape,
    name: nameShape,
    input: z.record(z.string(), z.unknown()),
    cache_control: anything,
    caller: anything,
    toolset_name: anything,
  }),
  z
    .strictObject({
      type: z.literal('tool_result'),
      tool_use_id: idShape,
      content: z.union([z.string(), z.array(resultPart)]).optional(),
      is_error: anything,
      cache_control: anything,
      toolset_name: anything,
    })
    .refine(({ is_error: isError, content = '' }) => isError !== true || content.length > 0, {
      error: '{at}: content cannot be empty if `is_error` is true',
    }),
]);

const messageShape = z
  .strictObject({
    role: z.enum(['user', 'assistant']),
    content: z.union([z.string(), z.array(blockShape)]),
  })
  .refine(({ content }) => content.length > 0, {
    error:
      '{at}: all messages must have non-empty content except for the optional final assistant message',
  });

const customTool = z.looseObject({
  name: nameShape,
  input_schema: z
    .looseObject({ type: z.literal('object') })
    .refine((schema) => !['oneOf', 'allOf', 'anyOf'].some((key) => schema[key] !== undefined), {
      error: '{at}: input_schema does not support oneOf, allOf, or anyOf at the top level',
    }),
});
const toolShape = z.looseObject({ type: z.string().optional() }).superRefine((tool, context) => {
  if ((tool.type ?? 'custom') !== 'custom') return;
  for (const issue of customTool.safeParse(tool, { reportInput: true }).error?.issues ?? [])
    context.addIssue({ ...issue });
});

const thinkingShape = z.discriminatedUnion('type', [
  // Extended thinking guide.
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.number().min(1024) }),
  z.looseObject({ type: z.literal('adaptive') }),
  z.looseObject({ type: z.literal('disabled') }),
]);

/** Top-level fields that the API knows (API reference; the SDK's `MessageCreateParams`). */
const knownFields = {
  model: z.string(),
  messages: z.array(messageShape).min(1, '{at}: at least one message is required'),
  system: z.union([z.string(), z.array(z.looseObject({ text: textShape('system') }))]).optional(),
  tools: z.array(toolShape).optional(),
  thinking: thinkingShape.optional(),
  tool_choice: z.looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']) }).optional(),
  stream: anything,
  stop_sequences: z.array(z.string().min(1)).optional(),
  metadata: anything,
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  container: anything,
  context_management: anything,
  mcp_servers: anything,
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: anything,
    })
    .optional(),
  output_format: anything,
  inference_geo: anything,
  cache_control: anything,
  diagnostics: anything,
  speed: anything,
  user_profile_id: anything,
  workspace_id: anything,
};

function bodyShape({ headers }: ValidationContext): z.ZodType {
  const temperature = z.number().min(0, '{at}: range: 0..1').max(1, '{at}: range: 0..1').optional();
  return z.strictObject({
    ...knownFields,
    max_tokens: z.int().min(1),
    ...(headers['anthropic-version'] === versionWithoutSampling
      ? {}
      : { temperature, top_p: anything, top_k: anything }),
  });
}

/** Each way in which a body does not fit the wire, in the vendor's words. */
export function* shapeProblems(body: JsonObject, context: ValidationContext): Generator<string> {
  const { error } = bodyShape(context).safeParse(body, { reportInput: true });
  for (const issue of error?.issues ?? []) yield inVendorsWords(body, issue);
}

/** Places name the type of a block, a source, a tool, and thinking, as the vendor's do. */
function placeOf(body: JsonObject, path: readonly PropertyKey[]): string {
  let value: unknown = body;
  return path
    .flatMap((key) => {
      value = (value as Record<PropertyKey, unknown> | undefined)?.[key];
      const { type } = isObject(value as JsonObject) ? (value as JsonObject) : {};
      const isTagged = typeof key === 'number' || key === 'source' || key === 'thinking';
      const tag = path[0] === 'tools' && path.length > 1 && key === path[1] ? 'custom' : type;
      return isTagged && typeof tag === 'string' ? [key, tag] : [key];
    })
    .join('.');
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'list',
  int: 'integer',
  object: 'dictionary',
  record: 'dictionary',
};

/** The vendor's words for an issue whose shape has no own message. */
function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return '{at}: Field required';
  switch (issue.code) {
    case 'invalid_type':
      return `{at}: Input should be a valid ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `{at}: Input should be ${issue.values.map((value) => `'${String(value)}'`).join(' or ')}`;
    case 'invalid_format':
      return `{at}: String should match pattern '${(issue.pattern ?? '').slice(1, -1)}'`;
    case 'too_small':
      return `{at}: Input should be greater than or equal to ${issue.minimum}`;
    case 'invalid_union':
    case 'unrecognized_keys':
    case 'too_big':
    case 'custom':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
      return issue.message;
  }
}

function inVendorsWords(body: JsonObject, issue: z.core.$ZodIssue): string {
  const at = placeOf(body, issue.path);
  if (issue.code === 'unrecognized_keys')
    return `${at === '' ? '' : `${at}.`}${issue.keys[0] ?? ''}: Extra inputs are not permitted`;
  if (issue.code === 'invalid_union' && issue.input !== undefined)
    return outsideOfUnion(body, issue);
  const own = /\{at\}|^messages: |^system: |^Could not/.test(issue.message);
  return (own ? issue.message : wordsOf(issue)).replaceAll('{at}', at);
}

function outsideOfUnion(body: JsonObject, issue: z.core.$ZodIssueInvalidUnion): string {
  const inner = innerIssue(issue);
  if (inner !== undefined) return inVendorsWords(body, inner);
  if (issue.discriminator === undefined)
    return `${placeOf(body, issue.path)}: Input should be a valid list`;
  const tags = 'options' in issue ? (issue.options ?? []) : [];
  const tag = stringOf((issue.input as JsonObject)['type']);
  return `${issue.path.slice(0, -1).join('.')}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags.map((each) => `'${String(each)}'`).join(', ')}`;
}
