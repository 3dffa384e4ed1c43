/** What a provider adapter must do. Three pure functions and one effect per wire; only its own folder imports the vendor's SDK. */
import type { AgentError, InfraError } from '../../workflows/core/failure';
import type { JsonObject } from '../../workflows/core/json';
import type { AssistantMessage, Message } from '../../workflows/core/message';
import type { StopReason } from '../../workflows/core/model-call/ports';
import type { Usage } from '../../workflows/core/budget/spend';

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
}

/** One model call, in neutral words. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  /** The transcript: valid (pairs whole, no empty content), last message not by the assistant. */
  readonly messages: readonly Message[];
  /** Ephemeral text, sent as the end of the last user message of this request, after the cache breakpoint. */
  readonly note?: string;
  readonly tools: readonly ToolSpec[];
  /** The same for all calls of a run: vendors that ask for one route them to where their prompt is kept. */
  readonly cacheKey?: string;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  /** The form that the reply's text must have; kept by the vendor where its API can. */
  readonly output?: OutputSchema;
}

/** A form of a reply: JSON Schema of a closed object, every property required, as all vendors take it. */
export interface OutputSchema {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  readonly schema: JsonObject;
}

/** A tool call as received; its arguments are not parsed yet. */
export interface RawToolCall {
  /** The vendor's own id, kept only for logs. */
  readonly vendorId: string;
  readonly name: string;
  /** Raw text of the arguments, exactly as streamed. */
  readonly argumentsText: string;
  /** How many of the reply's `blocks` precede it; absent if all do. */
  readonly blocksBefore?: number;
}

/** A reply that ended with the vendor's closing event. */
export interface ModelReply {
  readonly model: string;
  /** Text, reasoning and refusal blocks in order, without tool calls. */
  readonly blocks: readonly Exclude<AssistantMessage['blocks'][number], { type: 'tool-call' }>[];
  readonly toolCalls: readonly RawToolCall[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly requestId?: string;
  /** The vendor took a tool call of the model's away as unreadable: nothing of the reply is an answer. */
  readonly mistake?: Pick<AgentError, 'message'> & {
    readonly code: 'invalid_json' | 'invalid_tool';
  };
}

/** How far a request got that brought no whole reply: what the vendor may bill all the same. */
export interface BrokenReply {
  /** A successful answer had begun. */
  readonly wasAccepted: boolean;
  /** What the vendor had counted by then, if it reports before the end. */
  readonly usage?: Usage;
  /** Everything that the model had said: text, reasoning, names and arguments of calls. */
  readonly said: string;
}

/** How a caller watches and limits one send. */
export interface SendOptions {
  /** Aborts the request; the adapter then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Milliseconds until the first byte of the body. */
  readonly firstByteMs: number;
  /** Milliseconds between two pieces of content; pings and comments do not count. */
  readonly betweenBytesMs: number;
  /** Milliseconds of silence while a thought is open that the model began; absent or shorter: as between two pieces. */
  readonly thinkingMs?: number;
  /** Called for each piece of text, with the text. Contract: must not throw. */
  readonly onText: (text: string) => void;
  /** Called once before `send` rejects, if a request went out. Contract: must not throw. */
  readonly onBroken?: (broken: BrokenReply) => void;
}

/** The wire that a provider speaks: it decides how a request is measured and how large it may be. */
export type ProviderWire = 'anthropic' | 'responses' | 'chat';

/** A provider adapter. */
export interface Provider {
  /** Name used in chains: `anthropic`, `openai`, `ollama`. */
  readonly name: string;
  /** Who makes the reasoning blocks: blocks of another vendor are dropped from requests. */
  readonly vendor: string;
  /** Absent if none of the three applies: requests are then measured and limited as for the strictest one. @internal */
  readonly wire?: ProviderWire;
  /** Model-independent check at worker start. Returns what is wrong (a missing key, a bad URL) and how to fix it. */
  problem(): string | undefined;
  /**
   * Sends one request and reads the stream to its closing event. Sends exactly one HTTP request (no SDK retries).
   *
   * Errors: rejects with `InfraException` whose code is a `FailoverReason`; a stream that ends without the vendor's closing
   * event, a 200 without events, cut or unparsable frames reject with `network` or `format`; a stall rejects with `timeout`.
   * @internal
   */
  send(request: ModelRequest, options: SendOptions): Promise<ModelReply>;
  /** Sorts any thrown value; never throws. @internal */
  classifyError(thrown: unknown): InfraError;
}
