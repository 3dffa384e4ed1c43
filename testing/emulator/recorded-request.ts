/** A request as the emulator saw it, with readings that do not depend on the wire. */
import type { JsonObject } from '../../workflows/core/json';
import type { Usage } from '../../workflows/core/budget/spend';
import { stringOf } from './json-read';
import type { Step, VendorError } from './step';
import type { Conversation, SentToolCall, SentToolResult, Turn, Wire, WireName } from './wire';

/** How a request was answered. */
export type Answer =
  | { readonly type: 'pending' }
  /** By a scripted step. */
  | { readonly type: 'step'; readonly step: Step }
  /** By the emulator's own check, as the vendor would: wrong headers, body, model, size, window. */
  | { readonly type: 'refused'; readonly error: VendorError }
  | { readonly type: 'count'; readonly tokens: number }
  /** No step was left for it: a fault of the test or of the client under test. */
  | { readonly type: 'unplanned' };

/** How far the answer got. */
export interface AnswerProgress {
  readonly status?: number;
  readonly eventsSent: number;
  /** The whole answer is out, or the fault has struck. */
  readonly landed: boolean;
  /** Nothing more will happen on this request. */
  readonly finished: boolean;
  /** The client went away first. */
  readonly abandoned: boolean;
  /** Billed for this request. */
  readonly usage?: Usage;
}

/** What a request is made from. */
export interface RequestFacts {
  readonly index: number;
  readonly atMs: number;
  readonly wire: Wire;
  readonly mount: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly bodyBytes: number;
}

/** One request that the emulator got. */
export class RecordedRequest {
  /** Place among all requests, from 0. */
  readonly index: number;
  /** Milliseconds since the epoch at arrival. */
  readonly atMs: number;
  readonly wire: WireName;
  /** Path before the vendor's own, without slashes: distinguishes vendors that share an API. */
  readonly mount: string;
  readonly path: string;
  /** Lower-case names; keys and tokens replaced by `[redacted]`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  /** The request asked for a stream. */
  readonly stream: boolean;
  /** Length of the body's text. */
  readonly bodyBytes: number;
  answer: Answer = { type: 'pending' };
  progress: AnswerProgress = { eventsSent: 0, landed: false, finished: false, abandoned: false };
  readonly #wire: Wire;
  #body: JsonObject | undefined;
  #conversation: Conversation | undefined;

  /** @internal */
  constructor(facts: RequestFacts) {
    this.index = facts.index;
    this.atMs = facts.atMs;
    this.wire = facts.wire.name;
    this.mount = facts.mount;
    this.path = facts.path;
    this.headers = facts.headers;
    this.model = stringOf(facts.body['model']);
    this.stream = facts.body['stream'] === true;
    this.bodyBytes = facts.bodyBytes;
    this.#wire = facts.wire;
    this.#body = facts.body;
  }

  /** The body as sent. Errors: throws if it was dropped to bound the emulator's memory (`recordedBodyBytes`). */
  get body(): JsonObject {
    if (this.#body === undefined) {
      throw new Error(
        `The body of request ${this.index} is no longer recorded; raise recordedBodyBytes.`,
      );
    }
    return this.#body;
  }

  /** The content of the request, vendor-neutral. @internal */
  get conversation(): Conversation {
    this.#conversation ??= this.#wire.conversation(this.body);
    return this.#conversation;
  }

  /** All instructions to the model, joined. */
  get systemText(): string {
    return this.conversation.systemText;
  }

  /** Names of the tools on offer. */
  get toolNames(): readonly string[] {
    return this.conversation.toolNames;
  }

  /** Messages or items of the conversation, instructions aside. */
  get messagesCount(): number {
    return this.conversation.turns.length;
  }

  /** Text of the last user message that has any. */
  get lastUserText(): string {
    return (
      this.conversation.turns.findLast((turn) => turn.role === 'user' && turn.text !== '')?.text ??
      ''
    );
  }

  /** Tool results since the model last spoke. */
  get lastToolResults(): readonly SentToolResult[] {
    return this.#sinceModel().flatMap((turn) => turn.toolResults);
  }

  /** All tool calls that the conversation holds, in order. */
  get toolCalls(): readonly SentToolCall[] {
    return this.conversation.turns.flatMap((turn) => turn.toolCalls);
  }

  /** All tool results that the conversation holds, in order. */
  get toolResults(): readonly SentToolResult[] {
    return this.conversation.turns.flatMap((turn) => turn.toolResults);
  }

  /** Drops the body. */
  forgetBody(): void {
    this.#body = undefined;
    this.#conversation = undefined;
  }

  #sinceModel(): readonly Turn[] {
    const { turns } = this.conversation;
    return turns.slice(turns.findLastIndex((turn) => turn.role === 'assistant') + 1);
  }
}

/** Enough for any test; bounded, so that a run of thousands of iterations does not fill the memory. */
const defaultRecordedBodyBytes = 64 * 1024 * 1024;

/** All requests so far. Old ones lose their bodies: the newest keep theirs, up to a number of bytes and of requests, the last one always. */
export class RequestLog {
  readonly requests: RecordedRequest[] = [];
  readonly #maxBytes: number;
  readonly #maxBodies: number;
  #keptBytes = 0;
  #oldestKept = 0;

  constructor(maxBytes = defaultRecordedBodyBytes, maxBodies = Infinity) {
    this.#maxBytes = maxBytes;
    this.#maxBodies = maxBodies;
  }

  add(request: RecordedRequest): void {
    this.requests.push(request);
    this.#keptBytes += request.bodyBytes;
    const isOver = (): boolean =>
      this.#keptBytes > this.#maxBytes || request.index - this.#oldestKept >= this.#maxBodies;
    while (isOver() && this.#oldestKept < request.index) {
      const oldest = this.requests[this.#oldestKept];
      this.#oldestKept += 1;
      this.#keptBytes -= oldest?.bodyBytes ?? 0;
      oldest?.forgetBody();
    }
  }
}
