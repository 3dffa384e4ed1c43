/** Anthropic Messages: the emulator's replies, errors and reading of requests on that wire. */
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { Usage } from '../../../workflows/core/budget/spend';
import { blocksOf, listOf, numberOf, objectOf, stringOf, textOf } from '../json-read';
import type { ReplyPart, ReplyStep, ReplyStop, VendorError } from '../step';
import { validateAnthropic } from './validate-anthropic';
import type { Conversation, Frame, PromptBlock, ReplyContext, Turn, Wire } from '../wire';
import { signThinking } from './thinking-seal';
import { deltasOf } from '../wire';

const stopReasons: Readonly<Record<ReplyStop, string>> = {
  end: 'end_turn',
  'tool-use': 'tool_use',
  'max-tokens': 'max_tokens',
  pause: 'pause_turn',
  'content-filter': 'refusal',
  refusal: 'refusal',
  'context-window': 'model_context_window_exceeded',
};

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const errorMessages: Readonly<Record<number, string>> = {
  401: 'invalid x-api-key',
  402: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  403: 'Your API key does not have permission to use the specified resource.',
  404: 'model: claude-unknown',
  413: 'Request exceeds the maximum size',
  429: "This request would exceed your account's rate limit. Please try again later.",
  500: 'Internal server error',
  504: 'Request timed out',
  529: 'Overloaded',
};

/** Tokens that an image costs here (Anthropic's documented ceiling for a full-size image is about 1,600). */
const imageTokens = 1600;

function frame(data: JsonObject, produced?: string): Frame {
  const text = `event: ${stringOf(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
  return { text, ...defined({ produced }) };
}

function usageOf(usage: Usage, outputTokens: number): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    output_tokens: outputTokens,
    service_tier: 'standard',
  };
}

function blockFrames(
  part: ReplyPart,
  index: number,
  callsBefore: number,
  size: number,
  context: ReplyContext,
): readonly Frame[] {
  const start = (block: JsonObject, produced?: string): Frame =>
    frame({ type: 'content_block_start', index, content_block: block }, produced);
  const delta = (data: JsonObject, produced?: string): Frame =>
    frame({ type: 'content_block_delta', index, delta: data }, produced);
  const deltas = (text: string, type: string, field: string): readonly Frame[] =>
    deltasOf(text, size).map((piece) => delta({ type, [field]: piece }, piece));
  const stop = frame({ type: 'content_block_stop', index });
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [start({ type: 'text', text: '' }), ...deltas(part.text, 'text_delta', 'text'), stop];
    case 'reasoning': {
      const { text } = part;
      if (part.redacted === true)
        return [start({ type: 'redacted_thinking', data: context.seal.seal(text) }), stop];
      const signature = signThinking(context.seal, text, context.body, callsBefore);
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...deltas(text, 'thinking_delta', 'thinking'),
        delta({ type: 'signature_delta', signature }),
        stop,
      ];
    }
    case 'tool-call': {
      const id = part.id ?? context.newId('toolu_');
      return [
        start({ type: 'tool_use', id, ...defined({ name: part.name }), input: {} }, part.name),
        delta({ type: 'input_json_delta', partial_json: '' }),
        ...deltas(part.argumentsText, 'input_json_delta', 'partial_json'),
        stop,
      ];
    }
  }
}

/** Of a thought the newest models give no text, only the signature; a thought is bound to its place among the calls. */
function partFrames(reply: ReplyStep, context: ReplyContext): readonly Frame[] {
  let callsBefore = 0;
  return reply.parts
    .filter((part) => part.type === 'tool-call' || part.type === 'reasoning' || part.text !== '')
    .flatMap((part, index) => {
      const before = callsBefore;
      if (part.type === 'tool-call') callsBefore += 1;
      return blockFrames(part, index, before, reply.charactersPerDelta, context);
    });
}

function frames(reply: ReplyStep, context: ReplyContext): readonly Frame[] {
  const message = {
    id: context.newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(context.usage, Math.min(1, context.usage.outputTokens)),
  };
  const stopReason = stopReasons[reply.stop];
  const details = stopReason === 'refusal' ? { type: 'refusal', category: null } : undefined;
  const delta = {
    stop_reason: stopReason,
    stop_sequence: null,
    ...defined({ stop_details: details }),
  };
  const usage = usageOf(context.usage, context.usage.outputTokens);
  return [
    frame({ type: 'message_start', message }),
    frame({ type: 'ping' }),
    ...partFrames(reply, context),
    { ...frame({ type: 'message_delta', delta, usage }), closing: true },
    { ...frame({ type: 'message_stop' }), closing: true },
  ];
}

function errorBody(error: VendorError, requestId: string): JsonObject {
  const fallback = error.status < 500 ? 'invalid_request_error' : 'api_error';
  return {
    type: 'error',
    error: {
      type: error.type ?? errorTypes[error.status] ?? fallback,
      message: error.message ?? errorMessages[error.status] ?? 'Error',
    },
    request_id: requestId,
  };
}

/** Versions that the API serves (vendor's version history). */
const apiVersions: readonly string[] = ['2023-01-01', '2023-06-01', '2026-10-21'];

function refuseHeaders(headers: Readonly<Record<string, string>>): VendorError | undefined {
  if (headers['x-api-key'] === undefined && headers['authorization'] === undefined) {
    return { status: 401, message: 'x-api-key header is required' };
  }
  if (headers['anthropic-version'] === undefined) {
    return { status: 400, message: 'anthropic-version: header is required' };
  }
  if (!apiVersions.includes(headers['anthropic-version'])) {
    const version = headers['anthropic-version'];
    return { status: 400, message: `anthropic-version: "${version}" is not a valid version` };
  }
  return undefined;
}

function refuseOverflow(
  inputTokens: number,
  body: JsonObject,
  windowTokens: number,
): VendorError | undefined {
  if (inputTokens > windowTokens) {
    return {
      status: 400,
      message: `prompt is too long: ${inputTokens} tokens > ${windowTokens} maximum`,
    };
  }
  const maxTokens = numberOf(body['max_tokens']) ?? 0;
  if (inputTokens + maxTokens <= windowTokens) return undefined;
  return {
    status: 400,
    message:
      `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxTokens} > ${windowTokens}, ` +
      'decrease input length or `max_tokens` and try again',
  };
}

function turnOf(message: JsonObject): Turn {
  const blocks = blocksOf(message['content']);
  const ofType = (type: string): readonly JsonObject[] =>
    blocks.filter((block) => block['type'] === type);
  return {
    role: message['role'] === 'assistant' ? 'assistant' : 'user',
    text: textOf(message['content']),
    toolCalls: ofType('tool_use').map((block) => ({
      id: stringOf(block['id']),
      name: stringOf(block['name']),
      argumentsText: JSON.stringify(block['input'] ?? {}),
    })),
    toolResults: ofType('tool_result').map((block) => ({
      id: stringOf(block['tool_use_id']),
      content: textOf(block['content']),
      isError: block['is_error'] === true,
    })),
  };
}

function conversation(body: JsonObject): Conversation {
  return {
    systemText: textOf(body['system']),
    toolNames: listOf(body['tools']).map((tool) => stringOf(objectOf(tool)['name'])),
    turns: listOf(body['messages']).map((message) => turnOf(objectOf(message))),
  };
}

function promptBlock(place: string, block: JsonObject): PromptBlock {
  const { cache_control: breakpoint, ...rest } = block;
  const image = rest['type'] === 'image' || rest['type'] === 'document';
  return {
    text: `${place}:${JSON.stringify(rest)}`,
    extraTokens: image ? imageTokens : 0,
    breakpoint: breakpoint !== undefined && breakpoint !== null,
  };
}

/** Tools first, then system, then messages: the order in which the vendor's cache sees a prompt. */
function promptBlocks(body: JsonObject): readonly PromptBlock[] {
  return [
    ...listOf(body['tools']).map((tool) => promptBlock('tool', objectOf(tool))),
    ...blocksOf(body['system']).map((block) => promptBlock('system', block)),
    ...listOf(body['messages']).flatMap((message, index) =>
      blocksOf(objectOf(message)['content']).map((block) =>
        promptBlock(`${index}.${stringOf(objectOf(message)['role'])}`, block),
      ),
    ),
  ];
}

/** The Messages wire. Source: vendor's API reference; shapes in cases.jsonl. */
export const anthropicWire: Wire = {
  name: 'anthropic',
  frames,
  errorBody,
  errorFrame: (error, requestId) => frame(errorBody(error, requestId)),
  dataLine: (data) => `event: content_block_delta\ndata: ${data}\n\n`,
  pingText: 'event: ping\ndata: {"type": "ping"}\n\n',
  headers: (requestId) => ({ 'request-id': requestId, server: 'cloudflare' }),
  refuseHeaders,
  refuseBody: validateAnthropic,
  refuseText: ({ message: problem, position }) => ({
    status: 400,
    message: `The request body is not valid JSON: ${problem}: line 1 column ${position + 1} (char ${position})`,
  }),
  refuseOverflow,
  conversation,
  promptBlocks,
};
