/** Ollama and vLLM, whose refusals are those of their code and of the models' chat templates. */
import type { JsonObject } from '../../../../workflows/core/json';
import { stringOf } from '../../json-read';
import type { VendorError } from '../../step';
import type { ChatServer, ServerRefusals } from './chat-server';
import { callsOf, isCalling, messagesOf, usualServer } from './chat-server';

function refusal(message: string): VendorError {
  return { status: 400, message };
}

/** Ollama (pydantic/pydantic-ai#5206). */
export const ollama: ChatServer = {
  ...usualServer,
  *refuse(body) {
    for (const { content } of messagesOf(body))
      if (content === null || content === undefined)
        yield refusal('invalid message content type: <nil>');
  },
  errorBody: ({ message = '', type = 'invalid_request_error' }) => ({
    error: { message, type, param: null, code: null },
  }),
  thoughtDelta: (piece) => ({ reasoning: piece }),
  hasWholeCalls: true,
};

/** Templates of many models: one system message, first (vllm-project/vllm#41114), and roles that they know. */
function* templateRules(messages: readonly JsonObject[]): ServerRefusals {
  for (const [index, { role }] of messages.entries()) {
    if (role === 'system' && index > 0) yield refusal('System message must be at the beginning.');
    if (role === 'developer') yield refusal('Unexpected message role.');
  }
}

/** Templates with strict turns (microsoft/autogen#1037). */
function* turnRules(messages: readonly JsonObject[]): ServerRefusals {
  for (const [index, { role }] of messages.entries())
    if (role !== 'tool' && role === messages[index - 1]?.['role'])
      yield refusal('Conversation roles must alternate user/assistant/user/assistant/...');
}

/** Mistral's own templates (mistralai/mistral-vibe#1006, ml-explore/mlx-lm#1375). */
function* mistralRules(messages: readonly JsonObject[]): ServerRefusals {
  const spoken = messages.filter(
    (message) =>
      message['role'] === 'user' || (message['role'] === 'assistant' && !isCalling(message)),
  );
  if (spoken.some(({ role }, index) => (role === 'user') !== (index % 2 === 0)))
    yield refusal(
      'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
    );
  for (const { id } of messages.flatMap(callsOf))
    if (!/^[a-zA-Z0-9]{9}$/.test(stringOf(id)))
      yield refusal('Tool call IDs should be alphanumeric strings with length 9!');
}

const vllmBody = ({ status, message = '' }: VendorError): JsonObject => ({
  error: { message, type: 'BadRequestError', param: null, code: status },
});

/** vLLM with a template of strict turns. */
export const vllm: ChatServer = {
  ...usualServer,
  *refuse(body) {
    const messages = messagesOf(body);
    yield* templateRules(messages);
    yield* turnRules(messages);
  },
  errorBody: vllmBody,
};

/** vLLM with a Mistral model. */
export const vllmMistral: ChatServer = {
  ...vllm,
  *refuse(body) {
    const messages = messagesOf(body);
    yield* templateRules(messages);
    yield* mistralRules(messages);
  },
};
