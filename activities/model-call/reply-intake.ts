/** Turns a whole reply into what the core decides about, and stores what may be kept of it. */
import { answerBytes, previewChars } from '../../workflows/core/limits';
import type { AgentError } from '../../workflows/core/failure';
import type { AssistantMessage, Head, ToolCallBlock } from '../../workflows/core/message';
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import type { ModelReply } from '../providers/provider';
import { parseTextProtocolReply } from '../providers/request/text-tool-protocol';
import { endsOpen } from '../providers/request/vendor-blocks';
import { writtenCall } from '../providers/request/written-call';
import { wellFormedText } from '../providers/request/well-formed';
import type { JsonObject } from '../../workflows/core/json';
import { defined, without } from '../../workflows/core/json';
import { formedAnswer } from './formed-answer';
import { shownToolName } from '../../workflows/core/errors/recovery-message';
import { agentError } from '../untrusted/agent-error';
import { boundBytes, sanitizeText, visibleText } from '../untrusted/sanitizer';
import type { StoreBatch } from '../stores/store';
import { replyText } from './reply-text';
import type { TakenCall } from './tool-call-intake';
import { redactedInput, takeToolCalls } from './tool-call-intake';
import type { ToolsOfRun } from '../tool-call/tool-of-run';

/** A reply and its place. */
export interface ReplyArrival {
  readonly reply: ModelReply;
  readonly headBefore: Head;
  readonly vendor: string;
  /** The route speaks the text tool protocol. */
  readonly isTextProtocol: boolean;
  /** A reply without a tool call is a mistake. */
  readonly requireCall: boolean;
  /** An answer must be one JSON object that fits the agent's output schema. */
  readonly hasForm: boolean;
  /** Tokens that the reply could have. */
  readonly maxOutputTokens: number;
}

/** A reply after its text was read for calls. */
interface ReadReply extends ModelReply {
  readonly error?: AgentError;
  /** What an answer with a form says. */
  readonly output?: JsonObject;
  /** The mistake is a call written as text on a route with native calls. */
  readonly wroteCall?: true;
}

function mistaken(
  reply: ModelReply,
  { code, message, hint }: Pick<AgentError, 'code' | 'message' | 'hint'>,
): ReadReply {
  return { ...reply, error: agentError(code, message, { hint }) };
}

/** The vendor says that the reply calls a tool, and it holds no call: whatever its text says is no answer. */
const announcedCall = {
  code: 'no_tool_call',
  message: 'The reply ended as a tool call, but no call arrived, so nothing was run.',
  hint: 'Make the call again, or give the answer as text.',
} as const;

/** A reply without a native call: an answer, unless a call is announced or written in it (R-WORDS-3). */
function readText(reply: ModelReply, tools: readonly string[], requireCall: boolean): ReadReply {
  const written = tools.length === 0 ? undefined : writtenCall(replyText(reply), tools);
  if (written === undefined)
    return reply.stopReason === 'tool-use' ? mistaken(reply, announcedCall) : reply;
  const { name, isKnown } = written;
  const orAnswer = requireCall ? '' : ' If it was meant as the answer, give it without a call.';
  const error = mistaken(reply, {
    code: isKnown ? 'no_tool_call' : 'invalid_tool',
    message: `The reply holds a call of ${shownToolName(name)} as text, which runs nothing.`,
    hint: `Call tools natively, with the tool calls of this API, not in the text.${orAnswer}`,
  });
  return { ...error, wroteCall: true };
}

/** True for JSON that ends within a text, an object or a list. */
function isUnterminated(json: string): boolean {
  let [depth, isText] = [0, false];
  for (let at = 0; at < json.length; at += 1) {
    const unit = json[at] ?? '';
    if (isText && unit === '\\') at += 1;
    else if (unit === '"') isText = !isText;
    else if (!isText && '{['.includes(unit)) depth += 1;
    else if (!isText && '}]'.includes(unit)) depth -= 1;
  }
  return isText || depth > 0;
}

/** The call that was cut at the output limit, whatever stop reason its server gives; undefined if none was. */
function cutCall(
  { stopReason, toolCalls, usage }: ModelReply,
  maxOutputTokens: number,
): ModelReply['toolCalls'][number] | undefined {
  const isWhole = stopReason === 'end' || stopReason === 'tool-use';
  const isAtLimit =
    stopReason === 'truncated' || (isWhole && usage.outputTokens >= maxOutputTokens);
  const last = toolCalls.at(-1);
  return isAtLimit && last !== undefined && isUnterminated(last.argumentsText) ? last : undefined;
}

function cutReply(reply: ModelReply, name: string, maxOutputTokens: number): ReadReply {
  const message = `The reply was cut off at the output limit of ${maxOutputTokens} tokens, within the arguments of ${shownToolName(name)}. The call is incomplete and was not run.`;
  return { ...mistaken(reply, { code: 'output_truncated', message }), stopReason: 'truncated' };
}

/** An answer, if it has its form; else what the reply is without one. */
async function readAnswer(read: ReadReply, definition: ToolsOfRun): Promise<ReadReply> {
  const text = replyText(read);
  if (read.stopReason !== 'end' || read.toolCalls.length > 0 || text === '') return read;
  const answer = formedAnswer(text, definition);
  if (answer.ok) {
    const output = await redactedInput(JSON.stringify(answer.value));
    // What looks like a call in it is a part of the answer.
    return { ...without(without(read, 'error'), 'wroteCall'), output };
  }
  if (read.error !== undefined) return read;
  const { problems, hint } = answer;
  const message = problems.join('; ');
  return mistaken(read, { code: 'invalid_answer', message, ...defined({ hint }) });
}

function readReply(
  reply: ModelReply,
  { isTextProtocol, requireCall, maxOutputTokens }: ReplyArrival,
  tools: readonly string[],
): ReadReply {
  if (reply.mistake !== undefined)
    return { ...mistaken(reply, reply.mistake), stopReason: 'tool-use', toolCalls: [] };
  const cut = cutCall(reply, maxOutputTokens);
  if (cut !== undefined) return cutReply(reply, cut.name, maxOutputTokens);
  const { stopReason, toolCalls } = reply;
  if (!isTextProtocol) {
    const isWhole = stopReason === 'end' || stopReason === 'tool-use';
    return isWhole && toolCalls.length === 0 ? readText(reply, tools, requireCall) : reply;
  }
  if (stopReason !== 'end' && stopReason !== 'tool-use') return reply;
  const text = replyText(reply, { withRefusal: true });
  const read = parseTextProtocolReply(text, { requireCall, tools });
  switch (read.type) {
    case 'answer':
      return stopReason === 'tool-use' ? mistaken(reply, announcedCall) : reply;
    case 'call':
      return {
        ...reply,
        blocks: read.said === '' ? [] : [{ type: 'text', text: read.said }],
        toolCalls: [{ vendorId: '', name: read.name, argumentsText: read.argumentsText }],
        stopReason: 'tool-use',
      };
    case 'mistake':
      return mistaken(reply, read);
  }
}

/**
 * Blocks and calls in the model's order, because vendors tie reasoning to the call after it. Blank texts are left out; no
 * vendor accepts them.
 */
export function inSaidOrder(
  reply: Pick<ModelReply, 'blocks' | 'toolCalls'>,
  calls: readonly ToolCallBlock[],
): AssistantMessage['blocks'] {
  const before = (index: number): number => reply.toolCalls[index]?.blocksBefore ?? Infinity;
  const placed = [
    ...reply.blocks.map((block, index) => ({ block, place: index + 1 })),
    ...calls.map((block, index) => ({ block, place: before(index) + 0.5 })),
  ];
  return placed
    .toSorted((left, right) => (left.place === right.place ? 0 : left.place - right.place))
    .map(({ block }) => block)
    .filter((block) => block.type !== 'text' || block.text.trim() !== '');
}

/** What of a reply may enter the transcript; undefined if nothing may. */
function keptMessage(
  reply: ReadReply,
  calls: readonly TakenCall[],
  vendor: string,
): AssistantMessage | undefined {
  const { stopReason } = reply;
  if (stopReason !== 'end' && stopReason !== 'tool-use' && stopReason !== 'pause') return undefined;
  if (reply.error !== undefined) return undefined;
  if (calls.length > 0 && calls.every(({ proposed }) => proposed.error !== undefined))
    return undefined;
  const blocks = inSaidOrder(
    reply,
    calls.map(({ block }) => block),
  );
  if (!blocks.some((block) => block.type !== 'reasoning')) return undefined;
  return { role: 'assistant', vendor, model: reply.model, blocks };
}

/** The text as the run's answer, cleaned: whole, unless it is longer than a result may be. */
async function answerOf(text: string): Promise<string> {
  const answer = await visibleText(text);
  if (Buffer.byteLength(JSON.stringify(answer)) <= answerBytes) return answer;
  const note = `\n[The answer has ${answer.length} characters. The run's transcript has the whole: holdfast transcript RUN.]`;
  return boundBytes(answer, answerBytes - note.length) + note;
}

/**
 * Takes a complete reply; what is kept of it waits in the batch.
 *
 * Contract: a reply of which nothing can run leaves no trace: `head` equals `headBefore`.
 * Errors: as `takeToolCalls`.
 */
export async function takeReply(
  batch: Pick<StoreBatch, 'appendNode' | 'putBlob'>,
  definition: ToolsOfRun,
  input: Pick<CallModelInput, 'idPrefix' | 'iteration'>,
  arrival: ReplyArrival,
): Promise<CallModelResult> {
  const { headBefore, vendor } = arrival;
  const tools = definition.config.tools.map(({ name }) => name);
  const read = readReply(arrival.reply, arrival, tools);
  const reply = arrival.hasForm ? await readAnswer(read, definition) : read;
  const runs = reply.stopReason === 'end' || reply.stopReason === 'tool-use';
  const calls = runs ? await takeToolCalls(batch, definition, reply.toolCalls, input) : [];
  const kept = keptMessage(reply, calls, vendor);
  const head = kept === undefined ? headBefore : await batch.appendNode(headBefore, [kept]);
  const text = wellFormedText(replyText(reply, { withRefusal: true }));
  const { usage } = reply;
  return {
    headBefore,
    head,
    stopReason: reply.stopReason,
    toolCalls: calls.map(({ proposed }) => proposed),
    ...defined({ error: reply.error, wroteCall: reply.wroteCall, output: reply.output }),
    ...(kept !== undefined && endsOpen([kept], vendor) ? { isOpen: true as const } : {}),
    textPreview: sanitizeText(text, { maxChars: previewChars }),
    ...(calls.length === 0 && text !== '' ? { answer: await answerOf(text) } : {}),
    usage,
    contextTokens: usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
  };
}
