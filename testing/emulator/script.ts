/** Builders for what the emulated vendor does next: replies and faults, the same words for every wire. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { Usage } from '../../workflows/core/budget/spend';
import type {
  Delivery,
  FaultStep,
  ReplyPart,
  ReplyStep,
  ReplyStop,
  StreamAct,
  StreamPosition,
  VendorError,
} from './step';

export type { FaultStep, ReplyPart, ReplyStep, ReplyStop, Step, VendorError } from './step';

/** Options that every reply takes. */
export interface ReplyOptions {
  readonly stop?: ReplyStop;
  readonly usage?: Partial<Usage>;
  /** Default 12. */
  readonly charactersPerDelta?: number;
  readonly delivery?: Delivery;
  /** Sent (and signed) before everything else. */
  readonly reasoning?: string;
  readonly model?: string;
}

function replyOf(parts: readonly ReplyPart[], stop: ReplyStop, options: ReplyOptions): ReplyStep {
  const reasoning: readonly ReplyPart[] =
    options.reasoning === undefined ? [] : [{ type: 'reasoning', text: options.reasoning }];
  return {
    type: 'reply',
    parts: [...reasoning, ...parts],
    stop: options.stop ?? stop,
    charactersPerDelta: options.charactersPerDelta ?? 12,
    delivery: options.delivery ?? {},
    ...defined({ usage: options.usage, model: options.model }),
  };
}

function withText(text: string | undefined, parts: readonly ReplyPart[]): readonly ReplyPart[] {
  return text === undefined ? parts : [{ type: 'text', text }, ...parts];
}

/** Builders of replies. */
export const reply = {
  /** Plain text; ends with `end`. */
  text: (text: string, options: ReplyOptions = {}): ReplyStep =>
    replyOf([{ type: 'text', text }], 'end', options),

  /** One or several parallel tool calls, after optional text. */
  toolCalls: (
    calls: readonly {
      readonly name: string;
      readonly input: JsonObject;
      readonly id?: string;
    }[],
    options: ReplyOptions & { readonly text?: string } = {},
  ): ReplyStep => {
    const parts = calls.map((call): ReplyPart => ({
      type: 'tool-call',
      name: call.name,
      argumentsText: JSON.stringify(call.input),
      ...defined({ id: call.id }),
    }));
    return replyOf(withText(options.text, parts), 'tool-use', options);
  },

  /** A tool call whose arguments are sent exactly as given: cut, doubled, no JSON at all. `name` undefined leaves it out. */
  rawToolArguments: (
    name: string | undefined,
    argumentsText: string,
    options: ReplyOptions & { readonly text?: string } = {},
  ): ReplyStep => {
    const call: ReplyPart = {
      type: 'tool-call',
      argumentsText,
      ...defined({ name }),
    };
    return replyOf(withText(options.text, [call]), 'tool-use', options);
  },

  /** The model declines. */
  refusal: (text = "I can't help with that.", options: ReplyOptions = {}): ReplyStep =>
    replyOf(text === '' ? [] : [{ type: 'refusal', text }], 'refusal', options),

  /** A well-formed reply without content. */
  empty: (options: ReplyOptions = {}): ReplyStep => replyOf([], 'end', options),

  /** Any parts in any order. */
  parts: (parts: ReplyStep['parts'], options: ReplyOptions = {}): ReplyStep =>
    replyOf(parts, parts.some((part) => part.type === 'tool-call') ? 'tool-use' : 'end', options),
};

/** Options that place a fault in a stream. At most one of the positions; default is right after the opening event. */
export interface StreamFaultOptions {
  /** The reply that the fault strikes; default a text (`afterText`, then some more). */
  readonly during?: ReplyStep;
  readonly afterEvents?: number;
  readonly afterCharacters?: number;
  /** The model has sent exactly this (or, with `during`, this many characters) when the fault strikes. */
  readonly afterText?: string;
  readonly beforeClosing?: boolean;
}

function positionOf(options: StreamFaultOptions): StreamPosition {
  if (options.beforeClosing === true) return { type: 'before-closing' };
  if (options.afterEvents !== undefined) {
    return { type: 'after-events', count: options.afterEvents };
  }
  const characters = options.afterCharacters ?? options.afterText?.length;
  return characters === undefined
    ? { type: 'start' }
    : { type: 'after-characters', count: characters };
}

function inStream(options: StreamFaultOptions, act: StreamAct): FaultStep {
  const during =
    options.during ??
    reply.parts([
      { type: 'text', text: options.afterText ?? '' },
      { type: 'text', text: ' and so on to the end of this reply.' },
    ]);
  return { type: 'stream-fault', reply: during, at: positionOf(options), act };
}

function delivered(step: ReplyStep | undefined, delivery: Delivery): ReplyStep {
  const base = step ?? reply.text('done');
  return { ...base, delivery: { ...base.delivery, ...delivery } };
}

/** Builders of faults that come before or instead of a stream. */
const beforeStream = {
  /** An HTTP error. Without a body it has the vendor's own shape for that status. */
  http: (
    status: number,
    options: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: JsonValue;
      readonly bodyText?: string;
      readonly error?: Omit<VendorError, 'status'>;
      readonly delayMs?: number;
    } = {},
  ): FaultStep => ({
    type: 'http-fault',
    status,
    headers: options.headers ?? {},
    error: { status, ...options.error },
    delayMs: options.delayMs ?? 0,
    ...defined({ body: options.body, bodyText: options.bodyText }),
  }),

  /** The connection ends, or stalls, before or right after the response's head. */
  connection: (
    how: 'reset' | 'fin' | 'eof' | 'stall',
    at: 'before-headers' | 'after-headers' = 'before-headers',
  ): FaultStep => ({ type: 'connection-fault', at, how }),

  /** A 200 whose event stream is empty. */
  emptyBody: (): FaultStep => ({
    type: 'raw',
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    pieces: [],
    end: { type: 'end', how: 'eof' },
  }),

  /** A 200 with a body that is not an event stream: a gateway's page, a JSON error. */
  notSse: (
    body: JsonValue,
    contentType = typeof body === 'string' ? 'text/html' : 'application/json',
  ): FaultStep => ({
    type: 'raw',
    status: 200,
    headers: { 'content-type': contentType },
    pieces: [{ type: 'text', text: typeof body === 'string' ? body : JSON.stringify(body) }],
    end: { type: 'end', how: 'eof' },
  }),
};

/** Builders of faults within a stream. */
const withinStream = {
  /** The vendor's "overloaded" as an error event inside a 200 stream. */
  overloadedInStream: (options: StreamFaultOptions = {}): FaultStep =>
    inStream(options, { type: 'error', error: { status: 529 }, then: 'eof' }),

  /** Any vendor error as an error event inside a 200 stream. */
  errorInStream: (
    error: VendorError,
    options: StreamFaultOptions & { readonly then?: 'reset' | 'fin' | 'eof' } = {},
  ): FaultStep => inStream(options, { type: 'error', error, then: options.then ?? 'eof' }),

  /** The stream breaks off; `eof` is a clean end of the body without the vendor's closing event. Default reset. */
  cutStream: (
    options: StreamFaultOptions & { readonly how?: 'reset' | 'fin' | 'eof' } = {},
  ): FaultStep => inStream(options, { type: 'end', how: options.how ?? 'reset' }),

  /** All content, then a clean end without the vendor's closing events. */
  missingEnd: (during?: ReplyStep): FaultStep =>
    inStream({ beforeClosing: true, ...defined({ during }) }, { type: 'end', how: 'eof' }),

  /** Nothing more, forever, or only pings. */
  stall: (options: StreamFaultOptions & { readonly pingEveryMs?: number } = {}): FaultStep =>
    inStream(options, {
      type: 'stall',
      ...defined({ pingEveryMs: options.pingEveryMs }),
    }),

  /** Nothing, or only pings, for a while; then the reply continues to its proper end. */
  pause: (
    forMs: number,
    options: StreamFaultOptions & { readonly pingEveryMs?: number } = {},
  ): FaultStep =>
    inStream(options, {
      type: 'pause',
      forMs,
      ...defined({ pingEveryMs: options.pingEveryMs }),
    }),

  /** A data line that is not JSON; then the stream continues. */
  malformedData: (options: StreamFaultOptions & { readonly data?: string } = {}): FaultStep =>
    inStream(options, { type: 'malformed', data: options.data ?? '{"type":' }),

  /** Raw text between two events; then the stream continues. */
  insert: (text: string, options: StreamFaultOptions = {}): FaultStep =>
    inStream(options, { type: 'insert', text }),

  /** Pings or comments at once, harmless by the vendors' own rules; then the stream continues. */
  storm: (
    count: number,
    kind: 'ping' | 'comment' = 'ping',
    options: StreamFaultOptions = {},
  ): FaultStep => inStream(options, { type: 'storm', count, kind }),

  /** Two events in the wrong order. */
  wrongOrder: (options: StreamFaultOptions = {}): FaultStep => inStream(options, { type: 'swap' }),
};

/** Builders of unusual but lawful ways for bytes to travel. */
const delivery = {
  /** Line ends as CRLF. */
  crlf: (step?: ReplyStep): ReplyStep => delivered(step, { crlf: true }),
  /** Every byte in its own write. */
  oneByteChunks: (step?: ReplyStep): ReplyStep => delivered(step, { bytesPerWrite: 1 }),
  /** Few bytes at a time, slowly. */
  drip: (bytesPerWrite: number, writeEveryMs: number, step?: ReplyStep): ReplyStep =>
    delivered(step, { bytesPerWrite, writeEveryMs }),
  /** The response's head arrives late. */
  lateHeaders: (headersAfterMs: number, step?: ReplyStep): ReplyStep =>
    delivered(step, { headersAfterMs }),
};

/** Builders of faults. */
export const fault = { ...beforeStream, ...withinStream, ...delivery };
