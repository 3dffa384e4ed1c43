/** What OpenAI refuses on the Chat Completions wire, in its own words where public reports quote them. */
import type { JsonObject } from '../../../workflows/core/json';
import { isList, isObject, listOf, numberOf, objectOf, stringOf } from '../json-read';
import type { Refusals } from '../openai/openai-rules';
import {
  belowMinimum,
  emptyArray,
  firstOf,
  imageRules,
  lengthRules,
  missing,
  nameRules,
  reasoningModelRules,
  refusal,
  stringRules,
  toolRules,
  unknownField,
  unsupportedWord,
  wrongType,
} from '../openai/openai-rules';
import { detailRules } from './router-reasoning';
import type { VendorError } from '../step';
import type { ValidationContext } from '../wire';

/** Most messages of a request ("$.messages is too long. Maximum length is 2048", Azure OpenAI). */
const maxMessages = 2_048;
/** Most calls of one message ("array too long. Expected an array with maximum length 128"). */
const maxCalls = 128;
/** Characters of a message's text ("string too long. Expected a string with maximum length 1048576"). */
const maxContentCharacters = 1_048_576;
/** Longest id of a tool call (quoted by public reports as 40). */
const maxIdCharacters = 40;

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
  'reasoning',
];

const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: [
    'role',
    'content',
    'name',
    'refusal',
    'audio',
    'tool_calls',
    'reasoning_content',
    'reasoning_details',
  ],
  tool: ['role', 'content', 'tool_call_id'],
};

const roles: readonly string[] = ['system', 'assistant', 'user', 'function', 'tool', 'developer'];

function* fieldRules(body: JsonObject): Refusals {
  if (typeof body['model'] !== 'string' || body['model'] === '') {
    yield refusal('you must provide a model parameter', null, null);
  }
  const unknown = Object.keys(body).find((field) => !knownFields.includes(field));
  if (unknown !== undefined) {
    yield refusal(`Unrecognized request argument supplied: ${unknown}`, null, null);
  }
  if (body['messages'] === undefined) yield missing('messages');
  if (!isList(body['messages']))
    yield wrongType('messages', 'an array of objects', body['messages']);
  if (listOf(body['messages']).length === 0) yield emptyArray('messages');
  yield* lengthRules(body['messages'], 'messages', maxMessages);
  yield* reasoningModelRules(body);
  yield* limitRules(body);
  if (body['stream_options'] !== undefined && body['stream'] !== true) {
    yield refusal(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      'stream_options',
      null,
    );
  }
}

function* limitRules(body: JsonObject): Refusals {
  if (body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined) {
    yield refusal(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'max_tokens',
      'invalid_parameter_combination',
    );
  }
  for (const field of ['max_tokens', 'max_completion_tokens']) {
    const value = numberOf(body[field]);
    if (value !== undefined && value < 1) yield belowMinimum(field, 1, value);
  }
}

function* partRules(message: JsonObject, index: number): Refusals {
  const role = stringOf(message['role']);
  for (const [place, entry] of listOf(message['content']).entries()) {
    const part = objectOf(entry);
    const at = `messages[${index}].content[${place}]`;
    const type = stringOf(part['type']);
    if (type === 'text') {
      if (typeof part['text'] !== 'string') yield missing(`${at}.text`);
    } else if (type === 'image_url') {
      if (role !== 'user') {
        yield refusal(
          `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
          `messages[${index}]`,
          'invalid_value',
        );
      }
      const image = part['image_url'];
      if (!isObject(image)) yield wrongType(`${at}.image_url`, 'an object', image);
      const { url, detail } = objectOf(image);
      yield* imageRules(stringOf(url), detail, `${at}.image_url.url`);
    } else if (!(type === 'refusal' && role === 'assistant')) {
      yield unsupportedWord(at, type, ['text', 'image_url', 'input_audio', 'refusal', 'file']);
    }
  }
}

function* contentRules(message: JsonObject, index: number): Refusals {
  const content = message['content'];
  const mayBeNull =
    message['role'] === 'assistant' &&
    (message['tool_calls'] !== undefined || typeof message['refusal'] === 'string');
  if (content === null || content === undefined) {
    if (!mayBeNull) {
      yield refusal(
        "Invalid value for 'content': expected a string, got null.",
        `messages.[${index}].content`,
        null,
      );
    }
    return;
  }
  if (typeof content === 'string') {
    if (content.length > maxContentCharacters)
      yield* stringRules(content, `messages[${index}].content`, maxContentCharacters);
    return;
  }
  if (!isList(content)) {
    yield wrongType(`messages[${index}].content`, 'one of a string or array of objects', content);
    return;
  }
  if (content.length === 0) yield emptyArray(`messages[${index}].content`);
  yield* partRules(message, index);
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text) as JsonObject);
  } catch {
    return false;
  }
}

function* callRules(message: JsonObject, index: number): Refusals {
  const calls = message['tool_calls'];
  if (calls === undefined) return;
  const list = `messages[${index}].tool_calls`;
  if (listOf(calls).length === 0) yield emptyArray(list);
  yield* lengthRules(calls, list, maxCalls);
  const ids = new Set<string>();
  for (const [place, entry] of listOf(calls).entries()) {
    const call = objectOf(entry);
    const called = objectOf(call['function']);
    const at = `${list}[${place}]`;
    yield* stringRules(call['id'], `${at}.id`, maxIdCharacters);
    if (call['type'] !== 'function') yield missing(`${at}.type`);
    yield* nameRules(called['name'], `${at}.function.name`);
    const text = called['arguments'];
    if (text === undefined) yield missing(`${at}.function.arguments`);
    if (typeof text !== 'string') yield wrongType(`${at}.function.arguments`, 'a string', text);
    if (!isJsonObject(stringOf(text))) {
      yield refusal(
        'The "function.arguments" parameter of the code model must be in JSON format.',
        `${at}.function.arguments`,
        'invalid_parameter_error',
      );
    }
    if (ids.has(stringOf(call['id']))) {
      yield refusal(
        `Duplicate value for 'tool_call_id' of '${stringOf(call['id'])}' in message[${index}]`,
        `messages.[${index}].tool_calls`,
        null,
      );
    }
    ids.add(stringOf(call['id']));
  }
}

function* messageRules(
  body: JsonObject,
  messages: readonly JsonObject[],
  context: ValidationContext,
): Refusals {
  for (const [index, message] of messages.entries()) {
    const role = stringOf(message['role']);
    if (!roles.includes(role)) yield unsupportedWord(`messages[${index}].role`, role, roles);
    const known = messageFields[role] ?? [];
    const unknown = Object.keys(message).find((field) => !known.includes(field));
    if (unknown !== undefined) yield unknownField(`messages[${index}].${unknown}`);
    yield* contentRules(message, index);
    yield* callRules(message, index);
    yield* detailRules(body, message, index, context);
    if (role === 'tool') {
      const param = `messages[${index}].tool_call_id`;
      yield* stringRules(message['tool_call_id'], param, maxIdCharacters);
    }
  }
}

/** Calls of the last assistant message that wait for their results, with the message that answered each. */
interface OpenCalls {
  readonly ids: readonly string[];
  readonly answeredAt: ReadonlyMap<string, number>;
}

function* unansweredRules(open: OpenCalls | undefined): Refusals {
  const left = (open?.ids ?? []).filter((id) => open?.answeredAt.has(id) !== true);
  if (left.length === 0) return;
  yield refusal(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${left.join(', ')}`,
    'messages',
    null,
  );
}

function* answerRules(message: JsonObject, index: number, open: OpenCalls | undefined): Refusals {
  const id = stringOf(message['tool_call_id']);
  if (open === undefined || open.ids.length === 0) {
    yield refusal(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      `messages.[${index}].role`,
      null,
    );
    return;
  }
  if (!open.ids.includes(id)) {
    yield refusal(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      `messages.[${index}].tool_call_id`,
      null,
    );
  }
  const before = open.answeredAt.get(id);
  if (before !== undefined) {
    yield refusal(
      `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${before}] and messages[${index}].`,
      `messages.[${index}].tool_call_id`,
      null,
    );
  }
}

function* pairingRules(messages: readonly JsonObject[]): Refusals {
  let open: OpenCalls | undefined;
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      yield* answerRules(message, index, open);
      const id = stringOf(message['tool_call_id']);
      if (open !== undefined) {
        open = { ...open, answeredAt: new Map([...open.answeredAt, [id, index]]) };
      }
      continue;
    }
    yield* unansweredRules(open);
    const ids = listOf(message['tool_calls']).map((call) => stringOf(objectOf(call)['id']));
    open = { ids, answeredAt: new Map() };
  }
  yield* unansweredRules(open);
}

function* allRules(body: JsonObject, context: ValidationContext): Refusals {
  yield* fieldRules(body);
  yield* toolRules(body, true);
  const messages = listOf(body['messages']).map(objectOf);
  yield* messageRules(body, messages, context);
  yield* pairingRules(messages);
}

/** The vendor's refusal of a request body, or nothing. */
export function validateChat(
  body: JsonObject,
  context: ValidationContext,
): VendorError | undefined {
  return firstOf(allRules(body, context));
}
