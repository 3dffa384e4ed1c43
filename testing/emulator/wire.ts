/** What each emulated wire must do; one file per wire implements it. */
import type { JsonObject } from '../../workflows/core/json';
import type { Usage } from '../../workflows/core/budget/spend';
import type { ChatServerName, ReplyStep, VendorError } from './step';
import type { Seal } from './seal';

/** The three wires. */
export type WireName = 'anthropic' | 'responses' | 'chat';

/** One event of a stream as it goes out. */
export interface Frame {
  /** Whole event with its blank line. */
  readonly text: string;
  /** The model's output in it, which a cut stream bills. */
  readonly produced?: string;
  /** The vendor's sign, or part of it, that the reply is whole. */
  readonly closing?: true;
}

/** What a wire needs to render a reply. */
export interface ReplyContext {
  readonly model: string;
  readonly usage: Usage;
  readonly body: JsonObject;
  readonly createdAtMs: number;
  /** New vendor id with the given prefix. */
  readonly newId: (prefix: string) => string;
  readonly seal: Seal;
  /** Which server of the Chat Completions wire is played; absent: OpenAI. */
  readonly server?: ChatServerName;
}

/** A tool call in a request. */
export interface SentToolCall {
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
}

/** A tool result in a request. */
export interface SentToolResult {
  readonly id: string;
  readonly content: string;
  /** Only Anthropic's wire can say so. */
  readonly isError: boolean;
}

/** One entry of the conversation that a request carries, in neutral words. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly toolCalls: readonly SentToolCall[];
  readonly toolResults: readonly SentToolResult[];
}

/** The content of a request, vendor-neutral. */
export interface Conversation {
  readonly systemText: string;
  readonly toolNames: readonly string[];
  readonly turns: readonly Turn[];
}

/** A piece of the prompt in the order in which the vendor caches it. */
export interface PromptBlock {
  readonly text: string;
  /** Tokens of images and files, which are not counted from text. */
  readonly extraTokens: number;
  readonly breakpoint: boolean;
}

/** What validation knows beyond the body. */
export interface ValidationContext {
  readonly headers: Readonly<Record<string, string>>;
  readonly seal: Seal;
  readonly server?: ChatServerName;
}

/** One wire. */
export interface Wire {
  readonly name: WireName;
  frames(reply: ReplyStep, context: ReplyContext): readonly Frame[];
  /** Body of an HTTP error. */
  errorBody(error: VendorError, requestId: string): JsonObject;
  /** The same error as an event after a 200. */
  errorFrame(error: VendorError, requestId: string): Frame;
  /** An event with that data, under a name that clients read. */
  dataLine(data: string): string;
  /** Harmless sign of life. */
  readonly pingText: string;
  /** Head of every answer. */
  headers(requestId: string): Readonly<Record<string, string>>;
  /** Missing or wrong key, missing version header. */
  refuseHeaders(headers: Readonly<Record<string, string>>): VendorError | undefined;
  /** The vendor's refusal of a malformed request. */
  refuseBody(body: JsonObject, context: ValidationContext): VendorError | undefined;
  /** The vendor's refusal of text that is not JSON. */
  refuseText(problem: { readonly message: string; readonly position: number }): VendorError;
  /** The vendor's refusal of a prompt that, with its output limit, does not fit. */
  refuseOverflow(
    inputTokens: number,
    body: JsonObject,
    windowTokens: number,
  ): VendorError | undefined;
  conversation(body: JsonObject): Conversation;
  promptBlocks(body: JsonObject): readonly PromptBlock[];
}

/** Cuts text into deltas of at most `size` characters, never through a surrogate pair. */
export function deltasOf(text: string, size: number): readonly string[] {
  const deltas: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + Math.max(1, size));
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    deltas.push(text.slice(start, end));
    start = end;
  }
  return deltas;
}

/** Everything that a whole reply produces, for the bill. */
export function producedText(reply: ReplyStep): string {
  return reply.parts
    .map((part) =>
      part.type === 'tool-call' ? `${part.name ?? ''}${part.argumentsText}` : part.text,
    )
    .join('');
}
