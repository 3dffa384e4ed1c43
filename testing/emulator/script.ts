/** Builders for what the emulated vendor does next: replies and faults, the same words for every wire. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { checkCalls, checkHttpFault, checkStreamFault } from './check-script';
import type { Action } from './delivery';
import { writesOf } from './delivery';
import type { FaultStep, PlanContext, StreamFaultOptions } from './faults';
import {
  eof,
  framesToActions,
  head,
  planBrokenReply,
  planError,
  sseHeaders,
  written,
} from './faults';
import type {
  ConnectionEnd,
  Delivery,
  ReplyPart,
  ReplyStep,
  ReplyStop,
  ToolFaultStep,
  VendorError,
} from './step';

export type { FaultStep, Step, StreamFaultOptions } from './faults';
export type { ReplyPart, ReplyStep, ReplyStop, ToolFaultStep, VendorError } from './step';

/** Options that every reply takes. */
export interface ReplyOptions extends Partial<Omit<ReplyStep, 'type' | 'parts'>> {
  /** Sent (and signed) before everything else. */
  readonly reasoning?: string;
}

function replyOf(
  said: readonly ReplyPart[],
  stop: ReplyStop,
  { reasoning, text: _inParts, ...options }: ReplyOptions & { readonly text?: string },
): ReplyStep {
  const parts: readonly ReplyPart[] =
    reasoning === undefined ? said : [{ type: 'reasoning', text: reasoning }, ...said];
  return { type: 'reply', parts, stop, charactersPerDelta: 12, delivery: {}, ...options };
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
    checkCalls(calls);
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

type Strike = Parameters<typeof planBrokenReply>[3];

function inStream(name: string, options: StreamFaultOptions, strike: Strike): FaultStep {
  checkStreamFault(name, options);
  const during =
    options.during ??
    reply.parts([
      { type: 'text', text: options.afterText ?? '' },
      { type: 'text', text: ' and so on to the end of this reply.' },
    ]);
  return {
    type: 'fault',
    name: `${name} in a stream`,
    reply: during,
    plan: (context) => planBrokenReply(context, during, options, strike),
  };
}

function striking(actions: readonly Action[]): readonly Action[] {
  return actions.map((action) => ({ ...action, strikes: true }));
}

/** Something more between two events; then the stream continues to its proper end. */
function inserted(
  name: string,
  options: StreamFaultOptions,
  insertion: (context: PlanContext, how: Delivery) => readonly Action[],
): FaultStep {
  return inStream(name, options, (context, rest, how) => [
    ...striking(insertion(context, how)),
    ...framesToActions(rest, how),
    eof,
  ]);
}

function delivered(step: ReplyStep = reply.text('done'), delivery: Delivery): ReplyStep {
  return { ...step, delivery: { ...step.delivery, ...delivery } };
}

/** The last action of an answer that ends so, or never. */
function ending({ wire }: PlanContext, how: ConnectionEnd | 'stall', pingEveryMs?: number): Action {
  return how === 'stall'
    ? { type: 'stall', pingText: wire.pingText, pingEveryMs }
    : { type: 'end', how };
}

/** Builders of faults: before or instead of a stream, within one, and unusual but lawful ways for bytes to travel. */
export const fault = {
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
  ): FaultStep => {
    checkHttpFault(status, options);
    const { headers, body, bodyText, error, delayMs = 0 } = options;
    const type = body === undefined ? 'text/html' : 'application/json';
    const content = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
    return {
      type: 'fault',
      name: `HTTP ${status}`,
      plan: (context) => [
        { type: 'wait', ms: delayMs },
        ...(content === undefined
          ? planError(context, { status, ...error }, headers)
          : [head(context, status, { 'content-type': type, ...headers }), written(content), eof]),
      ],
    };
  },

  /** The connection ends, or stalls, before or right after the response's head; `lost` is the reply that is lost with it. */
  connection: (
    how: 'reset' | 'fin' | 'eof' | 'stall',
    at: 'before-headers' | 'after-headers' = 'before-headers',
    lost?: ReplyStep,
  ): FaultStep => ({
    type: 'fault',
    ...defined({ reply: lost }),
    name: `connection ${how} ${at}`,
    plan: (context) => [
      ...(at === 'before-headers' ? [] : [head(context, 200, sseHeaders)]),
      ending(context, how),
    ],
  }),

  /** An answer exactly as given, one write for each text or buffer: no header is added. Default: 200, and a clean end. */
  raw: (answer: {
    readonly status?: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly pieces: readonly (string | Buffer | { readonly waitMs: number })[];
    readonly end?: 'reset' | 'fin' | 'eof' | 'stall';
    readonly pingEveryMs?: number;
  }): FaultStep => ({
    type: 'fault',
    name: 'raw answer',
    plan: (context) => [
      { type: 'head', status: answer.status ?? 200, headers: answer.headers },
      ...answer.pieces.map((piece): Action =>
        typeof piece === 'object' && 'waitMs' in piece
          ? { type: 'wait', ms: piece.waitMs }
          : written(piece),
      ),
      ending(context, answer.end ?? 'eof', answer.pingEveryMs),
    ],
  }),

  /** A 200 whose event stream is empty. */
  emptyBody: (): FaultStep => fault.raw({ headers: sseHeaders, pieces: [] }),

  /** A 200 with a body that is not an event stream: a gateway's page, a JSON error. */
  notSse: (
    body: JsonValue,
    contentType = typeof body === 'string' ? 'text/html' : 'application/json',
  ): FaultStep =>
    fault.raw({
      headers: { 'content-type': contentType },
      pieces: [typeof body === 'string' ? body : JSON.stringify(body)],
    }),

  /** The vendor's "overloaded" as an error event inside a 200 stream. */
  overloadedInStream: (options: StreamFaultOptions = {}): FaultStep =>
    fault.errorInStream({ status: 529 }, options),

  /** Any vendor error as an error event inside a 200 stream. */
  errorInStream: (
    error: VendorError,
    {
      then = 'eof',
      ...options
    }: StreamFaultOptions & { readonly then?: 'reset' | 'fin' | 'eof' } = {},
  ): FaultStep =>
    inStream('error', options, (context, _rest, how) => [
      ...striking(framesToActions([context.wire.errorFrame(error, context.requestId)], how)),
      { type: 'end', how: then },
    ]),

  /** The stream breaks off; `eof` is a clean end of the body without the vendor's closing event. Default reset. */
  cutStream: ({
    how = 'reset',
    ...options
  }: StreamFaultOptions & { readonly how?: 'reset' | 'fin' | 'eof' } = {}): FaultStep =>
    inStream('cut', options, (context) => [ending(context, how)]),

  /** All content, then a clean end without the vendor's closing events. */
  missingEnd: (during?: ReplyStep): FaultStep =>
    fault.cutStream({ beforeClosing: true, how: 'eof', ...defined({ during }) }),

  /** Nothing more, forever, or only pings. */
  stall: ({
    pingEveryMs,
    ...options
  }: StreamFaultOptions & { readonly pingEveryMs?: number } = {}): FaultStep =>
    inStream('stall', options, (context) => [ending(context, 'stall', pingEveryMs)]),

  /** Nothing, or only pings, for a while; then the reply continues to its proper end. */
  pause: (
    forMs: number,
    { pingEveryMs, ...options }: StreamFaultOptions & { readonly pingEveryMs?: number } = {},
  ): FaultStep =>
    inserted('pause', options, ({ wire }) => {
      if (pingEveryMs === undefined) return [{ type: 'wait', ms: forMs }];
      const ping: readonly Action[] = [written(wire.pingText), { type: 'wait', ms: pingEveryMs }];
      return Array.from({ length: Math.floor(forMs / pingEveryMs) }, () => ping).flat();
    }),

  /** Data that is not JSON, under an event name that clients read; then the stream continues. */
  malformedData: ({
    data = '{"type":',
    ...options
  }: StreamFaultOptions & { readonly data?: string } = {}): FaultStep =>
    inserted('malformed data', options, ({ wire }, how) =>
      writesOf(wire.dataLine(data), undefined, how),
    ),

  /** Raw text between two events; then the stream continues. */
  insert: (text: string, options: StreamFaultOptions = {}): FaultStep =>
    inserted('raw text', options, (_context, how) => writesOf(text, undefined, how)),

  /** Pings or comments at once, harmless by the vendors' own rules; then the stream continues. */
  storm: (
    count: number,
    kind: 'ping' | 'comment' = 'ping',
    options: StreamFaultOptions = {},
  ): FaultStep =>
    inserted('storm', options, ({ wire }) => [
      written((kind === 'ping' ? wire.pingText : ': keep-alive\n\n').repeat(count)),
    ]),

  /** The next two events change places. */
  wrongOrder: (options: StreamFaultOptions = {}): FaultStep =>
    inStream('wrong order', options, (_context, rest, how) => [
      ...striking(framesToActions(rest.slice(0, 2).toReversed(), how)),
      ...framesToActions(rest.slice(2), how),
      eof,
    ]),

  /**
   * The next call of a tool fails, in a script of `testAgent`: the tool throws this error, or its worker dies before or after the
   * effect, so that the next attempt finds a call that was begun and has no outcome.
   */
  tool: (tool: string, how: ToolFaultStep['how']): ToolFaultStep => ({
    type: 'tool-fault',
    tool,
    how,
  }),

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
