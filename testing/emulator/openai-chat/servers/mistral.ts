/** Mistral's API: nine-character ids, a strict order of roles, and no field that it does not know. */
import type { JsonObject, JsonValue } from '../../../../workflows/core/json';
import { stringOf } from '../../json-read';
import type { VendorError } from '../../step';
import type { ChatServer, ServerRefusals } from './chat-server';
import { callsOf, isBlank, messagesOf } from './chat-server';

/** Fields of a request. Source: Mistral's API reference, chat completions. */
const knownFields: readonly string[] = [
  ...['model', 'messages', 'temperature', 'top_p', 'max_tokens', 'stream', 'stop', 'random_seed'],
  ...['metadata', 'response_format', 'tools', 'tool_choice', 'presence_penalty', 'n', 'prediction'],
  ...['frequency_penalty', 'parallel_tool_calls', 'prompt_mode', 'reasoning_effort', 'safe_prompt'],
];

/** Fields of each kind of message. */
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
};

/** Roles that may follow a role. Source: mistral-common, the order of messages in a request. */
const followers: Readonly<Record<string, readonly string[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'system'],
  tool: ['assistant', 'tool'],
};

/** "Extra inputs are not permitted" (charmbracelet/crush#1590, editor-code-assistant/eca#231). */
function extra(loc: readonly (string | number)[], input: JsonValue): VendorError {
  const detail = [
    {
      type: 'extra_forbidden',
      loc: ['body', ...loc],
      msg: 'Extra inputs are not permitted',
      input,
    },
  ];
  return {
    status: 422,
    message: 'Extra inputs are not permitted',
    body: {
      object: 'error',
      message: { detail },
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  };
}

function refusal(message: string, type: string, code: string): VendorError {
  return { status: 400, message, type, code };
}

/** "Unexpected role 'user' after role 'tool'" (avante-corp/avante.nvim#2562). */
function misplaced(role: string, before: string): VendorError {
  const message = `Unexpected role '${role}' after role '${before}'`;
  return refusal(message, 'invalid_request_message_order', '3230');
}

function* fieldRules(body: JsonObject): ServerRefusals {
  for (const [field, value] of Object.entries(body))
    if (!knownFields.includes(field)) yield extra([field], value);
  for (const [index, message] of messagesOf(body).entries()) {
    const role = stringOf(message['role']);
    for (const [field, value] of Object.entries(message))
      if (messageFields[role]?.includes(field) !== true)
        yield extra(['messages', index, role, field], value);
  }
}

function* orderRules(messages: readonly JsonObject[]): ServerRefusals {
  for (const [index, message] of messages.entries()) {
    const role = stringOf(message['role']);
    const before = messages[index - 1];
    if (before === undefined) continue;
    const allowed = callsOf(before).length > 0 ? ['tool'] : followers[stringOf(before['role'])];
    if (allowed?.includes(role) !== true) yield misplaced(role, stringOf(before['role']));
  }
  const last = stringOf(messages.at(-1)?.['role']);
  if (last !== 'user' && last !== 'tool')
    yield refusal(
      `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last}`,
      'invalid_request_message_order',
      '3230',
    );
}

function* messageRules(message: JsonObject): ServerRefusals {
  const ids = [
    ...callsOf(message).map(({ id }) => stringOf(id)),
    ...(message['role'] === 'tool' ? [stringOf(message['tool_call_id'])] : []),
  ];
  // nearai/ironclaw#1241.
  for (const id of ids)
    if (!/^[a-zA-Z0-9]{9}$/.test(id))
      yield refusal(
        `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
        'invalid_function_call',
        '3280',
      );
  // OpenHands/OpenHands#8685.
  if (message['role'] === 'assistant' && ids.length === 0 && isBlank(message['content']))
    yield refusal(
      'Assistant message must have either content or tool_calls, but not none.',
      'invalid_request_error',
      '3240',
    );
}

function* refuse(body: JsonObject): ServerRefusals {
  yield* fieldRules(body);
  const messages = messagesOf(body);
  yield* orderRules(messages);
  for (const message of messages) yield* messageRules(message);
}

/** Mistral. */
export const mistral: ChatServer = {
  refuse,
  errorBody: ({ message = '', type = 'invalid_request_error', code = null }) => ({
    object: 'error',
    message,
    type,
    param: null,
    code,
  }),
  callId: (context) => context.newId('').slice(-9),
  thoughtDelta: (piece) => ({
    content: [{ type: 'thinking', thinking: [{ type: 'text', text: piece }] }],
  }),
  hasWholeCalls: true,
  countsAlways: true,
};
