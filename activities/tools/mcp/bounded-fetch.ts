/** The requests to an MCP server over HTTP: with headers that may expire, and answers that are bounded and put in order (ADR 0043). */
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { isJsonObject } from '../input-schema';
import type { CredentialHeaders } from './credential-headers';
import {
  isUnhandled,
  maxFrameBytes,
  messageMeter,
  repairedFrame,
  tooLarge,
  UnreadableAnswer,
} from './mcp-frame';

/** Bytes of a refusal that are read: its beginning says why. */
const refusalBytes = 16 * 1024;

/** Data of the error that a stream gets which ended before its answer. */
export const streamEnded = 'holdfast: the stream ended before the answer';

type Body = AsyncIterable<Uint8Array>;

/** The bytes of a body. Errors: `UnreadableAnswer` above the bound. */
async function bytesOf(body: Body): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxFrameBytes) throw new UnreadableAnswer(`the server ${tooLarge}`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The beginning of a body; reading ends there. */
async function beginningOf(body: Body): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= refusalBytes) break;
  }
  return Buffer.concat(parts).subarray(0, refusalBytes).toString('utf8');
}

/** The id of the request in a POST. */
function requestIdIn(init: RequestInit | undefined): RequestId | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return undefined;
  const message: unknown = JSON.parse(init.body);
  if (!isJsonObject(message) || !('method' in message)) return undefined;
  const { id } = message;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** A message as text; the text that came where it is nested too deeply to be written again. */
function writtenFrame(message: unknown, text: string): string {
  try {
    return JSON.stringify(message);
  } catch {
    return text;
  }
}

/** Milliseconds after which a stream is asked for again, at least and at most, whatever the server says. */
const [minRetryMs, maxRetryMs] = [1_000, 60_000];

/** A line with the time after which to ask again, within its bounds; any other line as it is. */
function boundedRetry(line: string): string {
  if (!line.startsWith('retry')) return line;
  const ms = Number(/^retry: ?(\d+)$/.exec(line)?.[1] ?? minRetryMs);
  return `retry: ${Math.min(Math.max(ms, minRetryMs), maxRetryMs)}`;
}

/** An event of a stream with its message in order, and a bounded time after which to connect again. */
function repairedEvent(event: string, answeredId: RequestId | undefined): [string, unknown] {
  const lines = event.split(/\r\n|\r|\n/).map(boundedRetry);
  const data = lines.flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? []).join('\n');
  if (data === '') return [lines.join('\n'), undefined];
  try {
    const message = repairedFrame(JSON.parse(data), answeredId);
    const others = lines.filter((line) => line !== '' && !line.startsWith('data'));
    return [[...others, `data: ${writtenFrame(message, data)}`, '', ''].join('\n'), message];
  } catch {
    return [event, undefined];
  }
}

const eventEnd = /\r\n\r\n|\n\n|\r\r/g;
/** Characters of the longest end of an event, without the last. */
const endOverlap = 3;

/** The events of a stream; the last one may lack its end. Errors: `UnreadableAnswer` for one above the bound. */
async function* eventsOf(body: Body): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const part of body) {
    let from = Math.max(0, pending.length - endOverlap);
    pending += decoder.decode(part, { stream: true });
    for (;;) {
      eventEnd.lastIndex = from;
      if (eventEnd.exec(pending) === null) break;
      yield pending.slice(0, eventEnd.lastIndex);
      pending = pending.slice(eventEnd.lastIndex);
      from = 0;
    }
    if (pending.length > maxFrameBytes) throw new UnreadableAnswer(`the server ${tooLarge}`);
  }
  if (pending.trim() !== '') yield `${pending}\n\n`;
}

/** What is wrong with one server's answers ends its session. */
export interface BoundedFetchOptions {
  readonly headers: CredentialHeaders;
  /** Called once the server sent what none may send. */
  readonly abort: (problem: string) => void;
}

/** Makes the `fetch` of one session. */
export function boundedFetch({ headers, abort }: BoundedFetchOptions): FetchLike {
  const meter = messageMeter();

  async function* repairedStream(body: Body, requestId: RequestId | undefined): Body {
    let isSettled = requestId === undefined;
    try {
      for await (const event of eventsOf(body)) {
        const [repaired, message] = repairedEvent(event, requestId);
        const problem = meter.problemAfter(message, event.length);
        if (problem !== undefined) throw new UnreadableAnswer(`the server ${problem}`);
        // With an id the SDK asks for the rest of the stream.
        if (/^id:/m.test(event) || (isJsonObject(message) && !('method' in message)))
          isSettled = true;
        if (!isUnhandled(message)) yield Buffer.from(repaired);
      }
    } catch (thrown) {
      if (thrown instanceof UnreadableAnswer) abort(thrown.message);
      if (isSettled) throw thrown;
    }
    if (isSettled) return;
    const error = { code: -32_000, message: 'the stream ended', data: streamEnded };
    yield Buffer.from(`data: ${JSON.stringify({ jsonrpc: '2.0', id: requestId, error })}\n\n`);
  }

  async function repairedBody(body: Body, requestId: RequestId): Promise<string> {
    const text = (await bytesOf(body)).toString('utf8');
    try {
      return writtenFrame(repairedFrame(JSON.parse(text), requestId), text);
    } catch (thrown) {
      throw new UnreadableAnswer('the server answered with something that is no JSON', {
        cause: thrown,
      });
    }
  }

  async function answered(response: Response, init: RequestInit | undefined): Promise<Response> {
    const { status, statusText, body } = response;
    if (body === null || status === 202 || (status >= 300 && status < 400)) return response;
    const bytes = body as unknown as Body;
    const like = { status, statusText, headers: new Headers(response.headers) };
    if (!response.ok) return new Response(await beginningOf(bytes), like);
    const requestId = requestIdIn(init);
    if (like.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      if (requestId !== undefined) meter.expectAnswer();
      const stream = Readable.toWeb(Readable.from(repairedStream(bytes, requestId)));
      return new Response(stream, like);
    }
    if (requestId === undefined) return response;
    like.headers.set('content-type', 'application/json');
    return new Response(await repairedBody(bytes, requestId), like);
  }

  return async (url, init) => answered(await headers.fetch(url, init), init);
}
