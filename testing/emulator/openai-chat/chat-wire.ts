/** OpenAI Chat Completions: the emulator's replies, errors and reading of requests on that wire. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { Usage } from '../../../workflows/core/budget/spend';
import { listOf, numberOf, objectOf, stringOf, textOf } from '../json-read';
import { isInstruction, messageBlocks, toolBlocks } from '../openai/openai-prompt';
import {
  openAiErrorBody,
  openAiErrorHeaders,
  refuseOpenAiHeaders,
  refuseOpenAiText,
} from '../openai/openai-errors';
import {
  claudeSignature,
  detailKind,
  isRouted,
  sealedDetail,
  textDetail,
} from './router-reasoning';
import type { ChatServer } from './servers/chat-server';
import { chatServers } from './servers/chat-servers';
import type { ReplyPart, ReplyStep, ReplyStop, VendorError } from '../step';
import { validateChat } from './validate-chat';
import type { Conversation, Frame, PromptBlock, ReplyContext, Turn, Wire } from '../wire';
import { deltasOf } from '../wire';

const finishReasons: Readonly<Record<ReplyStop, string>> = {
  end: 'stop',
  'tool-use': 'tool_calls',
  'max-tokens': 'length',
  pause: 'stop',
  'content-filter': 'content_filter',
  refusal: 'stop',
  'context-window': 'length',
};

function usageOf(usage: Usage): JsonObject {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

interface Delta {
  readonly delta: JsonObject;
  readonly produced: string;
}

function textDeltas(field: string, text: string, size: number): readonly Delta[] {
  return deltasOf(text, size).map((piece) => ({ delta: { [field]: piece }, produced: piece }));
}

function serverOf({ server }: ReplyContext): ChatServer | undefined {
  return server === undefined ? undefined : chatServers[server];
}

function wholeCall(
  { name, argumentsText }: Extract<ReplyPart, { type: 'tool-call' }>,
  call: JsonObject,
): Delta {
  const called = { ...defined({ name }), arguments: argumentsText };
  return {
    delta: { tool_calls: [{ ...call, function: called }] },
    produced: `${name ?? ''}${argumentsText}`,
  };
}

function toolDeltas(
  part: Extract<ReplyPart, { type: 'tool-call' }>,
  index: number,
  size: number,
  context: ReplyContext,
): readonly Delta[] {
  const server = serverOf(context);
  const { name = '' } = part;
  const id = part.id ?? server?.callId(context, name, index) ?? context.newId('call_');
  if (server?.hasWholeCalls === true)
    return [
      wholeCall(part, { index, id, type: 'function', ...server.callExtra?.(context, index) }),
    ];
  const head: JsonObject = {
    index,
    id,
    type: 'function',
    function: { ...defined({ name: part.name }), arguments: '' },
  };
  const sealed = index === 0 && detailKind(context.body) === 'sealed';
  const details = sealed ? { reasoning_details: [sealedDetail(context.seal, id)] } : {};
  return [
    { delta: { tool_calls: [head], ...details }, produced: part.name ?? '' },
    ...deltasOf(part.argumentsText, size).map((piece) => ({
      delta: { tool_calls: [{ index, function: { arguments: piece } }] },
      produced: piece,
    })),
  ];
}

/** A router sends each piece of a thought twice: as text, and as a detail that must be sent back. */
function reasoningDeltas(text: string, size: number, context: ReplyContext): readonly Delta[] {
  const { body, seal } = context;
  const server = serverOf(context);
  if (server !== undefined)
    return deltasOf(text, size).flatMap((piece) => {
      const delta = server.thoughtDelta(piece);
      return delta === undefined ? [] : [{ delta, produced: piece }];
    });
  if (!isRouted(body)) return textDeltas('reasoning_content', text, size);
  const pieces = deltasOf(text, size).map((piece) => ({
    delta: { reasoning: piece, reasoning_details: [textDetail(piece, body)] },
    produced: piece,
  }));
  if (detailKind(body) !== 'signed') return pieces;
  const signature = { reasoning_details: [claudeSignature(seal, text, body)] };
  return [...pieces, { delta: signature, produced: '' }];
}

function deltas(reply: ReplyStep, context: ReplyContext): readonly Delta[] {
  let toolIndex = 0;
  return reply.parts.flatMap((part) => {
    switch (part.type) {
      case 'text':
        return textDeltas('content', part.text, reply.charactersPerDelta);
      case 'reasoning':
        return reasoningDeltas(part.text, reply.charactersPerDelta, context);
      case 'refusal':
        return textDeltas('refusal', part.text, reply.charactersPerDelta);
      case 'tool-call': {
        const index = toolIndex;
        toolIndex += 1;
        return toolDeltas(part, index, reply.charactersPerDelta, context);
      }
    }
  });
}

function frames(reply: ReplyStep, context: ReplyContext): readonly Frame[] {
  const base = {
    id: context.newId('chatcmpl-'),
    object: 'chat.completion.chunk',
    created: Math.floor(context.createdAtMs / 1000),
    model: context.model,
    system_fingerprint: 'fp_emulator',
  };
  const wantsUsage =
    serverOf(context)?.countsAlways === true ||
    objectOf(context.body['stream_options'])['include_usage'] === true;
  const chunk = (
    delta: JsonObject,
    finish: string | null,
    more: { produced?: string; closing?: true } = {},
  ): Frame => {
    const choices: JsonValue = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    const data = { ...base, choices, ...(wantsUsage ? { usage: null } : {}) };
    return { text: `data: ${JSON.stringify(data)}\n\n`, ...more };
  };
  const usage = { ...base, choices: [], usage: usageOf(context.usage) };
  return [
    chunk({ role: 'assistant', content: '', refusal: null }, null),
    ...deltas(reply, context).map((each) => chunk(each.delta, null, { produced: each.produced })),
    chunk({}, finishReasons[reply.stop], { closing: true }),
    ...(wantsUsage
      ? [{ text: `data: ${JSON.stringify(usage)}\n\n`, closing: true } satisfies Frame]
      : []),
    { text: 'data: [DONE]\n\n', closing: true },
  ];
}

function refuseOverflow(
  inputTokens: number,
  body: JsonObject,
  windowTokens: number,
): VendorError | undefined {
  const reserved = numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']) ?? 0;
  if (inputTokens + reserved <= windowTokens) return undefined;
  const tail = 'Please reduce the length of the messages';
  const message =
    inputTokens > windowTokens
      ? `your messages resulted in ${inputTokens} tokens. ${tail}.`
      : `you requested ${inputTokens + reserved} tokens (${inputTokens} in the messages, ${reserved} in the completion). ${tail} or completion.`;
  return {
    status: 400,
    message: `This model's maximum context length is ${windowTokens} tokens. However, ${message}`,
    param: 'messages',
    code: 'context_length_exceeded',
  };
}

function turnOf(message: JsonObject): Turn {
  const isTool = message['role'] === 'tool';
  const text = textOf(message['content']);
  const result = { id: stringOf(message['tool_call_id']), content: text, isError: false };
  return {
    role: message['role'] === 'assistant' ? 'assistant' : 'user',
    text: isTool ? '' : text,
    toolCalls: listOf(message['tool_calls'])
      .map(objectOf)
      .map(({ id, function: called }) => ({
        id: stringOf(id),
        name: stringOf(objectOf(called)['name']),
        argumentsText: stringOf(objectOf(called)['arguments']),
      })),
    toolResults: isTool ? [result] : [],
  };
}

function conversation(body: JsonObject): Conversation {
  const messages = listOf(body['messages']).map(objectOf);
  return {
    systemText: messages
      .filter(isInstruction)
      .map((message) => textOf(message['content']))
      .join('\n'),
    toolNames: listOf(body['tools']).map((tool) =>
      stringOf(objectOf(objectOf(tool)['function'])['name']),
    ),
    turns: messages.filter((message) => !isInstruction(message)).map(turnOf),
  };
}

function promptBlocks(body: JsonObject): readonly PromptBlock[] {
  const messages = listOf(body['messages']).map(objectOf);
  return [...toolBlocks(body), ...messageBlocks(messages)];
}

/** The Chat Completions wire. Source: vendor's API reference; shapes in cases.jsonl. */
export const chatWire: Wire = {
  name: 'chat',
  frames,
  errorBody: openAiErrorBody,
  errorFrame: (error) => ({
    text: `data: ${JSON.stringify(openAiErrorBody(error))}\n\n`,
  }),
  dataLine: (data) => `data: ${data}\n\n`,
  pingText: ': ping\n\n',
  headers: openAiErrorHeaders,
  refuseHeaders: refuseOpenAiHeaders,
  refuseBody: validateChat,
  refuseText: refuseOpenAiText,
  refuseOverflow,
  conversation,
  promptBlocks,
};
