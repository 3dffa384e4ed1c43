/** Puts messages into the order that a server takes. */
import type OpenAI from 'openai';
import type { ChatDialect } from './chat-dialect';

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatUserMessage = OpenAI.Chat.ChatCompletionUserMessageParam;
type ChatAssistantMessage = OpenAI.Chat.ChatCompletionAssistantMessageParam;
export type ChatPart = OpenAI.Chat.ChatCompletionContentPart;

/** What the model is made to say between a tool result and a user message, where the server demands its turn there. */
const bridgeText = 'I have the results.';

/** The texts of parts as one; undefined if one of them is no text. */
export function plainText(parts: readonly ChatPart[]): string | undefined {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n\n') : undefined;
}

/**
 * The messages in the order of a dialect; what is added or joined depends only on its neighbors, so the beginning of a
 * conversation stays the same from request to request.
 *
 * Source: "Unexpected role 'user' after role 'tool'" (avante-corp/avante.nvim#2562), "conversation roles must alternate user and
 * assistant roles except for tool calls and results" (mistralai/mistral-vibe#1006).
 */
export function orderedTurns(
  messages: readonly ChatMessage[],
  turns: ChatDialect['turns'] = 'free',
): readonly ChatMessage[] {
  if (turns === 'free') return messages;
  const ordered: ChatMessage[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    const joined = last === undefined ? undefined : joinedOf(last, message);
    if (joined !== undefined) ordered.splice(-1, 1, joined);
    else {
      if (turns === 'bridged' && last?.role === 'tool' && message.role === 'user')
        ordered.push({ role: 'assistant', content: bridgeText });
      ordered.push(message);
    }
  }
  return ordered;
}

function joinedOf(last: ChatMessage, message: ChatMessage): ChatMessage | undefined {
  if (last.role === 'user' && message.role === 'user') {
    const parts = [...partsOf(last), ...partsOf(message)];
    return { role: 'user', content: plainText(parts) ?? parts };
  }
  if (last.role !== 'assistant' || message.role !== 'assistant' || last.tool_calls !== undefined)
    return undefined;
  const texts = [textOf(last), textOf(message)].filter((text) => text !== '');
  return { ...last, ...message, content: texts.join('\n\n') };
}

function partsOf(message: ChatUserMessage): readonly ChatPart[] {
  return typeof message.content === 'string'
    ? [{ type: 'text', text: message.content }]
    : message.content;
}

function textOf({ content }: ChatAssistantMessage): string {
  return typeof content === 'string' ? content : '';
}
