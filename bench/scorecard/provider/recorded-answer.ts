/** Steps that answer byte by byte: captures of real failures, in the shapes of `cases.jsonl`. */
import type { JsonValue } from '../../../workflows/core/json';
import type { FaultStep } from '../../../testing/emulator/script';
import { fault } from '../../../testing/emulator/script';

/** A long text: `repeat`, this many `times`. */
interface RepeatedText {
  readonly repeat: string;
  readonly times: number;
}

/** Input of a case of type `http`. */
export interface RawHttpInput {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly body_text?: string | RepeatedText;
}

/** A pause between events. */
interface RawWait {
  readonly wait_ms: number;
}

/** How a raw stream ends: clean, reset, as the client's error says (`other side closed` is a FIN), or not at all. */
interface RawEnding {
  readonly end?: 'eof' | 'reset' | 'error' | 'stall' | 'fin';
  readonly ping_every_ms?: number;
  readonly error?: JsonValue;
}

/** Input of a case of type `sse`: whole events, joined by a blank line. */
export interface RawSseInput extends RawEnding {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly events: readonly (string | RawWait | RepeatedText)[];
}

/** Input of a case of type `sse_bytes`: one write per chunk. */
export interface RawBytesInput extends RawEnding {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks_hex: readonly (string | RawWait)[];
}

const sseHeaders = { 'content-type': 'text/event-stream; charset=utf-8' };

type RawAnswer = Parameters<typeof fault.raw>[0];

function textOf(text: string | RepeatedText): string {
  return typeof text === 'string' ? text : text.repeat.repeat(text.times);
}

/** An HTTP answer exactly as given: no header is added. */
export function rawHttp(input: RawHttpInput): FaultStep {
  const text =
    input.body_text === undefined ? JSON.stringify(input.body ?? {}) : textOf(input.body_text);
  const headers = input.headers ?? { 'content-type': 'application/json' };
  return fault.raw({ status: input.status, headers, pieces: [text] });
}

function rawStream(input: RawSseInput | RawBytesInput, pieces: RawAnswer['pieces']): FaultStep {
  const { status = 200, headers = sseHeaders, end = 'eof', ping_every_ms: pingEveryMs } = input;
  const closed = JSON.stringify(input.error ?? null).includes('other side closed');
  return fault.raw({
    status,
    headers,
    pieces,
    end: end === 'error' ? (closed ? 'fin' : 'reset') : end,
    ...(pingEveryMs === undefined ? {} : { pingEveryMs }),
  });
}

/** An event stream exactly as given. */
export function rawSse(input: RawSseInput): FaultStep {
  return rawStream(
    input,
    input.events.map((event) =>
      typeof event === 'object' && 'wait_ms' in event
        ? { waitMs: event.wait_ms }
        : `${textOf(event)}\n\n`,
    ),
  );
}

/** Writes exactly as given, one per chunk: cuts inside characters, inside line ends. */
export function rawBytes(input: RawBytesInput): FaultStep {
  return rawStream(
    input,
    input.chunks_hex.map((chunk) =>
      typeof chunk === 'string' ? Buffer.from(chunk, 'hex') : { waitMs: chunk.wait_ms },
    ),
  );
}
