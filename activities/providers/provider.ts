/** What a provider adapter must do. Only an adapter's own folder imports its vendor's SDK. */
import type { RouteMedia } from '../../workflows/core/message';
import type { AgentError, InfraError, ThoughtReplay } from '../../workflows/core/failure';
import type { JsonObject } from '../../workflows/core/json';
import type { AssistantMessage, Message } from '../../workflows/core/message';
import type { StopReason } from '../../workflows/core/model-call/ports';
import type { Usage } from '../../workflows/core/budget/spend';
import type { ModelSettings } from './settings/model-settings';

/** A tool as it is described to the model. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** The vendor enforces the schema if its API can: the arguments are the run's output. */
  readonly strict?: true;
}

/** One model call, independent of the vendor. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  /** The transcript. Its last message is not the assistant's. */
  readonly messages: readonly Message[];
  /** Ephemeral text, sent as the end of the last user message of this request, after the cache breakpoint. */
  readonly note?: string;
  readonly tools: readonly ToolSpec[];
  /** What the model takes beside text; absent: all that its wire knows. */
  readonly media?: RouteMedia;
  /** The same for all calls of a run; vendors use it to find the cached prompt. */
  readonly cacheKey?: string;
  /** Limit of the whole reply, its reasoning included. */
  readonly maxOutputTokens: number;
  /** Of the route. What the provider cannot send is left out: it was refused when the worker started. */
  readonly settings?: ModelSettings;
  /** What the server has shown, by a refusal, about the thoughts that go back to it. */
  readonly thoughts?: ThoughtReplay;
  /** The form that the reply's text must have; the vendor enforces it if its API can. */
  readonly output?: OutputSchema;
}

/** A form of a reply. */
export interface OutputSchema {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  /** JSON Schema of an object. What a vendor cannot enforce of it is left to whoever reads the reply. */
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
  /** The vendor removed a tool call that it could not read: nothing of the reply is an answer. */
  readonly mistake?: Pick<AgentError, 'message'> & {
    readonly code: 'invalid_json' | 'invalid_tool';
  };
}

/**
 * How far a request without a complete reply got; the vendor may bill it. `unsent`: no connection was made.
 * `unanswered`: it may have arrived, and even have been answered, since an answer can be lost on the way. `refused`: the
 * answer is an error. `accepted`: a successful answer has begun.
 */
export interface BrokenReply {
  readonly reach: 'unsent' | 'unanswered' | 'refused' | 'accepted';
  /** What the vendor has counted so far, if it reports counts before the end. */
  readonly usage?: Usage;
  /** Everything that the model has generated: text, reasoning, names and arguments of calls. */
  readonly said: string;
}

/** How a caller observes and limits one request. */
export interface SendOptions {
  /** Aborts the request; the adapter then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Milliseconds until the first byte of the body. */
  readonly firstByteMs: number;
  /** Milliseconds between two bytes of the body, pings and comments included. */
  readonly betweenBytesMs: number;
  /**
   * Milliseconds between two pieces of content while pings arrive or the model thinks. Default, and at least: `betweenBytesMs`.
   * A call that passes it is not repeated on its route.
   */
  readonly thinkingMs?: number;
  /** Called for each piece of text, with the text. Contract: must not throw. */
  readonly onText: (text: string) => void;
  /**
   * Called once, right before the request is sent, with a function that says at any time how far the request got, even after
   * `send` has rejected. Contract: must not throw.
   */
  readonly onSending?: (progress: () => BrokenReply) => void;
}

/** The API that a provider speaks; it decides how a request is measured and how large it may be. */
export type ProviderWire = 'anthropic' | 'responses' | 'chat';

/** A provider adapter. */
export interface Provider {
  /** Name used in chains: `anthropic`, `openai`, `ollama`. */
  readonly name: string;
  /** Whose reasoning blocks it takes: those of another vendor are left out of requests. */
  readonly vendor: string;
  /** Absent if none of the three fits: requests are then measured and limited as on the strictest one. @internal */
  readonly wire?: ProviderWire;
  /** Checks the configuration when the worker starts. Returns what is wrong (a missing key, a bad URL) and how to correct it. */
  problem(): string | undefined;
  /**
   * Checks the settings of a route when the worker starts. Returns those that its requests cannot carry, each with its value and how
   * to correct it. Absent: the provider takes no settings.
   * @internal
   */
  routeProblem?(model: string, settings: ModelSettings): string | undefined;
  /**
   * Sends one request and reads the stream to its closing event. Sends exactly one HTTP request (no SDK retries).
   *
   * Errors: rejects with `InfraException` whose code is a `FailoverReason`; a stream that ends without the vendor's closing
   * event, a 200 without events, and truncated or unparsable frames reject with `network` or `format`; a stall with `timeout`.
   * @internal
   */
  send(request: ModelRequest, options: SendOptions): Promise<ModelReply>;
  /** Classifies any thrown value; never throws. @internal */
  classifyError(thrown: unknown): InfraError;
}
