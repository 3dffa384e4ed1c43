/** One message of an MCP server: bounded, and an answer in an odd form is still an answer (ADR 0043). */
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../../workflows/core/json';
import { isJsonObject } from '../input-schema';

/** Bytes of one message: a line, an event, or a body. The SDK's own bound for stdio: an image of 7 MB as base64. */
export const maxFrameBytes = 10 * 1024 * 1024;
/** Milliseconds over which the messages of a server are counted. */
const windowMs = 10_000;
/** Messages that a server may send in that time beside its answers: progress of 50 calls, ten times a second each. */
const maxMessages = 5_000;
/** Bytes of them in that time. */
const maxMessageBytes = 64 * 1024 * 1024;

/** The server answered, but nobody can read what. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
}

/** What a frame above the bound is called in errors. */
export const tooLarge = `sent a message of more than ${maxFrameBytes} bytes`;

/** An error as JSON-RPC has it. */
function repairedError(error: unknown): object {
  const given: JsonObject = isJsonObject(error) ? error : { message: String(error) };
  const { code, message, ...rest } = given;
  return {
    ...rest,
    code: Number.isSafeInteger(code) ? code : ErrorCode.InternalError,
    message: typeof message === 'string' ? message : JSON.stringify(error),
  };
}

/** A result as JSON-RPC has it: an object. */
function repairedResult(result: unknown): object {
  if (!isJsonObject(result)) return { content: result ?? null };
  const { _meta: meta, ...rest } = result;
  return isJsonObject(meta) ? { ...rest, _meta: meta } : rest;
}

/**
 * A message as the SDK reads it. What the SDK would throw away (`error: null` beside a result, a result that is a text, fields of
 * its own, a missing id) is put in order, so that the request ends with the answer and not with its time limit.
 *
 * Contract: requests and notifications stay as they are; `answeredId` is the id of the request, where the way of the answer says it.
 */
export function repairedFrame(value: unknown, answeredId?: RequestId): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => repairedFrame(each, answeredId));
  if (!isJsonObject(value) || 'method' in value) return value;
  const { jsonrpc: _, id: given, error, result, ...rest } = value;
  const id = given ?? answeredId;
  if (id === undefined) return value;
  if (error !== undefined && error !== null)
    return { jsonrpc: '2.0', id, error: repairedError(error) };
  return { jsonrpc: '2.0', id, result: 'result' in value ? repairedResult(result) : rest };
}

/** Notifications that somebody reads; any other one is counted, and goes no further. */
const handledNotifications: ReadonlySet<unknown> = new Set([
  'notifications/progress',
  'notifications/cancelled',
  'notifications/tools/list_changed',
]);

/** Whether a message is a notification that nobody reads, such as a log. */
export function isUnhandled(message: unknown): boolean {
  return isJsonObject(message) && 'method' in message && !('id' in message)
    ? !handledNotifications.has(message['method'])
    : false;
}

/** Counts what a server sends. */
export interface MessageMeter {
  /** A request was sent: one answer is expected. */
  expectAnswer(): void;
  /** Counts a message; in words why it is one too many. */
  problemAfter(message: unknown, bytes: number): string | undefined;
}

/** Bounds the number and the bytes of messages that nobody asked for. */
export function messageMeter(now: () => number = () => performance.now()): MessageMeter {
  let [expected, count, sum, endsAtMs] = [0, 0, 0, 0];
  return {
    expectAnswer: () => {
      expected += 1;
    },
    problemAfter: (message, bytes) => {
      if (expected > 0 && isJsonObject(message) && !('method' in message)) {
        expected -= 1;
        return undefined;
      }
      if (now() >= endsAtMs) [count, sum, endsAtMs] = [0, 0, now() + windowMs];
      count += 1;
      sum += bytes;
      return count <= maxMessages && sum <= maxMessageBytes
        ? undefined
        : `sent ${count} messages of ${sum} bytes that nobody asked for within ${windowMs / 1_000} s, more than ${maxMessages} or ${maxMessageBytes} bytes`;
    },
  };
}
