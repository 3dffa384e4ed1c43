/** Reads what a tool returned that is still to be read: a response, a stream, a file, a generator (ADR 0044). */
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { ReadableStreamDefaultReader } from 'node:stream/web';
import { setImmediate as turn } from 'node:timers/promises';
import { binaryNote, decodeOutput, looksBinary } from '../untrusted/decode-text';
import { aNamed, classOf, errorText, isStream, valueJson } from './output-value';

/** Bytes of one stream that are read: as much as of a program's output. */
const maxStreamBytes = 16 * 1024 * 1024;
/** Pieces of one stream: an endless one may give empty ones. */
const maxPieces = 200_000;
/** Pieces after which other work of the process goes on. */
const piecesPerTurn = 500;

/** What arrived of a stream, and why it is not all of it. */
interface Arrived {
  readonly text: string;
  readonly problem?: string;
}

/** Pieces of a stream as one text: bytes and strings join; anything else is a line of JSON. */
class Pieces {
  readonly #texts: string[] = [];
  #bytes: Buffer[] = [];
  size = 0;
  count = 0;

  add(piece: unknown): void {
    this.count += 1;
    if (piece instanceof Uint8Array || ArrayBuffer.isView(piece)) {
      this.#bytes.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      this.size += piece.byteLength;
      return;
    }
    this.#endBytes();
    const text = typeof piece === 'string' ? piece : `${valueJson(piece)}\n`;
    this.#texts.push(text);
    this.size += text.length;
  }

  text(): string {
    this.#endBytes();
    return this.#texts.join('');
  }

  #endBytes(): void {
    if (this.#bytes.length === 0) return;
    const bytes = Buffer.concat(this.#bytes);
    this.#bytes = [];
    this.#texts.push(looksBinary(bytes) ? binaryNote(bytes.length) : decodeOutput(bytes));
  }
}

/** The next piece, or that the tool's time is over. */
async function nextOf(
  iterator: AsyncIterator<unknown>,
  over: Promise<'over'>,
): Promise<IteratorResult<unknown> | 'over'> {
  return Promise.race([iterator.next(), over]);
}

/** The pieces of a stream. That of a web stream is its reader: the iterator that it has cannot end while a piece is awaited. */
function iteratorOf(stream: AsyncIterable<unknown>): AsyncIterator<unknown> {
  if (!(stream instanceof ReadableStream)) return stream[Symbol.asyncIterator]();
  const reader: ReadableStreamDefaultReader<unknown> = stream.getReader();
  return {
    next: async () => {
      const { done, value } = await reader.read();
      return done ? { done, value: undefined } : { done, value };
    },
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

/** Lets go of a stream. Not awaited: one that hangs would hang here too. */
function release(stream: object, iterator: AsyncIterator<unknown> | undefined): void {
  void Promise.resolve(iterator?.return?.()).catch(() => undefined);
  if (stream instanceof Readable) stream.destroy();
}

/** Reads a stream up to a bound and to the end of the tool's time, and then lets go of it. */
async function readPieces(stream: AsyncIterable<unknown>, signal: AbortSignal): Promise<Arrived> {
  const pieces = new Pieces();
  const done = new AbortController();
  const over = new Promise<'over'>((resolve) => {
    const end = (): void => {
      resolve('over');
    };
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true, signal: done.signal });
  });
  const stop = (problem: string): Arrived => ({ text: pieces.text(), problem });
  let iterator: AsyncIterator<unknown> | undefined;
  try {
    iterator = iteratorOf(stream);
    for (;;) {
      const next = await nextOf(iterator, over);
      if (next === 'over') return stop("it had not ended when the tool's time was over");
      if (next.done === true) {
        if (next.value !== undefined) pieces.add(next.value);
        return { text: pieces.text() };
      }
      pieces.add(next.value);
      if (pieces.size > maxStreamBytes)
        return stop(`only its first ${pieces.size} bytes were read`);
      if (pieces.count >= maxPieces) return stop(`only its first ${pieces.count} pieces were read`);
      if (pieces.count % piecesPerTurn === 0) await turn();
    }
  } catch (thrown) {
    return stop(`it broke: ${errorText(thrown)}`);
  } finally {
    done.abort();
    release(stream, iterator);
  }
}

function shown(what: string, { text, problem }: Arrived): string {
  return problem === undefined ? text : `${text}\n[… the rest of ${what} is missing: ${problem} …]`;
}

/** What a response says before its body. */
function responseHead(response: Response): string {
  const { status, statusText, url } = response;
  return [`Response ${status} ${statusText}`.trim(), url].filter(Boolean).join(' ');
}

async function responseText(response: Response, signal: AbortSignal): Promise<string> {
  const head = responseHead(response);
  if (response.bodyUsed) return `${head}\n[its body was read by the tool: return the text]`;
  if (response.body === null) return head;
  const arrived = await readPieces(response.body, signal);
  return `${head}\n\n${shown('the response', arrived)}`;
}

async function fileText(file: Blob, signal: AbortSignal): Promise<string> {
  const { name } = file as { name?: unknown };
  const text = shown('the file', await readPieces(file.stream(), signal));
  return typeof name === 'string' && name !== '' ? `${name}:\n${text}` : text;
}

function isAsyncIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function';
}

/**
 * The text of a value that a tool returned to be read; undefined for any other value.
 *
 * Contract: never rejects. What is not read says so: more than 16 MiB or 200,000 pieces, a stream that breaks or outlives the
 * tool's time. It is let go of in any case.
 */
export async function streamText(value: unknown, signal: AbortSignal): Promise<string | undefined> {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    const name = classOf(value);
    if (name === 'Response') return await responseText(value as Response, signal);
    if (name === 'Blob' || name === 'File') return await fileText(value as Blob, signal);
    if (!isAsyncIterable(value) || !isStream(value)) return undefined;
    const what = name === '' || name === 'Object' ? 'a stream' : aNamed(name);
    return shown(what, await readPieces(value, signal));
  } catch (thrown) {
    return `[the tool returned something that cannot be read: ${errorText(thrown)}]`;
  }
}
