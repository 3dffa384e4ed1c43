/** Tool calls as text, for models without native tool calls: one fenced JSON block, explained in the system prompt. */
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { Message, TextBlock } from '../../../workflows/core/message';
import type { ModelRequest, ToolSpec } from '../provider';
import { noteProvenance } from '../../../workflows/core/model-call/next-request';
import { completeTaskTool } from '../../../workflows/core/tools/ports';
import { noteOf } from './well-formed';
import { repairTranscript } from './transcript-repair';
import { isRecord } from '../untrusted-json';
import { inputSignature } from './input-signature';
import { perObject } from './per-object';
import { withoutRefusedCalls } from './refused-calls';
import type { WrittenCall } from './written-call';
import { inputKeys, writtenCall } from './written-call';

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
      readonly hint?: string;
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
    system: [withoutEnd(request), teaching(request.tools)]
      .filter((text) => text !== '')
      .join('\n\n'),
    ...withQuestion(request),
    tools: [],
  };
}

/** How a run ends by an answer, in the system prompt. */
export const answerEndsRun =
  'When the task is done, answer with plain text and call no tool: that ends the run.';

/** Drops that sentence: a small model that has read it stops after its first result (ADR 0090). */
function withoutEnd({ system, tools }: ModelRequest): string {
  if (tools.length === 0) return system;
  return system
    .split('\n\n')
    .filter((part) => part !== answerEndsRun)
    .join('\n\n');
}

/**
 * The form of a call, and the tools. Their inputs are signatures in parentheses: a small model takes a schema under the key of a
 * call for the call itself and repeats it (ADR 0036), and a label such as `inputs:` for the name of an input (ADR 0085).
 */
function teaching(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return '';
  const list = tools.map(
    ({ name, description, inputSchema }) =>
      `- ${name}(${inputSignature(inputSchema)}): ${description}`,
  );
  return [
    'You act only by calling tools. To call one, reply with exactly one block of this form and nothing after it:',
    fenced({ tool_name: 'NAME', arguments: { INPUT: 'VALUE' } }),
    'Its result comes next, never from you. Do not explain the task: do it, one call at a time.',
    'Tools:',
    ...list,
  ].join('\n');
}

function fenced(call: JsonObject): string {
  return `\`\`\`json\n${JSON.stringify(call)}\n\`\`\``;
}

/** The last line of a request, after a result or a note. A small model does what that line says, so it names both ways (ADR 0090). */
export function nextCallQuestion(tools: readonly string[]): string {
  const end = tools.includes(completeTaskTool)
    ? `call ${completeTaskTool}`
    : 'give the answer as text';
  return `If the task needs another call, make it. If it needs none, ${end}.`;
}

/** Whether the message is a tool result, or begins with the runtime's mark. */
function isFromRuntime(message: Message | undefined): boolean {
  if (message?.role === 'tool') return true;
  const [first] = message?.role === 'user' ? message.blocks : [];
  return first?.type === 'text' && first.text.startsWith(noteProvenance);
}

function withQuestion(request: ModelRequest): Pick<ModelRequest, 'messages' | 'note'> {
  const { messages: sent, hints } = withoutRefusedCalls(repairTranscript(request.messages));
  const messages = sent.map(asText);
  const last = messages.at(-1);
  const question = [
    ...(hints.length === 0 ? [] : [`Keep in mind: ${hints.join(' ')}`]),
    nextCallQuestion(request.tools.map(({ name }) => name)),
  ].join('\n\n');
  const note = noteOf(request);
  if (note !== undefined)
    return { messages, note: request.tools.length === 0 ? note : `${note}\n\n${question}` };
  if (last?.role !== 'user' || !isFromRuntime(sent.at(-1))) return { messages };
  const asked = { ...last, blocks: [...last.blocks, textBlock(question)] };
  return { messages: [...messages.slice(0, -1), asked] };
}

const asText = perObject((message: Message): Message => {
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
});

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}

/** A fenced block that says it is JSON, up to its closing fence at the beginning of a line, or to the end of the text. */
const jsonFence = /^[ \t]*```[ \t]*json[ \t]*\r?\n([^]*?)(?:^[ \t]*```[ \t]*$|$(?![^]))/gim;

/** The text of a reply without the block of a call, also while it arrives: a block of data is shown once the reply has ended. */
export function withoutCallBlock(text: string, isEnded: boolean): string {
  const at = text.search(/^[ \t]*```[ \t]*json/im);
  if (at < 0 || (isEnded && !text.includes('"tool_name"', at))) return text;
  return text.slice(0, at).trimEnd();
}

/**
 * Reads the reply strictly: one fenced JSON block with `tool_name` and `arguments` (or another usual key of an input). Anything
 * that is almost a call is a mistake, which is explained to the model; nothing is guessed.
 *
 * Contract: pure; a block that is truncated, has no `tool_name`, or is not the only one, is never a call. With `requireCall` a
 * reply without a block is a mistake; otherwise a reply that no `writtenCall` is in is an answer, also with blocks of data.
 */
export function parseTextProtocolReply(
  text: string,
  options: { readonly requireCall: boolean; readonly tools: readonly string[] },
): TextProtocolResult {
  const blocks = [...text.matchAll(jsonFence)];
  const [block, second] = blocks;
  const written = writtenCall(text, options.tools);
  const isMeant = options.requireCall || written !== undefined;
  const answer: TextProtocolResult = { type: 'answer', text };
  if (block === undefined) return isMeant ? missingBlock(written) : answer;
  if (second !== undefined) {
    return isMeant || blocks.some(([, json = '']) => json.includes('"tool_name"'))
      ? mistake(
          'invalid_json',
          `The reply contains ${blocks.length} JSON blocks. Write exactly one: one tool call at a time.`,
        )
      : answer;
  }
  const [whole, json = ''] = block;
  const result = callOf(json);
  if (result.type === 'call') return { ...result, said: text.replace(whole, '').trim() };
  return isMeant || json.includes('"tool_name"') ? result : answer;
}

/** The hint for a call in another form. */
const blockHint = 'Write the call as one ```json block with "tool_name" and "arguments".';

function missingBlock(written: WrittenCall | undefined): TextProtocolResult {
  return written === undefined
    ? mistake('no_tool_call', 'The reply contains no tool call.')
    : mistake(
        'no_tool_call',
        `The reply contains a call of ${written.name}, but not in a \`\`\`json block.`,
        blockHint,
      );
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
  const [key = 'arguments', other] = inputKeys.filter((each) => value[each] !== undefined);
  if (other !== undefined)
    return mistake('invalid_json', `The tool call has "${key}" and "${other}". Give one of them.`);
  const given = value[key] ?? {};
  if (!isRecord(given)) {
    return mistake('invalid_json', `The "${key}" of the tool call must be a JSON object.`);
  }
  return { type: 'call', name: name.trim(), argumentsText: JSON.stringify(given), said: '' };
}

function mistake(
  code: 'no_tool_call' | 'invalid_json' | 'missing_tool_name',
  message: string,
  hint?: string,
): TextProtocolResult {
  return { type: 'mistake', code, message, ...defined({ hint }) };
}
