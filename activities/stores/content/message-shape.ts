/** Checks that stored JSON has the shape of messages: what an older or newer program wrote is refused, not guessed at. */
import type { Message } from '../../../workflows/core/message';

type Fields = Readonly<Record<string, unknown>>;

/** The messages in a node's JSON text; undefined if it is not JSON or not of their shape. */
export function parseMessages(json: string): readonly Message[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  return isMessages(value) ? value : undefined;
}

function isMessages(value: unknown): value is readonly Message[] {
  return isArrayOf(value, isMessage);
}

function isMessage(value: unknown): value is Message {
  if (!isFields(value)) return false;
  switch (value['role']) {
    case 'user':
      return (
        isArrayOf(value['blocks'], isUserBlock) &&
        isOptional(value['summary'], (summary) => typeof summary === 'string')
      );
    case 'assistant':
      return areTexts(value, 'vendor', 'model') && isArrayOf(value['blocks'], isAssistantBlock);
    case 'tool':
      return isArrayOf(value['results'], isToolResult);
    default:
      return false;
  }
}

function isUserBlock(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (value['type'] === 'text') return areTexts(value, 'text');
  return value['type'] === 'image' && areTexts(value, 'mediaType', 'data');
}

function isAssistantBlock(value: unknown): boolean {
  if (!isFields(value)) return false;
  switch (value['type']) {
    case 'text':
    case 'refusal':
      return areTexts(value, 'text');
    case 'reasoning':
      return areTexts(value, 'vendor', 'text') && isOptional(value['opaque'], isFields);
    case 'tool-call':
      return areTexts(value, 'toolCallId', 'name') && isFields(value['input']);
    default:
      return false;
  }
}

function isToolResult(value: unknown): boolean {
  return (
    isFields(value) &&
    value['type'] === 'tool-result' &&
    areTexts(value, 'toolCallId', 'name', 'content') &&
    typeof value['isError'] === 'boolean' &&
    isOptional(value['blob'], (blob) => typeof blob === 'string')
  );
}

/** True for an object that is not an array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True if each of the fields is a string. */
export function areTexts(value: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => typeof value[name] === 'string');
}

/** True if each of the fields is a number. */
export function areNumbers(value: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => typeof value[name] === 'number');
}

function isOptional(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || check(value);
}

function isArrayOf(value: unknown, check: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(check);
}
