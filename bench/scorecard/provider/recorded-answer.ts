/** Steps that answer byte by byte: captures of real failures, in the shapes of `cases.jsonl`. */
import type { JsonValue } from '../../../workflows/core/json';
import type { FaultStep, RawEnd, RawPiece } from '../../../testing/emulator/step';

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

function textOf(text: string | RepeatedText): string {
  return typeof text === 'string' ? text : text.repeat.repeat(text.times);
}

function endOf(input: RawEnding): RawEnd {
  switch (input.end ?? 'eof') {
    case 'eof':
      return { type: 'end', how: 'eof' };
    case 'fin':
      return { type: 'end', how: 'fin' };
    case 'reset':
      return { type: 'end', how: 'reset' };
    case 'error': {
      const closed = JSON.stringify(input.error ?? null).includes('other side closed');
      return { type: 'end', how: closed ? 'fin' : 'reset' };
    }
    case 'stall':
      return {
        type: 'stall',
        ...(input.ping_every_ms === undefined ? {} : { pingEveryMs: input.ping_every_ms }),
      };
  }
}

/** An HTTP answer exactly as given: no header is added. */
export function rawHttp(input: RawHttpInput): FaultStep {
  const text =
    input.body_text === undefined ? JSON.stringify(input.body ?? {}) : textOf(input.body_text);
  return {
    type: 'raw',
    status: input.status,
    headers: input.headers ?? { 'content-type': 'application/json' },
    pieces: [{ type: 'text', text }],
    end: { type: 'end', how: 'eof' },
  };
}

function rawStream(input: RawSseInput | RawBytesInput, pieces: readonly RawPiece[]): FaultStep {
  return {
    type: 'raw',
    status: input.status ?? 200,
    headers: input.headers ?? sseHeaders,
    pieces,
    end: endOf(input),
  };
}

/** An event stream exactly as given. */
export function rawSse(input: RawSseInput): FaultStep {
  return rawStream(
    input,
    input.events.map((event) =>
      typeof event === 'object' && 'wait_ms' in event
        ? { type: 'wait', ms: event.wait_ms }
        : { type: 'text', text: `${textOf(event)}\n\n` },
    ),
  );
}

/** Writes exactly as given, one per chunk: cuts inside characters, inside line ends. */
export function rawBytes(input: RawBytesInput): FaultStep {
  return rawStream(
    input,
    input.chunks_hex.map((chunk) =>
      typeof chunk === 'string' ? { type: 'hex', hex: chunk } : { type: 'wait', ms: chunk.wait_ms },
    ),
  );
}
