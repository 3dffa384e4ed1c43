/** Builds requests of the Chat Completions API, in each server's dialect. */
import type OpenAI from 'openai';
import { defined } from '../../../workflows/core/json';
import type {
  AssistantMessage,
  Message,
  ToolCallBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { isReasoningModel } from '../../models/model-traits';
import type { ModelRequest } from '../provider';
import { BoundPrefix } from '../request/bound-prefix';
import { repairTranscript, shortenedId } from '../request/transcript-repair';
import { sendableImages } from '../request/sendable-images';
import { asList, asNumber, asObject, property } from '../untrusted-json';
import { noteOf, wellFormedObject, wellFormedText } from '../request/well-formed';
import type { ChatDialect } from './chat-dialect';
import { sentDetails } from './reasoning-details';
import { outputLimit } from './responses-request';

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatUserMessage = OpenAI.Chat.ChatCompletionUserMessageParam;
type ChatPart = OpenAI.Chat.ChatCompletionContentPart;

/** Longest tool call id that every server accepts. Source: microsoft/autogen#6377. */
const maxCallIdLength = 40;

/** Gemini's signature for a call that another model made. Source: ai.google.dev, thought signatures; rust-genai#115. */
export const foreignThoughtSignature = 'skip_thought_signature_validator';

/**
 * Builds the body of one Chat Completions request.
 *
 * Contract: pure; valid for any transcript; the note is the last user message.
 */
export function chatRequest(
  request: ModelRequest,
  vendor: string,
  dialect: ChatDialect,
): OpenAI.Chat.ChatCompletionCreateParamsStreaming {
  const { messages } = conversationOf(request, vendor, dialect);
  const note = noteOf(request);
  if (note !== undefined) messages.push({ role: 'user', content: note });
  const isOpenAi = dialect.isOpenAi === true;
  const refusesTemperature = isOpenAi && isReasoningModel(request.model);
  const system = wellFormedText(request.system);
  return {
    model: request.model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
      ...(dialect.alternates === true ? withMergedUsers(messages) : messages),
    ],
    [isOpenAi ? 'max_completion_tokens' : 'max_tokens']: outputLimit(request),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.tools.length === 0 ? {} : { tools: toolsOf(request) }),
    ...defined({
      temperature: refusesTemperature ? undefined : request.temperature,
      prompt_cache_key: isOpenAi ? request.cacheKey : undefined,
    }),
    ...(isOpenAi ? outputFormat(request) : {}),
  };
}

/** Digest of everything that a reply to this request is bound to, except the note. */
export function chatPrefix(request: ModelRequest, vendor: string, dialect: ChatDialect): string {
  return conversationOf(request, vendor, dialect).prefix.digest;
}

/** Whose reasoning is sent back, in which dialect, and after which prefix. */
interface Own {
  readonly model: string;
  readonly vendor: string;
  readonly dialect: ChatDialect;
  readonly prefix: BoundPrefix;
}

function conversationOf(
  request: ModelRequest,
  vendor: string,
  dialect: ChatDialect,
): { readonly messages: ChatMessage[]; readonly prefix: BoundPrefix } {
  const prefix = new BoundPrefix();
  const own: Own = { model: request.model, vendor, dialect, prefix };
  prefix.add([request.system, request.tools]);
  const messages = repairTranscript(sendableImages(request.messages, 'chat')).flatMap((message) => {
    const built = messagesOf(message, own);
    if (dialect.returnsReasoningDetails === true)
      for (const each of built) prefix.add({ ...each, reasoning_details: undefined });
    return built;
  });
  return { messages, prefix };
}

function outputFormat({
  output,
}: ModelRequest): Pick<OpenAI.Chat.ChatCompletionCreateParamsStreaming, 'response_format'> {
  if (output === undefined) return {};
  const { name, schema } = output;
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } } };
}

function toolsOf(request: ModelRequest): OpenAI.Chat.ChatCompletionFunctionTool[] {
  return request.tools.map((tool) => ({
    type: 'function',
    function: {
      name: tool.name,
      description: wellFormedText(tool.description),
      parameters: { ...wellFormedObject(tool.inputSchema), type: 'object' },
    },
  }));
}

function messagesOf(message: Message, own: Own): ChatMessage[] {
  switch (message.role) {
    case 'user':
      return [userMessage(message)];
    case 'assistant':
      return assistantMessages(message, own);
    case 'tool':
      return message.results.map((result) => ({
        role: 'tool',
        tool_call_id: shortenedId(result.toolCallId, maxCallIdLength),
        content: result.content,
      }));
  }
}

/** Text alone is sent as a string: older servers do not know parts. */
function userMessage(message: UserMessage): ChatUserMessage {
  const parts = message.blocks.map((block): ChatPart =>
    block.type === 'text'
      ? { type: 'text', text: block.text }
      : {
          type: 'image_url',
          image_url: { url: `data:${block.mediaType};base64,${block.data}` },
        },
  );
  return { role: 'user', content: plainText(parts) ?? parts };
}

function plainText(parts: readonly ChatPart[]): string | undefined {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n\n') : undefined;
}

function assistantMessages(
  message: AssistantMessage,
  { model, vendor, dialect, prefix }: Own,
): ChatMessage[] {
  const texts = message.blocks.flatMap((block) =>
    block.type === 'text' || block.type === 'refusal' ? [block.text] : [],
  );
  const calls = message.blocks.filter((block) => block.type === 'tool-call');
  if (texts.length === 0 && calls.length === 0) return [];
  const thoughts = message.blocks
    .filter((block) => block.type === 'reasoning')
    .filter((block) => block.vendor === vendor);
  const signatures = thoughts.flatMap(({ opaque }) => asList(opaque?.['toolCallExtras']));
  const sent = callsOf(calls, signatures, dialect);
  const fitting =
    dialect.returnsReasoningDetails === true ? thoughts.filter((block) => prefix.holds(block)) : [];
  const details = sentDetails(fitting, model, sent);
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join('\n\n'),
      ...(sent.length === 0 ? {} : { tool_calls: sent }),
      ...(dialect.returnsReasoning === true
        ? { reasoning_content: thoughts.map(({ text }) => text).join('\n\n') }
        : {}),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
    },
  ];
}

function callsOf(
  calls: readonly ToolCallBlock[],
  extras: readonly unknown[],
  dialect: ChatDialect,
): OpenAI.Chat.ChatCompletionMessageFunctionToolCall[] {
  return calls.map((call, index) => ({
    id: shortenedId(call.toolCallId, maxCallIdLength),
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
    ...(dialect.signsToolCalls === true ? { extra_content: extraContent(index, extras) } : {}),
  }));
}

/** Signatures are sent back with their calls; of parallel calls only the first needs one. */
function extraContent(index: number, extras: readonly unknown[]): unknown {
  const own = extras.find((extra) => asNumber(property(extra, 'index')) === index);
  const content = asObject(property(own, 'content'));
  if (content !== undefined) return content;
  return extras.length > 0 ? undefined : { google: { thought_signature: foreignThoughtSignature } };
}

function withMergedUsers(messages: readonly ChatMessage[]): ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (message.role === 'user' && last?.role === 'user') {
      const parts = [...partsOf(last), ...partsOf(message)];
      merged.splice(-1, 1, { role: 'user', content: plainText(parts) ?? parts });
    } else merged.push(message);
  }
  return merged;
}

function partsOf(message: ChatUserMessage): readonly ChatPart[] {
  return typeof message.content === 'string'
    ? [{ type: 'text', text: message.content }]
    : message.content;
}
