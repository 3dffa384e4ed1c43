/** Counts a prompt as the real vendors were seen to count it: by other tokenizers than the table, with additions of their own. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { countTokens } from '../../../testing/emulator/billing';
import { refusesFixedThinking } from '../../../testing/emulator/anthropic/claude-models';
import { anthropicWire } from '../../../testing/emulator/anthropic/anthropic-wire';
import { isList, isObject, listOf, objectOf, stringOf } from '../../../testing/emulator/json-read';
import { chatWire } from '../../../testing/emulator/openai-chat/chat-wire';
import { responsesWire } from '../../../testing/emulator/openai-responses/responses-wire';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { ReplyPart } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { PromptBlock, WireName } from '../../../testing/emulator/wire';
import { producedText } from '../../../testing/emulator/wire';
import type { Usage } from '../../../workflows/core/budget/spend';

const wires = { anthropic: anthropicWire, responses: responsesWire, chat: chatWire } as const;

/** A newer tokenizer began with Claude 4.7 (vendor's token counting guide), and fixed thinking budgets ended with it. */
const usesNewTokenizer = refusesFixedThinking;

/**
 * Tokens of a text on a wire.
 *
 * Source for Claude: 16 % more than GPT-4o's table on English before the newer tokenizer; with it again 1.45 times as many on
 * English prose, 1.13 to 1.36 on code, 1.06 on digits, 1.00 on Chinese (sol.ava.dev and claudecodecamp, both of 2026-04, by the
 * vendor's own count_tokens; arXiv 2505.13348 for the older one).
 */
function textTokens(wire: WireName, model: string, text: string): number {
  const table = countTokens(text);
  if (wire !== 'anthropic' || table === 0) return table;
  const latin = shareOf(text, /[A-Za-z ]/g);
  const other = shareOf(text, /[\u0250-\uffff]/g);
  const older = 1.16 + 0.14 * other;
  const newer = usesNewTokenizer(model) ? 1 + 0.45 * Math.max(0, (latin - 0.35) / 0.62) : 1;
  return Math.ceil(table * older * newer);
}

function shareOf(text: string, characters: RegExp): number {
  return (text.match(characters)?.length ?? 0) / text.length;
}

/** Additions of a vendor, in tokens. */
interface Additions {
  /** Of every request. */
  readonly request: number;
  /** Of a request with tools: the vendor's own instructions on them. */
  readonly tools: number;
  /** Of each tool. */
  readonly tool: number;
  /** Of each block, message or item. */
  readonly block: number;
  /** Of each call and each result of a tool, its id included. */
  readonly toolBlock: number;
}

/**
 * Source: Anthropic's tool use page (290 to 346 tokens of instructions; one small tool and a question count 403); OpenAI's
 * cookbook on counting tool calls (7 and 12 for each function, 3 for each message and for the reply).
 */
const additions: Readonly<Record<WireName, Additions>> = {
  anthropic: { request: 3, tools: 313, tool: 12, block: 4, toolBlock: 18 },
  responses: { request: 7, tools: 12, tool: 7, block: 4, toolBlock: 9 },
  chat: { request: 3, tools: 12, tool: 7, block: 3, toolBlock: 8 },
};

function promptTokens(wire: WireName, model: string, blocks: readonly PromptBlock[]): number {
  const added = additions[wire];
  const hasTools = blocks.some(({ text }) => text.startsWith('tool:'));
  return blocks.reduce(
    (sum, block) => sum + blockTokens(wire, model, block),
    added.request + (hasTools ? added.tools : 0),
  );
}

/** What stands in a block: its text is a place and JSON, or a place and the instructions as they are. */
function contentOf({ text }: PromptBlock): JsonObject {
  const place = 'instructions:';
  if (text.startsWith(place)) return { text: text.slice(place.length) };
  return JSON.parse(text.slice(text.indexOf('{'))) as JsonObject;
}

function blockTokens(wire: WireName, model: string, block: PromptBlock): number {
  const added = additions[wire];
  const content = contentOf(block);
  if (block.text.startsWith('tool:')) {
    return added.tool + textTokens(wire, model, schemaText(content));
  }
  const isToolBlock =
    ['tool_use', 'tool_result', 'function_call', 'function_call_output'].includes(
      stringOf(content['type']),
    ) || content['role'] === 'tool';
  const calls = listOf(content['tool_calls']).length;
  return (
    added.block +
    (isToolBlock ? added.toolBlock : calls * added.toolBlock) +
    textTokens(wire, model, visibleText(content).join('\n')) +
    imagesOf(content).reduce((sum, url) => sum + imageTokens(wire, model, url), 0)
  );
}

/** A tool as the model reads it: its words, without most of JSON's marks. */
function schemaText(tool: JsonObject): string {
  return JSON.stringify(tool['function'] ?? tool).replace(/["{}]/g, ' ');
}

/** Keys whose values the model does not read, or not as text. */
const unread: readonly string[] = [
  'type',
  'id',
  'role',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'signature',
  'source',
  'image_url',
  'detail',
  'status',
  'media_type',
];

/** Every text of a block; sealed reasoning counts as what it holds, by its length. */
function visibleText(value: JsonValue | undefined, key = ''): readonly string[] {
  if (unread.includes(key)) return [];
  if (key === 'input') return [JSON.stringify(value)];
  if (key === 'encrypted_content' || key === 'data')
    return ['word '.repeat(stringOf(value).length / 6)];
  if (typeof value === 'string') return [value];
  if (isList(value)) return value.flatMap((entry) => visibleText(entry));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, entry]) => visibleText(entry, name));
}

/** Data of all images of a block. */
function imagesOf(content: JsonObject): readonly string[] {
  const own = [content, ...listOf(content['content']).map(objectOf)];
  return own.flatMap((block) => {
    if (block['type'] === 'image') return [stringOf(objectOf(block['source'])['data'])];
    if (block['type'] === 'input_image') return [stringOf(block['image_url'])];
    if (block['type'] === 'image_url') return [stringOf(objectOf(block['image_url'])['url'])];
    return [];
  });
}

/** Claude's patches of 28 px, long edge and most tokens of its newer models (vision guide); OpenAI's tiles of 512 px (images guide). */
function imageTokens(wire: WireName, model: string, url: string): number {
  const [width, height] = pngSize(url);
  if (wire === 'anthropic') {
    const [longEdge, most] = usesNewTokenizer(model) ? [2_576, 4_784] : [1_568, 1_568];
    const scale = Math.min(1, longEdge / Math.max(width, height));
    const patches = Math.ceil((width * scale) / 28) * Math.ceil((height * scale) / 28);
    return Math.min(most, patches) + 4;
  }
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const shrink = Math.min(1, 768 / (Math.min(width, height) * fit));
  const tiles = Math.ceil((width * fit * shrink) / 512) * Math.ceil((height * fit * shrink) / 512);
  return model.startsWith('gpt-5') ? 70 + 140 * tiles : 85 + 170 * tiles;
}

/** Width and height of a PNG; of anything else a full image's. */
function pngSize(url: string): readonly [number, number] {
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1).slice(0, 64), 'base64');
  const isPng = bytes.toString('latin1', 1, 4) === 'PNG' && bytes.length >= 24;
  return isPng ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : [1_092, 1_092];
}

/** What a request and its reply cost as the real vendors were seen to count. */
export function vendorUsage(
  { wire, model, body }: RecordedRequest,
  parts: readonly ReplyPart[],
): Usage {
  return {
    inputTokens: promptTokens(wire, model, wires[wire].promptBlocks(body)),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: textTokens(wire, model, producedText(reply.parts(parts))),
  };
}
