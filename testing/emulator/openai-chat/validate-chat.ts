/** What OpenAI refuses on the Chat Completions wire, in its own words where public reports quote them. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import { blocksOf, isObject, listOf, objectOf, stringOf } from '../json-read';
import type { Refusals } from '../openai/openai-shapes';
import {
  anything,
  detailShape,
  fileFields,
  firstOf,
  functionShape,
  imageShape,
  nameShape,
  refusal,
  refuse,
  repeated,
  shapeRules,
  sharedRules,
  toolsShape,
} from '../openai/openai-shapes';
import { detailRules } from './router-reasoning';
import type { ChatServer } from './servers/chat-server';
import { chatServers } from './servers/chat-servers';
import type { ChatServerName, VendorError } from '../step';
import type { ValidationContext } from '../wire';

/** Top-level fields that OpenAI and the compatible vendors know (API reference; the SDK's `ChatCompletionCreateParams`). */
const knownFields: readonly string[] = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'n',
  'stop',
  'seed',
  'user',
  'store',
  'metadata',
  'modalities',
  'audio',
  'prediction',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'reasoning_effort',
  'verbosity',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'web_search_options',
  'thinking',
  'enable_thinking',
  'thinking_budget',
  'reasoning',
];

/** Quoted by public reports as 40. */
const callId = z.string().min(1).max(40);

const callShape = z.object({
  id: callId,
  type: z.string(),
  function: z.object({
    name: nameShape,
    arguments: z.string().superRefine((text, context) => {
      if (!isJsonObject(text))
        refuse(
          context,
          'The "function.arguments" parameter of the code model must be in JSON format.',
          'invalid_parameter_error',
        );
    }),
  }),
});

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: imageShape, detail: detailShape }),
});
const filePart = z.object({ type: z.literal('file'), file: z.object(fileFields) });
const refusalPart = z.object({ type: z.literal('refusal') });

/** A text of at most 1,048,576 characters, or parts. If content is required, `contentRules` says so. */
function contentShape(...more: readonly (typeof refusalPart)[]): z.ZodType {
  const part = z.discriminatedUnion('type', [textPart, imagePart, filePart, ...more]);
  return z.union([z.string().max(1_048_576), z.array(part).min(1)]).nullish();
}

const spoken = <Role extends string>(role: Role): z.ZodObject<{ role: z.ZodLiteral<Role> }> =>
  z.strictObject({ role: z.literal(role), content: contentShape(), name: anything });

const assistantShape = z.strictObject({
  role: z.literal('assistant'),
  content: contentShape(refusalPart),
  name: anything,
  refusal: anything,
  audio: anything,
  tool_calls: z.array(callShape).min(1).max(128).optional(),
  reasoning_content: anything,
  reasoning_details: anything,
});

const messageShape = z.discriminatedUnion('role', [
  spoken('system'),
  assistantShape,
  spoken('user'),
  // Older than tools; no model of today takes it.
  z.strictObject({ role: z.literal('function') }),
  z.strictObject({ role: z.literal('tool'), content: contentShape(), tool_call_id: callId }),
  spoken('developer'),
]);

const limitShape = z.number().min(1).optional();

const bodyShape = z.looseObject({
  // "$.messages is too long. Maximum length is 2048" (Azure OpenAI).
  messages: z.array(messageShape).min(1).max(2_048),
  max_tokens: limitShape,
  max_completion_tokens: limitShape,
  tools: toolsShape(z.looseObject({ function: functionShape }))
    .min(1)
    .optional(),
});

function* fieldRules(body: JsonObject): Refusals {
  if (stringOf(body['model']) === '')
    yield refusal('you must provide a model parameter', null, null);
  const unknown = Object.keys(body).find((field) => !knownFields.includes(field));
  if (unknown !== undefined)
    yield refusal(`Unrecognized request argument supplied: ${unknown}`, null, null);
  if (body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined) {
    yield refusal(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'max_tokens',
      'invalid_parameter_combination',
    );
  }
  if (body['tools'] !== undefined) return;
  for (const field of ['tool_choice', 'parallel_tool_calls']) {
    if (body[field] === undefined) continue;
    yield refusal(
      `Invalid value for '${field}': '${field}' is only allowed when 'tools' are specified.`,
      field,
      null,
    );
  }
}

function* contentRules(message: JsonObject, index: number, context: ValidationContext): Refusals {
  const { role, content, tool_calls: calls, refusal: refused } = message;
  const isSilent = role === 'assistant' && (calls !== undefined || typeof refused === 'string');
  if ((content === null || content === undefined) && !isSilent) {
    yield refusal(
      "Invalid value for 'content': expected a string, got null.",
      `messages.[${index}].content`,
      null,
    );
  }
  if (role !== 'user' && blocksOf(content).some(({ type }) => type === 'image_url')) {
    yield refusal(
      `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${stringOf(role)}' contains an image URL.`,
      `messages[${index}]`,
      'invalid_value',
    );
  }
  // Of the servers that the emulator plays, none takes documents on this wire (vllm-project/vllm#41121).
  if (context.server !== undefined && blocksOf(content).some(({ type }) => type === 'file'))
    yield refusal("Unsupported chat content part type: 'file'.", `messages[${index}]`, null);
  const twice = repeated(callIds(message));
  if (twice !== undefined) {
    yield refusal(
      `Duplicate value for 'tool_call_id' of '${twice}' in message[${index}]`,
      `messages.[${index}].tool_calls`,
      null,
    );
  }
}

function callIds(message: JsonObject): readonly string[] {
  return listOf(message['tool_calls']).map((call) => stringOf(objectOf(call)['id']));
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text) as JsonObject);
  } catch {
    return false;
  }
}

/** The message that answered each call of the last assistant message; undefined for a call that waits. */
type OpenCalls = Map<string, number | undefined>;

function* unansweredRules(open: OpenCalls): Refusals {
  const left = [...open.keys()].filter((id) => open.get(id) === undefined);
  if (left.length === 0) return;
  yield refusal(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${left.join(', ')}`,
    'messages',
    null,
  );
}

function* answerRules(id: string, index: number, open: OpenCalls): Refusals {
  if (open.size === 0) {
    yield refusal(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      `messages.[${index}].role`,
      null,
    );
  }
  const at = `messages.[${index}].tool_call_id`;
  if (!open.has(id)) {
    yield refusal(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      at,
      null,
    );
  }
  const before = open.get(id);
  if (before !== undefined) {
    yield refusal(
      `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${before}] and messages[${index}].`,
      at,
      null,
    );
  }
}

function* pairingRules(messages: readonly JsonObject[]): Refusals {
  let open: OpenCalls = new Map();
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      const id = stringOf(message['tool_call_id']);
      yield* answerRules(id, index, open);
      open.set(id, index);
      continue;
    }
    yield* unansweredRules(open);
    open = new Map(callIds(message).map((id) => [id, undefined]));
  }
  yield* unansweredRules(open);
}

/** A server's refusals have its own body, so that nothing of them is OpenAI's. */
function* serverRules(
  name: ChatServerName,
  body: JsonObject,
  context: ValidationContext,
): Refusals {
  const server: ChatServer = chatServers[name];
  for (const error of server.refuse(body, context))
    yield { ...error, body: error.body ?? server.errorBody(error) };
}

function* allRules(body: JsonObject, context: ValidationContext): Refusals {
  if (context.server !== undefined) yield* serverRules(context.server, body, context);
  yield* fieldRules(body);
  yield* shapeRules(bodyShape, body);
  const names = listOf(body['tools']).map((tool) => objectOf(objectOf(tool)['function'])['name']);
  yield* sharedRules(body, names);
  const messages = listOf(body['messages']).map(objectOf);
  for (const [index, message] of messages.entries()) {
    yield* contentRules(message, index, context);
    yield* detailRules(body, message, index, context);
  }
  yield* pairingRules(messages);
}

/** The vendor's refusal of a request body, or nothing. */
export function validateChat(
  body: JsonObject,
  context: ValidationContext,
): VendorError | undefined {
  return firstOf(allRules(body, context));
}
