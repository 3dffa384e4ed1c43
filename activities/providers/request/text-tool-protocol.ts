/** Tool calls as text, for models without native tool calls: one fenced JSON block, explained in the system prompt. */
import type { JsonObject } from '../../../workflows/core/json';
import type { Message, TextBlock } from '../../../workflows/core/message';
import type { ModelRequest, ToolSpec } from '../provider';
import { repairTranscript } from './transcript-repair';
import { isRecord } from '../untrusted-json';

/** How a reply in this protocol was read. */
export type TextProtocolResult =
  /** One call; its arguments are JSON text, to be checked like native ones. */
  | {
      readonly type: 'call';
      readonly name: string;
      readonly argumentsText: string;
      /** What the model wrote around the block. */
      readonly said: string;
    }
  /** No call, and none was needed. */
  | { readonly type: 'answer'; readonly text: string }
  /** The model's mistake, explained to the model. */
  | {
      readonly type: 'mistake';
      readonly code: 'no_tool_call' | 'invalid_json' | 'missing_tool_name';
      readonly message: string;
    };

/**
 * Rewrites a request for a model without native tool calls: the system prompt explains the tools, the transcript's calls and
 * results become text, and no tool is sent.
 *
 * Contract: pure; the result has no tool call, tool result or tool.
 */
export function renderTextProtocolRequest(request: ModelRequest): ModelRequest {
  return {
    ...request,
    system: [request.system, teaching(request.tools)].filter((text) => text !== '').join('\n\n'),
    messages: repairTranscript(request.messages).map(asText),
    tools: [],
  };
}

function teaching(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return '';
  const example = fenced({ tool_name: 'name_of_a_tool', arguments: { name_of_an_input: 'value' } });
  const list = tools.map(
    (tool) =>
      `- ${tool.name}: ${tool.description}\n  arguments: ${JSON.stringify(tool.inputSchema)}`,
  );
  return [
    'You work with tools. To call one, write exactly one block of this form, and nothing after it:',
    example,
    'The block must be valid JSON with the keys "tool_name" and "arguments". Call one tool at a time; its result is in the next message. Never write a result yourself.',
    `Tools:\n${list.join('\n')}`,
  ].join('\n\n');
}

function fenced(call: JsonObject): string {
  return `\`\`\`json\n${JSON.stringify(call)}\n\`\`\``;
}

function asText(message: Message): Message {
  switch (message.role) {
    case 'user':
      return message;
    case 'assistant': {
      const blocks = message.blocks.map((block) =>
        block.type === 'tool-call'
          ? textBlock(fenced({ tool_name: block.name, arguments: block.input }))
          : block,
      );
      return { ...message, blocks };
    }
    case 'tool': {
      const blocks = message.results.map(({ name, content, isError }) =>
        textBlock(`${isError ? 'Error of' : 'Result of'} tool ${name}:\n${content}`),
      );
      return { role: 'user', blocks };
    }
  }
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}

/** A fenced block that says it is JSON, up to its closing fence at the beginning of a line, or to the end of the text. */
const jsonFence = /^[ \t]*```[ \t]*json[ \t]*\r?\n([^]*?)(?:^[ \t]*```[ \t]*$|$(?![^]))/gim;

/**
 * Reads the reply strictly: one fenced JSON block with `tool_name` and `arguments`. Anything that is almost a call is a mistake,
 * which is explained to the model; nothing is guessed.
 *
 * Contract: pure; a block that is truncated, has no `tool_name`, or is not the only one, is never a call. With `requireCall` a reply
 * without a block is a mistake.
 */
export function parseTextProtocolReply(
  text: string,
  options: { readonly requireCall: boolean },
): TextProtocolResult {
  const blocks = [...text.matchAll(jsonFence)];
  const [block, second] = blocks;
  if (block === undefined) {
    return options.requireCall
      ? mistake('no_tool_call', missingBlock(text))
      : { type: 'answer', text };
  }
  if (second !== undefined) {
    return mistake(
      'invalid_json',
      `The reply contains ${blocks.length} JSON blocks. Write exactly one: one tool call at a time.`,
    );
  }
  const result = callOf(block[1] ?? '');
  return result.type === 'call' ? { ...result, said: text.replace(block[0], '').trim() } : result;
}

function missingBlock(text: string): string {
  const looksLikeCall = /^\s*\{[^]*\}\s*$/.test(text);
  return looksLikeCall
    ? 'The reply contains JSON, but not in a ```json block.'
    : 'The reply contains no tool call.';
}

function callOf(json: string): TextProtocolResult {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message.slice(0, 200) : 'unreadable';
    return mistake('invalid_json', `The tool call is not valid JSON: ${why}`);
  }
  if (!isRecord(value)) return mistake('invalid_json', 'The tool call must be one JSON object.');
  const name = value['tool_name'];
  if (typeof name !== 'string' || name.trim() === '') {
    return mistake('missing_tool_name', 'The tool call has no "tool_name".');
  }
  const given = value['arguments'] ?? {};
  if (!isRecord(given)) {
    return mistake('invalid_json', 'The "arguments" of the tool call must be a JSON object.');
  }
  return { type: 'call', name: name.trim(), argumentsText: JSON.stringify(given), said: '' };
}

function mistake(
  code: 'no_tool_call' | 'invalid_json' | 'missing_tool_name',
  message: string,
): TextProtocolResult {
  return { type: 'mistake', code, message };
}
