/** Builds requests of the Chat Completions API, in each server's dialect. */
import type OpenAI from 'openai';
import { defined } from '../../../workflows/core/json';
import type {
  AssistantMessage,
  Message,
  ReasoningBlock,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import type { ModelRequest } from '../provider';
import { BoundPrefix, type PromptPart } from '../request/bound-prefix';
import { perObject, PerObjectWhile } from '../request/per-object';
import { callsOf, repairTranscript, unknownThought } from '../request/transcript-repair';
import { dataUrl, fileName } from '../request/media-url';
import { sendableMedia } from '../request/sendable-media';
import { openAiStrict } from '../request/strict-schema';
import { schemaWithin } from '../request/tool-schema';
import { settingFields, withExtraBody } from '../settings/setting-rules';
import { asList, asNumber, asObject, property } from '../untrusted-json';
import { noteOf, wellFormedObject, wellFormedText } from '../request/well-formed';
import { CallIds } from './call-ids';
import type { ChatDialect, ReturnedThoughts } from './chat-dialect';
import { sentDetails } from './reasoning-details';
import { chatSettings } from './openai-settings';
import type { ChatPart } from './turn-order';
import { orderedTurns, plainText } from './turn-order';

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatUserMessage = OpenAI.Chat.ChatCompletionUserMessageParam;

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
  const { extras = [] } = dialect;
  const { parallel_tool_calls: parallel, ...fields } = settingFields(
    request.settings,
    chatSettings(request.model, dialect),
  );
  const body: OpenAI.Chat.ChatCompletionCreateParamsStreaming = {
    ...fields,
    model: request.model,
    messages: [...orderedTurns([...instructionsOf(request, dialect), ...messages], dialect.turns)],
    [dialect.outputLimit ?? 'max_tokens']: request.maxOutputTokens,
    stream: true,
    ...(dialect.asksForUsage === false ? {} : { stream_options: { include_usage: true } }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: toolsOf(request, dialect),
          ...(typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {}),
        }),
    ...defined({
      prompt_cache_key: extras.includes('prompt_cache_key') ? request.cacheKey : undefined,
    }),
    ...(extras.includes('response_format') ? outputFormat(request) : {}),
  };
  return withExtraBody(body, request.settings);
}

function instructionsOf(request: ModelRequest, { system }: ChatDialect): readonly ChatMessage[] {
  const content = wellFormedText(request.system);
  const role = system === 'first-user' ? 'user' : 'system';
  return content.trim() === '' ? [] : [{ role, content }];
}

/** Digest of everything that a reply to this request is bound to, except the note. */
export function chatPrefix(request: ModelRequest, vendor: string, dialect: ChatDialect): string {
  return conversationOf(request, vendor, dialect).prefix.digest;
}

/** Whose thoughts are sent back and how, in which dialect, and after which prefix. */
interface Own {
  readonly model: string;
  readonly vendor: string;
  readonly dialect: ChatDialect;
  readonly thoughts: ReturnedThoughts | undefined;
  /** The server refused its own thoughts: none is sent. */
  readonly isForgetful: boolean;
  readonly ids: CallIds;
  readonly prefix: BoundPrefix<PromptPart>;
}

const asReasoning: ReturnedThoughts = {
  as: 'text',
  field: 'reasoning_content',
  on: 'every-message',
};
const asSignatures: ReturnedThoughts = { as: 'call-signatures' };

/** How thoughts go back: as the server has shown by a refusal, else as its dialect says (ADR 0046). */
function returnedThoughts(
  { thoughts: shown }: ModelRequest,
  { thoughts }: ChatDialect,
): ReturnedThoughts | undefined {
  if (shown === 'with-text') return thoughts?.as === 'text' ? thoughts : asReasoning;
  if (shown === 'with-signatures') return asSignatures;
  return shown === undefined || thoughts?.as === 'call-signatures' ? thoughts : undefined;
}

function conversationOf(
  request: ModelRequest,
  vendor: string,
  dialect: ChatDialect,
): { readonly messages: ChatMessage[]; readonly prefix: BoundPrefix<PromptPart> } {
  const thoughts = returnedThoughts(request, dialect);
  const isForgetful = request.thoughts === 'omitted';
  const ids = new CallIds(dialect.callIds);
  const first = (): unknown => [request.system, request.tools, vendor, request.thoughts];
  const prefix = new BoundPrefix(dialect, first, (part: PromptPart) => [part]);
  const own: Own = { model: request.model, vendor, dialect, thoughts, isForgetful, ids, prefix };
  const messages: ChatMessage[] = [];
  for (const message of repairTranscript(sendableMedia(request, 'chat'))) {
    const built = messagesOf(message, own);
    messages.push(...built);
    if (dialect.thoughts?.as === 'details')
      prefix.add({
        source: message,
        sent: () => built.map((each) => ({ ...each, reasoning_details: undefined })),
      });
  }
  return { messages, prefix };
}

function outputFormat({
  output,
}: ModelRequest): Pick<OpenAI.Chat.ChatCompletionCreateParamsStreaming, 'response_format'> {
  const schema = output && openAiStrict(output.schema).strict;
  if (output === undefined || schema === undefined) return {};
  const { name } = output;
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } } };
}

function toolsOf(
  request: ModelRequest,
  { toolSchemas, extras }: ChatDialect,
): OpenAI.Chat.ChatCompletionFunctionTool[] {
  return request.tools.map((tool) => {
    const mayEnforce = tool.strict === true && extras?.includes('response_format') === true;
    const enforced = mayEnforce ? openAiStrict(tool.inputSchema).strict : undefined;
    const schema =
      enforced ??
      (toolSchemas === undefined ? tool.inputSchema : schemaWithin(tool.inputSchema, toolSchemas));
    const isEmpty = Object.keys(asObject(schema['properties']) ?? {}).length === 0;
    const parameters = { ...wellFormedObject(schema), type: 'object' };
    return {
      type: 'function',
      function: {
        name: tool.name,
        description: wellFormedText(tool.description),
        ...(isEmpty && toolSchemas?.hasNoEmptyObject === true ? {} : { parameters }),
        ...(enforced && { strict: true }),
      },
    };
  });
}

function messagesOf(message: Message, own: Own): readonly ChatMessage[] {
  switch (message.role) {
    case 'user':
      return [userMessage(message)];
    case 'assistant':
      return assistantMessages(message, own);
    case 'tool':
      return message.results.map((result) => toolMessage(result, own.ids.sent(result)));
  }
}

const lastToolMessage = new PerObjectWhile<ToolResultBlock, ChatMessage>();

function toolMessage(result: ToolResultBlock, id: string): ChatMessage {
  const { content } = result;
  return lastToolMessage.get(result, [id], () => ({ role: 'tool', tool_call_id: id, content }));
}

/** Text alone is sent as a string: older servers do not know parts. */
const userMessage = perObject((message: UserMessage): ChatUserMessage => {
  const parts = message.blocks.map((block): ChatPart => {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text };
      case 'image':
        return { type: 'image_url', image_url: { url: dataUrl(block) } };
      case 'file':
        return { type: 'file', file: { filename: fileName(block), file_data: dataUrl(block) } };
    }
  });
  return { role: 'user', content: plainText(parts) ?? parts };
});

const lastSent = new PerObjectWhile<AssistantMessage, readonly ChatMessage[]>();

const noThoughts: readonly ReasoningBlock[] = [];

function assistantMessages(message: AssistantMessage, own: Own): readonly ChatMessage[] {
  const { model, vendor, dialect, thoughts, isForgetful, ids, prefix } = own;
  const fitting =
    thoughts?.as === 'details'
      ? ownThoughts(message, own).filter((block) => prefix.holds(block))
      : noThoughts;
  const callIds = callsOf(message).map((call) => ids.sent(call));
  const dependsOn = [model, vendor, dialect, thoughts, isForgetful, ...callIds, ...fitting];
  return lastSent.get(message, dependsOn, () => builtMessages(message, own, callIds, fitting));
}

function ownThoughts(
  { blocks }: AssistantMessage,
  { vendor, isForgetful }: Own,
): readonly ReasoningBlock[] {
  if (isForgetful) return [];
  return blocks
    .filter((block) => block.type === 'reasoning')
    .filter((block) => block.vendor === vendor);
}

/** `fitting`: thoughts that go back as details. */
function builtMessages(
  message: AssistantMessage,
  own: Own,
  callIds: readonly string[],
  fitting: readonly ReasoningBlock[],
): readonly ChatMessage[] {
  const { model, dialect, thoughts } = own;
  const texts = message.blocks.flatMap((block) =>
    block.type === 'text' || block.type === 'refusal' ? [block.text] : [],
  );
  if (texts.length === 0 && callIds.length === 0) return [];
  const thoughtsOfOwn = ownThoughts(message, own);
  const sent = sentCalls(message, callIds, thoughtsOfOwn, thoughts);
  const details = sentDetails(fitting, model, sent);
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? (dialect.emptyContent ?? null) : texts.join('\n\n'),
      ...(sent.length === 0 ? {} : { tool_calls: sent }),
      ...thoughtText(thoughts, thoughtsOfOwn, sent.length > 0),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
    },
  ];
}

/** The thoughts of a message as a field of it. */
function thoughtText(
  thoughts: ReturnedThoughts | undefined,
  own: readonly ReasoningBlock[],
  hasCalls: boolean,
): Readonly<Record<string, string>> {
  if (thoughts?.as !== 'text' || (thoughts.on === 'tool-calls' && !hasCalls)) return {};
  const texts = own.map(({ text }) => text).filter((text) => text !== '');
  return { [thoughts.field]: texts.length === 0 ? unknownThought : texts.join('\n\n') };
}

function sentCalls(
  message: AssistantMessage,
  ids: readonly string[],
  own: readonly ReasoningBlock[],
  thoughts: ReturnedThoughts | undefined,
): OpenAI.Chat.ChatCompletionMessageFunctionToolCall[] {
  const extras = own.flatMap(({ opaque }) => asList(opaque?.['toolCallExtras']));
  return callsOf(message).map(({ name, input }, index) => ({
    id: ids[index] ?? '',
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
    ...(thoughts?.as === 'call-signatures' ? { extra_content: extraContent(index, extras) } : {}),
  }));
}

/** Signatures are sent back with their calls; of parallel calls only the first needs one. */
function extraContent(index: number, extras: readonly unknown[]): unknown {
  const own = extras.find((extra) => asNumber(property(extra, 'index')) === index);
  const content = asObject(property(own, 'content'));
  if (content !== undefined) return content;
  return extras.length > 0 ? undefined : { google: { thought_signature: foreignThoughtSignature } };
}
