/** What the emulated vendor can do next, as plain data: the same words for every wire. */
import type { JsonValue } from '../../workflows/core/json';
import type { Usage } from '../../workflows/core/budget/spend';

/** One piece of a reply, in the order in which the model sends it. */
export type ReplyPart =
  | { readonly type: 'text'; readonly text: string }
  /** Signed by the emulator; `redacted` gives the vendor's unreadable form. */
  | { readonly type: 'reasoning'; readonly text: string; readonly redacted?: boolean }
  | {
      readonly type: 'tool-call';
      /** Left out of the wire where absent. */
      readonly name?: string;
      /** Sent unchanged, valid JSON or not. */
      readonly argumentsText: string;
      /** Minted by the emulator where absent. */
      readonly id?: string;
    }
  | { readonly type: 'refusal'; readonly text: string };

/** Why the reply ends; each wire has its own word for it. */
export type ReplyStop =
  'end' | 'tool-use' | 'max-tokens' | 'pause' | 'content-filter' | 'refusal' | 'context-window';

/** How the bytes of an answer travel. */
export interface Delivery {
  /** Milliseconds before the response's head. */
  readonly headersAfterMs?: number;
  /** Line ends of the event stream as CRLF. */
  readonly crlf?: boolean;
  /** Cuts the body into writes of this many bytes, even inside of characters and events. */
  readonly bytesPerWrite?: number;
  /** Milliseconds between two writes. */
  readonly writeEveryMs?: number;
}

/** A reply that the model makes. */
export interface ReplyStep {
  readonly type: 'reply';
  readonly parts: readonly ReplyPart[];
  readonly stop: ReplyStop;
  /** Replaces what the emulator counted. */
  readonly usage?: Partial<Usage>;
  /** Size of one streamed delta, in characters. */
  readonly charactersPerDelta: number;
  readonly delivery: Delivery;
  /** Name of the model in the reply, if it differs from the request's. */
  readonly model?: string;
}

/** Where in a stream a fault strikes. */
export type StreamPosition =
  | { readonly type: 'start' }
  | { readonly type: 'after-events'; readonly count: number }
  /** After this many characters of text, reasoning, and tool arguments. */
  | { readonly type: 'after-characters'; readonly count: number }
  /** Before the vendor's first closing event: all content is out, nothing says that it is whole. */
  | { readonly type: 'before-closing' };

/** How a connection ends: a TCP reset, a TCP FIN without the body's proper end, or a proper end of the body. */
export type ConnectionEnd = 'reset' | 'fin' | 'eof';

/** A vendor's error, as a body or as an event; the wire gives it the vendor's shape. */
export interface VendorError {
  readonly status: number;
  readonly message?: string;
  /** The vendor's `error.type`, if it is not the usual one for the status. */
  readonly type?: string;
  /** OpenAI's `error.code`. */
  readonly code?: string | null;
  /** OpenAI's `error.param`. */
  readonly param?: string | null;
  /**
   * How the Responses API reports it in a stream: an `error` event with the error nested (default) or flat,
   * or a `response.failed`. All three were seen.
   */
  readonly eventShape?: 'nested' | 'flat' | 'failed';
}

/** What happens to a stream at a position. */
export type StreamAct =
  | { readonly type: 'end'; readonly how: ConnectionEnd }
  | { readonly type: 'error'; readonly error: VendorError; readonly then: ConnectionEnd }
  /** Silent forever, or only pings. */
  | { readonly type: 'stall'; readonly pingEveryMs?: number }
  /** Silent, or pings, for a while; then the stream continues. */
  | { readonly type: 'pause'; readonly forMs: number; readonly pingEveryMs?: number }
  /** Raw text between two events; then the stream continues. */
  | { readonly type: 'insert'; readonly text: string }
  /** Data that is not JSON, under an event name that clients read; then the stream continues. */
  | { readonly type: 'malformed'; readonly data: string }
  /** This many pings or comments at once; then the stream continues. */
  | { readonly type: 'storm'; readonly count: number; readonly kind: 'ping' | 'comment' }
  /** The next two events change places. */
  | { readonly type: 'swap' };

/** A fault instead of a reply, or within one. */
export type FaultStep =
  | {
      readonly type: 'http-fault';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Absent: the vendor's own error shape for the status. */
      readonly body?: JsonValue;
      readonly bodyText?: string;
      readonly error: VendorError;
      readonly delayMs: number;
    }
  | {
      readonly type: 'connection-fault';
      readonly at: 'before-headers' | 'after-headers';
      readonly how: ConnectionEnd | 'stall';
    }
  | {
      readonly type: 'stream-fault';
      readonly reply: ReplyStep;
      readonly at: StreamPosition;
      readonly act: StreamAct;
    }
  | {
      readonly type: 'raw';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly pieces: readonly RawPiece[];
      readonly end: RawEnd;
    };

/** One write of a raw answer, or a pause. */
export type RawPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'hex'; readonly hex: string }
  | { readonly type: 'wait'; readonly ms: number };

/** How a raw answer ends. */
export type RawEnd =
  | { readonly type: 'end'; readonly how: ConnectionEnd }
  | { readonly type: 'stall'; readonly pingEveryMs?: number };

/** One scripted answer. */
export type Step = ReplyStep | FaultStep;
