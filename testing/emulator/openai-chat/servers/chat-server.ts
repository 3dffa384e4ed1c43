/** What an emulated server on Chat Completions does that OpenAI does not. */
import type { JsonObject, JsonValue } from '../../../../workflows/core/json';
import { blocksOf, listOf, objectOf, stringOf } from '../../json-read';
import type { VendorError } from '../../step';
import type { ReplyContext, ValidationContext } from '../../wire';

/** Refusals in the order in which the server finds them. */
export type ServerRefusals = Generator<VendorError>;

/** One server. Beside its own refusals, OpenAI's rules hold. */
export interface ChatServer {
  /** What the server refuses, in its own words. */
  refuse(body: JsonObject, context: ValidationContext): ServerRefusals;
  /** The whole body of a refusal. */
  errorBody(error: VendorError): JsonValue;
  /** A new id of a call. */
  callId(context: ReplyContext, name: string, index: number): string;
  /** The delta that carries a piece of a thought; undefined if the server gives none. */
  thoughtDelta(piece: string): JsonObject | undefined;
  /** Calls arrive in one piece each. */
  readonly hasWholeCalls: boolean;
  /** What a call carries beside its function. */
  callExtra?(context: ReplyContext, index: number): JsonObject;
  /** Tokens are counted in each stream, asked for or not. */
  readonly countsAlways: boolean;
}

/** The messages of a request. */
export function messagesOf(body: JsonObject): readonly JsonObject[] {
  return listOf(body['messages']).map(objectOf);
}

/** The calls of a message. */
export function callsOf(message: JsonObject): readonly JsonObject[] {
  return listOf(message['tool_calls']).map(objectOf);
}

/** True for an assistant message that calls a tool. */
export function isCalling(message: JsonObject): boolean {
  return message['role'] === 'assistant' && callsOf(message).length > 0;
}

/** The functions of a request, with their schemas. */
export function functionsOf(body: JsonObject): readonly JsonObject[] {
  return listOf(body['tools']).map((tool) => objectOf(objectOf(tool)['function']));
}

/** True for content of no text and no image. */
export function isBlank(content: JsonValue | undefined): boolean {
  return blocksOf(content).every(
    (block) => block['type'] === 'text' && stringOf(block['text']) === '',
  );
}

/** OpenAI's usual ids and fields, which most servers have. */
export const usualServer = {
  callId: (context: ReplyContext): string => context.newId('call_'),
  thoughtDelta: (piece: string): JsonObject => ({ reasoning_content: piece }),
  hasWholeCalls: false,
  countsAlways: false,
} as const;
