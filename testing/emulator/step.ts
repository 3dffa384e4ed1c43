/** What the emulated vendor can say next, as plain data: the same words for every wire. */
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

/** Servers that the Chat Completions wire can play beside OpenAI. `vllm-mistral` is vLLM with a Mistral model's template. */
export type ChatServerName =
  'mistral' | 'kimi' | 'deepseek' | 'gemini' | 'ollama' | 'vllm' | 'vllm-mistral';

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

/** What happens to the next call of a tool, in a script of `testAgent`. */
export interface ToolFaultStep {
  readonly type: 'tool-fault';
  readonly tool: string;
  /** The attempt ends as that of a worker that died, before or after the effect; or the tool throws this. */
  readonly how: 'crash-before-effect' | 'crash-after-effect' | Error;
}

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
  /** The whole body, of a server with a shape of its own. */
  readonly body?: JsonValue;
  /**
   * How the Responses API reports it in a stream: an `error` event with the error nested (default) or flat,
   * or a `response.failed`. All three were seen.
   */
  readonly eventShape?: 'nested' | 'flat' | 'failed';
}
