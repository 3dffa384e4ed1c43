/** Builds requests of Anthropic's Messages API. */
import type Anthropic from '@anthropic-ai/sdk';
import type {
  AssistantMessage,
  MediaBlock,
  Message,
  ReasoningBlock,
  ToolMessage,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { defined } from '../../../workflows/core/json';
import type { ModelRequest, ToolSpec } from '../provider';
import { BoundPrefix, type PromptPart } from '../request/bound-prefix';
import { endsOpen, sendableVendorBlocks, vendorBlocksIn } from '../request/vendor-blocks';
import { perObject, PerObjectWhile } from '../request/per-object';
import { anthropicStrict } from '../request/strict-schema';
import { repairTranscript, unknownThought } from '../request/transcript-repair';
import { sendableMedia } from '../request/sendable-media';
import { settingFields, withExtraBody } from '../settings/setting-rules';
import { asText } from '../untrusted-json';
import { anthropicSettings } from './settings';
import { noteOf, wellFormedObject, wellFormedText } from '../request/well-formed';

/** What a request needs beside the vendor-neutral one. */
export interface AnthropicRequestOptions {
  /** Whose reasoning blocks may be sent back. */
  readonly vendor: string;
}

type UserBlock =
  | Anthropic.TextBlockParam
  | Anthropic.ImageBlockParam
  | Anthropic.DocumentBlockParam
  | Anthropic.ToolResultBlockParam;
type AssistantBlock =
  | Anthropic.TextBlockParam
  | Anthropic.ThinkingBlockParam
  | Anthropic.RedactedThinkingBlockParam
  | Anthropic.ToolUseBlockParam
  | Anthropic.ServerToolUseBlockParam;
/** A turn as it is sent: the same object in each request, so nothing may be added to it. */
type Turn =
  | { readonly role: 'user'; readonly content: UserBlock[] }
  | { readonly role: 'assistant'; readonly content: AssistantBlock[] };

/** A block of this wire is its own form, whatever the request. */
const scope = {};

/** The mark that ends a cached part. Absent: the route turns the cache off. */
type Breakpoint = { readonly cache_control: Anthropic.CacheControlEphemeral } | undefined;

function breakpointOf({ settings }: ModelRequest): Breakpoint {
  const kept = settings?.promptCache;
  if (kept === 'off') return undefined;
  return { cache_control: { type: 'ephemeral', ...(kept === '1h' ? { ttl: kept } : {}) } };
}

/** The least thinking budget that the vendor takes, and what is left for the reply beside it, in tokens. */
const leastBudgetTokens = 1_024;
const leastReplyTokens = 1_024;

/**
 * Builds the body of one Messages request.
 *
 * Contract: pure; valid for any transcript; the part before the note is byte for byte the same with and without one. Cache
 * breakpoints: tools, system, and the ends of the last two user turns (four, the vendor's limit; the last but one is where the
 * previous request ended). `max_tokens` is the request's limit: thinking counts toward it.
 */
export function anthropicRequest(
  request: ModelRequest,
  options: AnthropicRequestOptions,
): Anthropic.MessageCreateParamsStreaming {
  const { turns } = conversationOf(request, options.vendor);
  const breakpoint = breakpointOf(request);
  markBreakpoints(turns, breakpoint);
  appendNote(turns, noteOf(request));
  // The rules give each field its type.
  const mapped = settingFields(request.settings, anthropicSettings(request.model)) as Pick<
    Anthropic.MessageCreateParamsStreaming,
    'thinking' | 'output_config' | 'tool_choice' | 'stop_sequences' | 'service_tier'
  >;
  const { thinking, output_config: effort, tool_choice: choice, ...fields } = mapped;
  const system = systemOf(request);
  const format = request.output && anthropicStrict(request.output.schema).strict;
  const body: Anthropic.MessageCreateParamsStreaming = {
    ...fields,
    model: request.model,
    max_tokens: request.maxOutputTokens,
    messages: turns,
    stream: true,
    ...(system.trim() === '' ? {} : { system: [{ type: 'text', text: system, ...breakpoint }] }),
    ...toolsField(request, breakpoint, choice),
    ...defined({ thinking: thinkingFor(turns, thinking, request.maxOutputTokens) }),
    ...(format === undefined && effort === undefined
      ? {}
      : {
          output_config: {
            ...effort,
            ...(format && { format: { type: 'json_schema', schema: format } }),
          },
        }),
  };
  return withExtraBody(body, request.settings);
}

function systemOf(request: ModelRequest): string {
  return wellFormedText(request.system);
}

/**
 * The tools that the request defines. One without tools defines those that the conversation names: the API refuses a request with
 * calls and no tools ("Requests which include `tool_use` or `tool_result` blocks must define tools", BerriAI/litellm#4689).
 */
function definedTools({ tools, messages }: ModelRequest): ModelRequest['tools'] {
  if (tools.length > 0) return tools;
  const names = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.blocks.flatMap((block) => (block.type === 'tool-call' ? [block.name] : []))
      : [],
  );
  const description = 'Not available any more.';
  return [...new Set(names)].map((name) => ({ name, description, inputSchema: {} }));
}

type ToolFields = Pick<Anthropic.MessageCreateParamsStreaming, 'tools' | 'tool_choice'>;

function toolsField(
  request: ModelRequest,
  breakpoint: Breakpoint,
  choice: ToolFields['tool_choice'],
): ToolFields {
  const tools = toolsOf(request, breakpoint);
  if (tools.length === 0) return {};
  return request.tools.length > 0
    ? { tools, ...defined({ tool_choice: choice }) }
    : { tools, tool_choice: { type: 'none' } };
}

function toolsOf(request: ModelRequest, breakpoint?: Breakpoint): Anthropic.Tool[] {
  const tools = definedTools(request);
  return tools.map((tool, index) => ({
    name: tool.name,
    description: wellFormedText(tool.description),
    ...inputOf(tool),
    ...(index === tools.length - 1 ? breakpoint : {}),
  }));
}

function inputOf({
  inputSchema,
  strict,
}: ToolSpec): Pick<Anthropic.Tool, 'input_schema' | 'strict'> {
  const enforced = strict === true ? anthropicStrict(inputSchema).strict : undefined;
  return {
    input_schema: { ...wellFormedObject(enforced ?? inputSchema), type: 'object' },
    ...(enforced && { strict: true }),
  };
}

/** Digest of everything that a reply to this request is bound to, except the note. */
export function promptPrefix(request: ModelRequest, vendor: string): string {
  return conversationOf(request, vendor).prefix.digest;
}

function conversationOf(
  request: ModelRequest,
  vendor: string,
): { readonly turns: Turn[]; readonly prefix: BoundPrefix<Turn> } {
  const turns: Turn[] = [];
  const prefix = new BoundPrefix(scope, () => [systemOf(request), toolsOf(request)], boundParts);
  const isOpen = noteOf(request) === undefined && endsOpen(request.messages, vendor);
  const messages = repairTranscript(sendableMedia(request, 'anthropic'), { isOpen });
  const vendorBlocks = sendableVendorBlocks(messages, vendor, isOpen);
  const { model, thoughts } = request;
  const own: Own = { model, vendor, prefix, thoughts, vendorBlocks };
  for (const message of messages) {
    const sent = sentOf(message, own);
    prefix.add(sent);
    addTo(turns, sent);
  }
  return { turns, prefix };
}

/** What a later thought is bound to. */
function boundParts({ role, content }: Turn): readonly PromptPart[] {
  return content
    .filter((block) => !isReasoning(block))
    .map((block) => ({ source: block, sent: () => [role, block] }));
}

/** Adds a turn: to the last one, if it has the same role. */
function addTo(turns: Turn[], next: Turn): void {
  const last = turns.at(-1);
  if (next.content.length === 0) return;
  if (last?.role !== next.role) turns.push(next);
  else turns.splice(-1, 1, { ...last, content: [...last.content, ...next.content] } as Turn);
}

/** Whose thoughts may be sent back, and after which prefix. */
interface Own {
  readonly model: string;
  readonly vendor: string;
  readonly prefix: BoundPrefix<Turn>;
  readonly thoughts: ModelRequest['thoughts'];
  readonly vendorBlocks: ReturnType<typeof sendableVendorBlocks>;
}

function sentOf(message: Message, own: Own): Turn {
  return message.role === 'assistant' ? assistantTurn(message, own) : userTurn(message);
}

const userTurn = perObject((message: UserMessage | ToolMessage): Turn => ({
  role: 'user',
  content:
    message.role === 'user' ? message.blocks.map(userBlock) : message.results.map(resultBlock),
}));

function userBlock(block: { type: 'text'; text: string } | MediaBlock): UserBlock {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { mediaType: media_type, data = '', name: title } = block;
  return media_type === 'application/pdf'
    ? { type: 'document', source: { type: 'base64', media_type, data }, ...defined({ title }) }
    : { type: 'image', source: { type: 'base64', media_type, data } };
}

function resultBlock(result: ToolResultBlock): Anthropic.ToolResultBlockParam {
  return {
    type: 'tool_result',
    tool_use_id: result.toolCallId,
    content: result.content,
    ...(result.isError ? { is_error: true } : {}),
  };
}

const lastSent = new PerObjectWhile<AssistantMessage, Turn>();

function assistantTurn(message: AssistantMessage, own: Own): Turn {
  const { model, vendor, prefix, thoughts, vendorBlocks } = own;
  const isOwn =
    thoughts !== 'omitted' &&
    isSameModel(message.model, model) &&
    message.blocks.every((block) => block.type !== 'reasoning' || prefix.holds(block));
  const left = vendorBlocksIn(message).map((block) => vendorBlocks.has(block));
  const dependsOn = [vendor, isOwn, thoughts === 'with-text', ...left];
  return lastSent.get(message, dependsOn, () => builtTurn(message, own, isOwn));
}

function builtTurn(
  message: AssistantMessage,
  { vendor, thoughts, vendorBlocks }: Own,
  isOwn: boolean,
): Turn {
  const mustThink = thoughts === 'with-text';
  const content = saidOrder(message, vendor).flatMap((block): AssistantBlock[] => {
    switch (block.type) {
      case 'reasoning':
        return isOwn && block.vendor === vendor ? signedReasoning(block, mustThink) : [];
      case 'vendor-block':
        // As the vendor gave it, of a type that the SDK may not know.
        return vendorBlocks.has(block) ? [block.content as unknown as AssistantBlock] : [];
      case 'tool-call':
        return [{ type: 'tool_use', id: block.toolCallId, name: block.name, input: block.input }];
      case 'text':
      case 'refusal':
        return [{ type: 'text', text: block.text }];
    }
  });
  const isBare = content.every(isReasoning);
  if (mustThink && !isBare && content[0] !== undefined && !isReasoning(content[0]))
    content.unshift({ type: 'thinking', thinking: unknownThought, signature: '' });
  return { role: 'assistant', content: isBare ? [] : content };
}

/** The vendor's own replies keep their order; in others, which may have text after a call, the calls are moved to the end. */
function saidOrder(message: AssistantMessage, vendor: string): AssistantMessage['blocks'] {
  if (message.vendor === vendor) return message.blocks;
  const isCall = (block: AssistantMessage['blocks'][number]): boolean => block.type === 'tool-call';
  return [...message.blocks.filter((block) => !isCall(block)), ...message.blocks.filter(isCall)];
}

function isReasoning(block: AssistantBlock | UserBlock): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking';
}

function signedReasoning(block: ReasoningBlock, isUnsignedSent: boolean): AssistantBlock[] {
  const signature = asText(block.opaque?.['signature']);
  const data = asText(block.opaque?.['data']);
  if (data !== '') return [{ type: 'redacted_thinking', data }];
  return signature === '' && !isUnsignedSent
    ? []
    : [{ type: 'thinking', thinking: block.text, signature }];
}

/** A signature is valid for the model that made it; an alias and its dated name are the same model. */
function isSameModel(left: string, right: string): boolean {
  return left === right || left.startsWith(`${right}-`) || right.startsWith(`${left}-`);
}

/** Marks the ends of the last two user turns. */
function markBreakpoints(turns: Turn[], breakpoint: Breakpoint): void {
  let left = 2;
  for (let at = turns.length - 1; at >= 0 && left > 0; at -= 1) {
    const turn = turns[at];
    const last = turn?.role === 'user' ? turn.content.at(-1) : undefined;
    if (turn?.role !== 'user' || last === undefined) continue;
    turns[at] = {
      role: 'user',
      content: [...turn.content.slice(0, -1), { ...last, ...breakpoint }],
    };
    left -= 1;
  }
}

function appendNote(turns: Turn[], text: string | undefined): void {
  if (text !== undefined) addTo(turns, { role: 'user', content: [{ type: 'text', text }] });
}

/**
 * With a fixed thinking budget the vendor demands that a turn that continues after tool results began with its own thinking. A
 * turn of another vendor did not, so that request is sent without thinking. So is one whose limit, which a budget may have lowered,
 * leaves no room for it.
 */
function thinkingFor(
  turns: readonly Turn[],
  thinking: Anthropic.ThinkingConfigParam | undefined,
  maxTokens: number,
): Anthropic.ThinkingConfigParam | undefined {
  if (thinking?.type !== 'enabled') return thinking;
  const last = turns.at(-1);
  const before = turns.at(-2);
  const goesOn =
    last?.role === 'user' && last.content.some((block) => block.type === 'tool_result');
  const isSigned = before?.content[0] !== undefined && isReasoning(before.content[0]);
  if (goesOn && before?.role === 'assistant' && !isSigned) return undefined;
  const budget = Math.min(thinking.budget_tokens, maxTokens - leastReplyTokens);
  return budget < leastBudgetTokens ? undefined : { ...thinking, budget_tokens: budget };
}
