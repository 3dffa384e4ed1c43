/** OpenAI Responses: the emulator's replies, errors and reading of requests on that wire. */
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { Usage } from '../../../workflows/core/budget/spend';
import { listOf, objectOf, stringOf, textOf } from '../json-read';
import {
  openAiErrorBody,
  openAiErrorHeaders,
  openAiShape,
  refuseOpenAiHeaders,
  refuseOpenAiText,
} from '../openai/openai-errors';
import { isInstruction, messageBlocks, toolBlocks } from '../openai/openai-prompt';
import type { ReplyStep, VendorError } from '../step';
import { responseItems } from './responses-items';
import { inputItems, validateResponses } from './validate-responses';
import type { Conversation, Frame, PromptBlock, ReplyContext, Turn, Wire } from '../wire';

function usageOf(usage: Usage): JsonObject {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.outputTokens,
  };
}

function incompleteReason(reply: ReplyStep): string | undefined {
  if (reply.stop === 'max-tokens' || reply.stop === 'context-window') return 'max_output_tokens';
  return reply.stop === 'content-filter' ? 'content_filter' : undefined;
}

function opened(context: ReplyContext, id: string): JsonObject {
  return {
    id,
    object: 'response',
    created_at: Math.floor(context.createdAtMs / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: context.body['instructions'] ?? null,
    max_output_tokens: context.body['max_output_tokens'] ?? null,
    model: context.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: context.body['store'] ?? true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  };
}

function frames(reply: ReplyStep, context: ReplyContext): readonly Frame[] {
  let sequence = 0;
  const frame = (type: string, data: JsonObject, more: Omit<Frame, 'text'> = {}): Frame => {
    const event = { type, sequence_number: sequence, ...data };
    sequence += 1;
    return { text: `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`, ...more };
  };
  const start = opened(context, context.newId('resp_'));
  const items = responseItems(reply, context);
  const reason = incompleteReason(reply);
  const end = {
    ...start,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output: items.map((item) => item.done),
    usage: usageOf(context.usage),
  };
  return [
    frame('response.created', { response: start }),
    frame('response.in_progress', { response: start }),
    ...items.flatMap((item, index) => [
      frame('response.output_item.added', { output_index: index, item: item.added }),
      ...item.events.map((event) =>
        frame(
          event.type,
          { ...event.data, output_index: index },
          defined({ produced: event.produced }),
        ),
      ),
      frame('response.output_item.done', { output_index: index, item: item.done }),
    ]),
    frame(`response.${end.status}`, { response: end }, { closing: true }),
  ];
}

const nothingSaid = { text: '', toolCalls: [], toolResults: [] };

function turnOf(item: JsonObject): Turn | undefined {
  const id = stringOf(item['call_id']);
  switch (stringOf(item['type'])) {
    case 'function_call': {
      const { name, arguments: text } = item;
      const call = { id, name: stringOf(name), argumentsText: stringOf(text) };
      return { ...nothingSaid, role: 'assistant', toolCalls: [call] };
    }
    case 'function_call_output': {
      const result = { id, content: textOf(item['output']), isError: false };
      return { ...nothingSaid, role: 'user', toolResults: [result] };
    }
    case 'message': {
      const role = item['role'] === 'assistant' ? 'assistant' : 'user';
      return isInstruction(item)
        ? undefined
        : { ...nothingSaid, role, text: textOf(item['content']) };
    }
    default:
      return undefined;
  }
}

function conversation(body: JsonObject): Conversation {
  const items = inputItems(body);
  const system = items.filter(isInstruction).map((item) => textOf(item['content']));
  return {
    systemText: [stringOf(body['instructions']), ...system].filter(Boolean).join('\n'),
    toolNames: listOf(body['tools']).map((tool) => stringOf(objectOf(tool)['name'])),
    turns: items.map(turnOf).filter((turn) => turn !== undefined),
  };
}

function promptBlocks(body: JsonObject): readonly PromptBlock[] {
  const text = stringOf(body['instructions']);
  return [
    ...toolBlocks(body),
    { text: `instructions:${text}`, extraTokens: 0, breakpoint: false },
    ...messageBlocks(inputItems(body)),
  ];
}

function errorFrame(error: VendorError): Frame {
  const { message, code, type } = openAiShape(error);
  const param = error.param ?? null;
  const event = (name: string, data: JsonObject): Frame => ({
    text: `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`,
  });
  switch (error.eventShape ?? 'nested') {
    case 'nested':
      return event('error', { error: { type, code, message, param }, sequence_number: 2 });
    case 'flat':
      return event('error', { code: code ?? type, message, param, sequence_number: 2 });
    case 'failed': {
      const failed = { code: code ?? type, message };
      const response = { id: 'resp_failed', object: 'response', status: 'failed', error: failed };
      return event('response.failed', {
        sequence_number: 2,
        response: { ...response, output: [], usage: null, incomplete_details: null },
      });
    }
  }
}

/** The Responses wire. Source: vendor's API reference; shapes in cases.jsonl. */
export const responsesWire: Wire = {
  name: 'responses',
  frames,
  errorBody: openAiErrorBody,
  errorFrame,
  dataLine: (data) => `event: response.output_text.delta\ndata: ${data}\n\n`,
  pingText: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
  headers: openAiErrorHeaders,
  refuseHeaders: refuseOpenAiHeaders,
  refuseBody: validateResponses,
  refuseText: refuseOpenAiText,
  refuseOverflow: (inputTokens, _body, windowTokens) =>
    inputTokens <= windowTokens
      ? undefined
      : {
          status: 400,
          param: 'input',
          code: 'context_length_exceeded',
          message:
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
        },
  conversation,
  promptBlocks,
};
