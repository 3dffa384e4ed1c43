/** Builds requests of OpenAI's Responses API. */
import type OpenAI from 'openai';
import { defined } from '../../../workflows/core/json';
import type {
  AssistantMessage,
  Message,
  ReasoningBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { isReasoningModel } from '../../models/model-traits';
import type { ModelRequest } from '../provider';
import { PerObjectWhile } from '../request/per-object';
import { repairTranscript } from '../request/transcript-repair';
import { dataUrl, fileName } from '../request/media-url';
import { sendableMedia } from '../request/sendable-media';
import { openAiStrict } from '../request/strict-schema';
import { settingFields, withExtraBody } from '../settings/setting-rules';
import type { ChatDialect } from './chat-dialect';
import { responsesSettings } from './openai-settings';
import { asList, asText, property } from '../untrusted-json';
import { noteOf, wellFormedObject, wellFormedText } from '../request/well-formed';

type Item = OpenAI.Responses.ResponseInputItem;

/** The least `max_output_tokens` that the vendor accepts. */
const leastOutputTokens = 16;

/**
 * Builds the body of one Responses request.
 *
 * Contract: pure; valid for any transcript; nothing is stored at the vendor, so reasoning is sent back as encrypted items.
 */
export function responsesRequest(
  request: ModelRequest,
  vendor: string,
  { extras = [] }: ChatDialect = {},
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const input = repairTranscript(sendableMedia(request, 'responses')).flatMap((message) =>
    itemsOf(message, request.thoughts === 'omitted' ? undefined : vendor),
  );
  const note = noteOf(request);
  if (note !== undefined) input.push({ role: 'user', content: note });
  const reasons = isReasoningModel(request.model);
  const instructions = wellFormedText(request.system);
  const { parallel_tool_calls: parallel, ...fields } = settingFields(
    request.settings,
    responsesSettings(request.model),
  );
  const schema = request.output && openAiStrict(request.output.schema).strict;
  const body: OpenAI.Responses.ResponseCreateParamsStreaming = {
    ...fields,
    model: request.model,
    input,
    max_output_tokens: Math.max(leastOutputTokens, request.maxOutputTokens),
    store: false,
    stream: true,
    ...(instructions.trim() === '' ? {} : { instructions }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: toolsOf(request),
          ...(typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {}),
        }),
    ...(reasons ? { include: ['reasoning.encrypted_content'] } : {}),
    ...defined({
      prompt_cache_key: extras.includes('prompt_cache_key') ? request.cacheKey : undefined,
    }),
    ...(schema === undefined || request.output === undefined
      ? {}
      : {
          text: {
            format: { type: 'json_schema', name: request.output.name, schema, strict: true },
          },
        }),
  };
  return withExtraBody(body, request.settings);
}

function toolsOf(request: ModelRequest): OpenAI.Responses.FunctionTool[] {
  return request.tools.map(({ name, description, inputSchema, strict }) => {
    const enforced = strict === true ? openAiStrict(inputSchema).strict : undefined;
    return {
      type: 'function',
      name,
      description: wellFormedText(description),
      parameters: { ...wellFormedObject(enforced ?? inputSchema), type: 'object' },
      strict: enforced !== undefined,
    };
  });
}

const lastItems = new PerObjectWhile<Message, readonly Item[]>();

/** `vendor`: whose thoughts are sent; undefined: nobody's. */
function itemsOf(message: Message, vendor: string | undefined): readonly Item[] {
  return lastItems.get(message, [vendor], () => builtItems(message, vendor));
}

function builtItems(message: Message, vendor: string | undefined): readonly Item[] {
  switch (message.role) {
    case 'user':
      return [userItem(message)];
    case 'assistant':
      return assistantItems(message, vendor);
    case 'tool':
      return message.results.map((result) => ({
        type: 'function_call_output',
        call_id: result.toolCallId,
        output: result.content,
      }));
  }
}

function userItem(message: UserMessage): Item {
  return {
    role: 'user',
    content: message.blocks.map((block) => {
      switch (block.type) {
        case 'text':
          return { type: 'input_text', text: block.text };
        case 'image':
          return { type: 'input_image', detail: 'auto', image_url: dataUrl(block) };
        case 'file':
          return { type: 'input_file', filename: fileName(block), file_data: dataUrl(block) };
      }
    }),
  };
}

function assistantItems(message: AssistantMessage, vendor: string | undefined): Item[] {
  const items = message.blocks.flatMap((block): Item[] => {
    switch (block.type) {
      case 'reasoning':
        return block.vendor === vendor ? reasoningItem(block) : [];
      case 'vendor-block':
        return [];
      case 'text':
      case 'refusal':
        return [{ role: 'assistant', content: block.text }];
      case 'tool-call':
        return [
          {
            type: 'function_call',
            call_id: block.toolCallId,
            name: block.name,
            arguments: JSON.stringify(block.input),
          },
        ];
    }
  });
  return withoutTrailingReasoning(items);
}

/** The vendor refuses a reasoning item at the end. */
function withoutTrailingReasoning(items: Item[]): Item[] {
  const end = items.findLastIndex((item) => item.type !== 'reasoning');
  return items.slice(0, end + 1);
}

function reasoningItem(block: ReasoningBlock): Item[] {
  const id = asText(block.opaque?.['id']);
  const encrypted = asText(block.opaque?.['encryptedContent']);
  if (id === '' || encrypted === '') return [];
  const summary = asList(block.opaque?.['summary']).map((part) => asText(property(part, 'text')));
  return [
    {
      type: 'reasoning',
      id,
      encrypted_content: encrypted,
      summary: summary.map((text) => ({ type: 'summary_text', text: wellFormedText(text) })),
    },
  ];
}
