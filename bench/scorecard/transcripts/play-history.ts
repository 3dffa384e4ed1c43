/** Turns what happened into the transcript that it leaves, the way a run would have written it. */
import type { ModelRequest, ToolSpec } from '../../../activities/providers/provider';
import { inSaidOrder } from '../../../activities/model-call/reply-intake';
import type { ReplyPart } from '../../../testing/emulator/script';
import type { Message, ToolCallBlock, ToolResultBlock } from '../../../workflows/core/message';
import { conversationTools } from '../tokens/tools';
import type { Move, Recording, SaidPart } from './moves';
import { pixel } from './pixels';
import { spoken, voiceOf } from './vendor';

/** A transcript, and what a request needs besides it. */
export interface PlayedHistory {
  readonly messages: readonly Message[];
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  /** Every content that a result ever had. */
  readonly contents: ReadonlySet<string>;
}

interface Stage {
  messages: readonly Message[];
  system: string;
  tools: readonly ToolSpec[];
  iteration: number;
  vendorIds: number;
  readonly contents: Set<string>;
}

/** What a stripped result reads. */
const strippedText = '(An older result was left out. Read it again if you need it.)';

/** Plays a history. Contract: pure. */
export function playHistory(moves: readonly Move[]): PlayedHistory {
  const stage: Stage = {
    messages: [],
    system: 'You repair projects.',
    tools: conversationTools.slice(0, 2),
    iteration: 0,
    vendorIds: 0,
    contents: new Set([strippedText]),
  };
  for (const move of moves) playMove(stage, move);
  return stage;
}

function playMove(stage: Stage, move: Move): void {
  const { messages } = stage;
  switch (move.type) {
    case 'say':
      stage.messages = [...messages, saying(move.texts, move.images)];
      return;
    case 'reply':
      playReply(stage, move);
      return;
    case 'compact':
      stage.messages = [saying([move.summary], []), ...messages.slice(placeOf(move.at, messages))];
      return;
    case 'strip':
      stage.messages = messages.map((message, index) =>
        index < messages.length - move.keep ? stripped(message) : message,
      );
      return;
    case 'lose':
      stage.messages = messages.slice(placeOf(move.at, messages));
      return;
    case 'fork':
      stage.messages = messages.slice(0, placeOf(move.at, messages));
      stage.iteration = Math.max(0, stage.iteration - 1);
      return;
    case 'change-agent':
      stage.system = `${stage.system} Be brief.`;
      stage.tools = conversationTools.slice(0, 3);
  }
}

/** Any place from the first message to behind the last one. */
function placeOf(at: number, messages: readonly Message[]): number {
  return at % (messages.length + 1);
}

function saying(texts: readonly string[], images: readonly string[]): Message {
  const shown = Object.values(pixel).filter(({ mediaType }) => images.includes(mediaType));
  return {
    role: 'user',
    blocks: [...shown, ...texts.map((text) => ({ type: 'text', text }) as const)],
  };
}

function stripped(message: Message): Message {
  if (message.role !== 'tool') return message;
  return {
    role: 'tool',
    results: message.results.map((result) =>
      result.content.length > 200 ? { ...result, content: strippedText } : result,
    ),
  };
}

function playReply(stage: Stage, move: Extract<Move, { type: 'reply' }>): void {
  const { vendor, model } = voiceOf(move.by);
  const isText = move.by === 'text-protocol';
  const request: ModelRequest = {
    model,
    system: stage.system,
    messages: stage.messages,
    tools: stage.tools,
    maxOutputTokens: 1_024,
    ...(move.note === undefined ? {} : { note: move.note }),
  };
  const parts = move.parts.flatMap((part) => partOf(part, isText));
  const made = spoken(move.by, request, parts, (prefix) => {
    stage.vendorIds += 1;
    return `${prefix}${stage.vendorIds}`;
  });
  const calls = made.toolCalls.map(({ name, argumentsText }, index): ToolCallBlock => ({
    type: 'tool-call',
    toolCallId: `run_${stage.iteration}_${index}`,
    name,
    input: JSON.parse(argumentsText) as Record<string, string>,
  }));
  stage.iteration += 1;
  const blocks = inSaidOrder(made, calls);
  if (blocks.every(({ type }) => type === 'reasoning')) return;
  const results = calls.map((call, index) => resultOf(call, move.results[index % 3] ?? ''));
  for (const { content } of results) stage.contents.add(content);
  stage.messages = [
    ...stage.messages,
    { role: 'assistant', vendor, model, blocks },
    ...recorded(move.recording, results),
  ];
}

function partOf(part: SaidPart, isText: boolean): ReplyPart[] {
  switch (part.type) {
    case 'thought':
      return [{ type: 'reasoning', text: part.text, redacted: part.redacted }];
    case 'call':
      return isText
        ? [{ type: 'text', text: `\`\`\`json\n{"tool_name":"${part.name}"}\n\`\`\`` }]
        : [{ type: 'tool-call', name: part.name, argumentsText: JSON.stringify(part.input) }];
    case 'text':
    case 'refusal':
      return [part];
  }
}

function resultOf({ toolCallId, name }: ToolCallBlock, content: string): ToolResultBlock {
  return { type: 'tool-result', toolCallId, name, content, isError: content.length % 2 === 1 };
}

function recorded(how: Recording, results: readonly ToolResultBlock[]): readonly Message[] {
  const tool = (each: readonly ToolResultBlock[]): readonly Message[] =>
    each.length === 0 ? [] : [{ role: 'tool', results: each }];
  const person = saying(['Is it done?'], []);
  switch (how) {
    case 'whole':
      return tool(results);
    case 'cut':
      return tool(results.slice(0, -1));
    case 'none':
      return [];
    case 'swapped':
      return tool(results.toReversed());
    case 'doubled':
      return [...tool(results), ...tool(results)];
    case 'orphan':
      return tool([...results, { ...resultOfNobody }]);
    case 'late':
      return [person, ...tool(results)];
    case 'split':
      return [...tool(results.slice(0, 1)), person, ...tool(results.slice(1))];
  }
}

const resultOfNobody: ToolResultBlock = {
  type: 'tool-result',
  toolCallId: 'nobody_asked',
  name: 'read_file',
  content: 'of no call',
  isError: false,
};
