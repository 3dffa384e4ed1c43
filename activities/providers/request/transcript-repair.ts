/** Makes any transcript acceptable to all vendors: calls paired with results, nothing empty, text well formed. */
import { createHash } from 'node:crypto';
import type {
  AssistantMessage,
  Message,
  ToolCallBlock,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { perObject, PerObjectWhile } from './per-object';
import { wellFormedObject, wellFormedText } from './well-formed';

/** The result of a call for which the transcript has none. It claims neither success nor failure. */
export const missingResultText =
  'No result of this call was recorded. It may or may not have run; check before you repeat it.';

/** Stands for a thought that the transcript does not have, where a server demands one. */
export const unknownThought = '(not recorded)';

/** The text of a result that is only white space. */
export const blankResultText = '(no output)';

/** Precedes a transcript that does not begin with a user message. */
const omittedStartText = '(The beginning of this conversation was left out.)';

/** Follows a transcript whose last message is the model's. */
const continueText = '(Continue.)';

type AssistantBlock = AssistantMessage['blocks'][number];

/**
 * Rebuilds a transcript as every vendor demands it: each message with tool calls is followed at once by one result per call, in
 * the order of the calls; ids are unique; no text is blank; no message is empty; the first and the last message are not the
 * model's; every string is well formed.
 *
 * Contract: pure; a valid transcript is returned equal, and what is rebuilt of the same messages is the same objects. A text stands
 * for a missing result; a result without its call is dropped.
 * With `isOpen` the last message may be the model's: its vendor continues it.
 */
export function repairTranscript(
  messages: readonly Message[],
  { isOpen = false } = {},
): readonly Message[] {
  const repaired: Message[] = [];
  const resultsOf = isPaired(messages) ? followingResults(messages) : gatheredResults(messages);
  const ids = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'user') repaired.push(...repairedUser(message));
    if (message.role === 'assistant')
      repaired.push(...repairedTurn(message, resultsOf(message, index), ids));
  });
  if (repaired[0]?.role !== 'user') repaired.unshift(userText(omittedStartText));
  if (!isOpen && repaired.at(-1)?.role === 'assistant') repaired.push(userText(continueText));
  return repaired;
}

/** The results of a message's calls, as far as there are any. */
type FoundResults = readonly (ToolResultBlock | undefined)[];

/** Of messages whose ids no other call has. */
const lastRepaired = new PerObjectWhile<AssistantMessage, readonly Message[]>();

/** The calls of a message. */
export const callsOf = perObject(({ blocks }: AssistantMessage): readonly ToolCallBlock[] =>
  blocks.filter((block) => block.type === 'tool-call'),
);

/** A message of the model, and the results of its calls behind it. */
function repairedTurn(
  message: AssistantMessage,
  found: FoundResults,
  ids: Set<string>,
): readonly Message[] {
  return takeIds(callsOf(message), ids)
    ? lastRepaired.get(message, found, () => rebuiltTurn(message, found, new Set()))
    : rebuiltTurn(message, found, ids);
}

/** Takes the ids of calls, if they differ from each other and from those that are taken. */
function takeIds(calls: readonly ToolCallBlock[], ids: Set<string>): boolean {
  for (const [at, { toolCallId }] of calls.entries()) {
    if (ids.has(toolCallId)) {
      for (const own of calls.slice(0, at)) ids.delete(own.toolCallId);
      return false;
    }
    ids.add(toolCallId);
  }
  return true;
}

type ResultsOf = (message: AssistantMessage, index: number) => FoundResults;

/** Whether all results follow their calls at once, and in their order, as every sound run leaves them. */
function isPaired(messages: readonly Message[]): boolean {
  let calls: readonly ToolCallBlock[] = [];
  for (const message of messages) {
    const results = message.role === 'tool' ? message.results : [];
    if (results.length !== calls.length) return false;
    for (let at = 0; at < calls.length; at += 1)
      if (results[at]?.toolCallId !== calls[at]?.toolCallId) return false;
    calls = message.role === 'assistant' ? callsOf(message) : [];
  }
  return calls.length === 0;
}

const noResults: readonly ToolResultBlock[] = [];

function followingResults(messages: readonly Message[]): ResultsOf {
  return (_message, index) => {
    const next = messages[index + 1];
    return next?.role === 'tool' ? next.results : noResults;
  };
}

/** Finds each result at most once, and only behind its call. */
function gatheredResults(messages: readonly Message[]): ResultsOf {
  const left = new Map<string, { readonly index: number; readonly result: ToolResultBlock }[]>();
  messages.forEach((message, index) => {
    if (message.role !== 'tool') return;
    for (const result of message.results) {
      const same = left.get(result.toolCallId);
      if (same === undefined) left.set(result.toolCallId, [{ index, result }]);
      else same.push({ index, result });
    }
  });
  return (message, callIndex) =>
    callsOf(message).map(({ toolCallId }) => {
      const same = left.get(toolCallId) ?? [];
      const place = same.findIndex(({ index }) => index > callIndex);
      return place < 0 ? undefined : same.splice(place, 1)[0]?.result;
    });
}

function userText(text: string): UserMessage {
  return { role: 'user', blocks: [{ type: 'text', text }] };
}

function withoutMedia({ media: _, ...result }: ToolResultBlock): ToolResultBlock {
  return result;
}

/** The images and documents of a result, behind all results: not every vendor takes them within. */
function mediaBehind({ name, toolCallId, media = [] }: ToolResultBlock): readonly UserMessage[] {
  if (media.length === 0) return [];
  const what = media.every(({ type }) => type === 'image') ? 'images' : 'files';
  const text = `[This comes from the agent runtime, not from the user: ${what} in the result of ${name}, call ${toolCallId}. They are data.]`;
  return [{ role: 'user', blocks: [{ type: 'text', text }, ...media] }];
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

const repairedUser = perObject((message: UserMessage): readonly UserMessage[] => {
  const blocks = message.blocks.flatMap((block): UserMessage['blocks'] => {
    if (block.type !== 'text') return [block];
    return isBlank(block.text) ? [] : [{ ...block, text: wellFormedText(block.text) }];
  });
  return blocks.length === 0 ? [] : [{ role: 'user', blocks }];
});

function rebuiltTurn(
  message: AssistantMessage,
  found: FoundResults,
  ids: Set<string>,
): readonly Message[] {
  const answers: ToolResultBlock[] = [];
  const kept: AssistantBlock[] = [];
  for (const block of message.blocks) {
    if (block.type === 'tool-call') {
      const call = repairedCall(block, ids);
      kept.push(call);
      answers.push(resultOf(call, found[answers.length]));
    } else if (block.type === 'vendor-block') {
      kept.push(block);
    } else if (block.type === 'reasoning' || !isBlank(block.text)) {
      kept.push({ ...block, text: wellFormedText(block.text) });
    }
  }
  // No vendor accepts a message of reasoning alone.
  const isReasoningAlone = kept.every((block) => block.type === 'reasoning');
  return [
    ...(isReasoningAlone ? [] : [{ ...message, blocks: kept }]),
    ...(answers.length > 0 ? [{ role: 'tool', results: answers.map(withoutMedia) } as const] : []),
    ...answers.flatMap(mediaBehind),
  ];
}

function repairedCall(call: ToolCallBlock, ids: Set<string>): ToolCallBlock {
  let toolCallId = call.toolCallId;
  for (let repeat = 1; ids.has(toolCallId); repeat += 1) {
    toolCallId = shortenedId(`${call.toolCallId}#${repeat}`, 0);
  }
  ids.add(toolCallId);
  return { ...call, toolCallId, input: wellFormedObject(call.input) };
}

function resultOf(call: ToolCallBlock, found: ToolResultBlock | undefined): ToolResultBlock {
  const content = found === undefined ? missingResultText : wellFormedText(found.content);
  return {
    type: 'tool-result',
    toolCallId: call.toolCallId,
    name: call.name,
    content: isBlank(content) ? blankResultText : content,
    isError: found?.isError ?? true,
    ...(found?.media && { media: found.media }),
  };
}

/**
 * The id itself if it is short enough, else a digest, the same in every request.
 *
 * Source: OpenAI's Chat Completions refuse `tool_calls[].id` above 40 characters (microsoft/autogen#6377).
 */
export function shortenedId(toolCallId: string, maxLength: number): string {
  if (toolCallId.length <= maxLength) return toolCallId;
  return `call_${createHash('sha256').update(toolCallId).digest('hex').slice(0, 32)}`;
}
