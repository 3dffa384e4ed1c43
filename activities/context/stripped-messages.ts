/** Tier 1: removes large tool results from old messages, and leaves a note of what they were and where to read them again. */
import type {
  AssistantMessage,
  MediaBlock,
  Message,
  TextBlock,
  ToolResultBlock,
  UserMessage,
} from '../../workflows/core/message';
import { fenceToolOutput } from '../untrusted/fence';
import { wellFormedText } from '../providers/request/well-formed';
import { isPersonsWord } from './result-reading';
import type { Store } from '../stores/store';

/** Bytes of the head and of the tail of a result that a summary reads (ADR 0024). */
const headBytes = 2_000;
const tailBytes = 1_000;

async function restored(store: Store, result: ToolResultBlock): Promise<ToolResultBlock> {
  const ref = strippedRef(result);
  if (ref === undefined) return result;
  const head = await store.readBlob(ref, 0, headBytes + tailBytes);
  const text = (bytes: Buffer): string => wellFormedText(bytes.toString('utf8'));
  if (head.totalBytes <= headBytes + tailBytes) return { ...result, content: text(head.bytes) };
  const tail = await store.readBlob(ref, head.totalBytes - tailBytes, tailBytes);
  const content = `${text(head.bytes.subarray(0, headBytes))}\n[…]\n${text(tail.bytes)}`;
  return { ...result, content };
}

/** The messages with head and tail of every result that tier 1 removed. Contract: the messages themselves are not changed. */
export async function restoredMessages(
  store: Store,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const whole: Message[] = [];
  for (const message of messages) {
    if (message.role !== 'tool') {
      whole.push(message);
      continue;
    }
    const results: ToolResultBlock[] = [];
    for (const result of message.results) results.push(await restored(store, result));
    whole.push({ ...message, results });
  }
  return whole;
}

/** The cut at `index` or before it, so that no results follow a cut without their calls. */
export function cutBefore(messages: readonly Message[], index: number): number {
  let cut = Math.min(Math.max(index, 0), messages.length);
  while (cut > 0 && messages[cut]?.role === 'tool') cut -= 1;
  return cut;
}

/**
 * Index of the first message that is never summarized.
 *
 * Contract: pure; at least `keptTail` messages follow it, if there are as many; a batch's calls and results stay
 * together. Source: R-CTX-4.
 */
export function tailStart(messages: readonly Message[], keptTail: number): number {
  return cutBefore(messages, messages.length - keptTail);
}

/** Gives the ref under which a text can be read again. */
export type RefOf = (text: string, blob: string | undefined) => string;

/** A ref of the right length, to measure how much a strip would save. */
export const placeholderRef: RefOf = (_text, blob) => blob ?? '0'.repeat(43);

function strippedText(chars: number, ref: string): string {
  return `[The runtime removed this result of ${chars} characters to save space. Read it with read_output, ref "${ref}".]`;
}

/** The ref of a result that tier 1 removed; undefined for any other result. */
function strippedRef({ content, blob }: ToolResultBlock): string | undefined {
  return content.startsWith('[The runtime removed this result of ') ? blob : undefined;
}

/** Characters of a person's answer that tier 1 keeps (ADR 0024). */
const personsWordChars = 4_000;

const fenced = /^<tool_output [^\n]*>\n([^]*)\n<\/tool_output fence="[0-9a-f]+">/;

/** Characters of a result without the fence that the runtime put around it. */
function ownChars(content: string): number {
  const [whole = '', inside = ''] = fenced.exec(content) ?? [];
  return content.length - whole.length + inside.length;
}

/** Whether tier 1 removes this result. */
function isStrippable(result: ToolResultBlock, stripChars: number): boolean {
  const least = strippedText(1_000_000, '0'.repeat(43)).length;
  const kept = isPersonsWord(result) ? personsWordChars : 0;
  return ownChars(result.content) > Math.max(stripChars, least, kept);
}

function strippedResult(given: ToolResultBlock, stripChars: number, refOf: RefOf): ToolResultBlock {
  const result = withoutResultMedia(given);
  if (!isStrippable(result, stripChars)) return result;
  const ref = refOf(result.content, result.blob);
  return { ...result, content: strippedText(ownChars(result.content), ref), blob: ref };
}

/** The request says in its place what it was, and how the model gets it again (`sendable-media.ts`). */
function removed<Block extends MediaBlock>(block: Block): Block {
  return { ...block, removed: true };
}

function withoutResultMedia(result: ToolResultBlock): ToolResultBlock {
  return result.media === undefined ? result : { ...result, media: result.media.map(removed) };
}

function withoutMedia(block: TextBlock | MediaBlock): TextBlock | MediaBlock {
  return block.type === 'text' ? block : removed(block);
}

/** Removes large results, images and documents from one message. Contract: pure; a call keeps its one result. */
export function strippedMessage(message: Message, stripChars: number, refOf: RefOf): Message {
  switch (message.role) {
    case 'assistant':
      return message;
    case 'user':
      return { ...message, blocks: message.blocks.map(withoutMedia) };
    case 'tool':
      return {
        ...message,
        results: message.results.map((result) => strippedResult(result, stripChars, refOf)),
      };
  }
}

/**
 * The model's reasoning is bound to everything before it (some vendors check that), so none of it survives a
 * change of what stood before.
 */
export function withoutReasoning(message: Message): Message {
  if (message.role !== 'assistant') return message;
  const blocks = message.blocks.filter((block) => block.type !== 'reasoning');
  return blocks.length === message.blocks.length
    ? message
    : ({ ...message, blocks } satisfies AssistantMessage);
}

/** Head and tail of a text of at most `chars` characters together. */
function headAndTail(text: string, chars: number): string {
  const head = Math.ceil((chars * 2) / 3);
  const left = text.length - chars;
  return `${wellFormedText(text.slice(0, head))}\n[… ${left} characters left out …]\n${wellFormedText(text.slice(text.length - (chars - head)))}`;
}

function trimmedResult(given: ToolResultBlock, chars: number, refOf: RefOf): ToolResultBlock {
  const result = withoutResultMedia(given);
  if (result.content.length <= chars * 2) return result;
  const ref = refOf(result.content, result.blob);
  const inside = fenced.exec(result.content)?.[1] ?? result.content;
  const shown = fenceToolOutput(result.name, headAndTail(inside, chars), result.toolCallId);
  const content = `${shown}\n[Shortened by the runtime to save space. Read the whole with read_output, ref "${ref}".]`;
  return content.length < result.content.length ? { ...result, content, blob: ref } : result;
}

function trimmedUser(message: UserMessage, chars: number, refOf: RefOf): UserMessage {
  const refs = [...(message.refs ?? [])];
  const blocks = message.blocks.map((block): TextBlock | MediaBlock => {
    if (block.type !== 'text') return removed(block);
    const { text } = block;
    if (text.length <= chars * 2) return { type: 'text', text };
    const ref = refOf(text, undefined);
    refs.push(ref);
    return {
      type: 'text',
      text: `${headAndTail(text, chars)}\n[Shortened by the runtime to save space. Read the whole with read_output, ref "${ref}".]`,
    };
  });
  return { ...message, blocks, ...(refs.length > 0 && { refs }) };
}

/** Shortens results and texts of people, and removes images and documents of a kept message. Contract: pure; a shortened text says so. */
export function trimmedMessage(message: Message, chars: number, refOf: RefOf): Message {
  switch (message.role) {
    case 'assistant':
      return message;
    case 'user':
      return trimmedUser(message, chars, refOf);
    case 'tool':
      return {
        ...message,
        results: message.results.map((result) => trimmedResult(result, chars, refOf)),
      };
  }
}
