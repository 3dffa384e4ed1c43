/** A request as the emulator saw it, with readings that do not depend on the wire. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import type { Usage } from '../../workflows/core/budget/spend';
import type { AnswerProgress } from './delivery';
import { noProgress } from './delivery';
import type { Step } from './faults';
import { stringOf } from './json-read';
import type { VendorError } from './step';
import type { Conversation, SentToolCall, SentToolResult, Turn, Wire, WireName } from './wire';

/** How a request was answered. */
export type Answer =
  | { readonly type: 'pending' }
  /** By a scripted step. */
  | { readonly type: 'step'; readonly step: Step }
  /** By the emulator's own check, as the vendor would: wrong headers, body, model, size, window. */
  | { readonly type: 'refused'; readonly error: VendorError }
  /** No step was left for it: a fault of the test or of the client under test. */
  | {
      readonly type: 'unplanned';
      /** What came, why no step answers it, and what the script expects. */
      readonly problem: string;
    };

/** Why no step answered a request, if none did; `before` requests of others are not counted in its number, which begins at 1. */
export function unplannedProblem(
  { index, wire, model, answer }: RecordedRequest,
  before: number,
): string | undefined {
  if (answer.type !== 'unplanned') return undefined;
  return `Request ${index - before + 1} (${wire}, ${model}) ${answer.problem}`;
}

/** One message of a prompt. */
type PromptMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly toolCalls: readonly { readonly name: string; readonly input: JsonValue }[];
    }
  | {
      readonly role: 'tool';
      readonly name: string;
      readonly content: string;
      /** Only Anthropic's wire can say so. */
      readonly isError: boolean;
    };

/** What one request told the model: plain data, the same for every vendor, for `toMatchObject`. */
export interface Prompt {
  readonly model: string;
  /** All instructions, joined. */
  readonly system: string;
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
  readonly messages: readonly PromptMessage[];
  /** What the runtime says about the last trouble, with its hints; in no later request. */
  readonly note?: string;
}

/** One request that the emulator got. */
export class RecordedRequest {
  readonly wire: WireName;
  readonly model: string;
  answer: Answer = { type: 'pending' };
  progress: AnswerProgress & {
    /** Billed for this request. */
    readonly usage?: Usage;
  } = noProgress;
  readonly #wire: Wire;
  #body: JsonObject | undefined;
  #conversation: Conversation | undefined;

  /** @internal */
  constructor(
    /** Place among all requests, from 0. */
    readonly index: number,
    /** Milliseconds since the epoch at arrival. */
    readonly atMs: number,
    wire: Wire,
    /** Path before the vendor's own, without slashes: distinguishes vendors that share an API. */
    readonly mount: string,
    readonly path: string,
    /** Lower-case names; keys and tokens replaced by `[redacted]`. */
    readonly headers: Readonly<Record<string, string>>,
    body: JsonObject,
    /** Length of the body's text. */
    readonly bodyBytes: number,
  ) {
    this.wire = wire.name;
    this.model = stringOf(body['model']);
    this.#wire = wire;
    this.#body = body;
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

  /** What it told the model. */
  get prompt(): Prompt {
    const { systemText: system, toolNames: tools, turns } = this.conversation;
    const names = new Map(this.toolCalls.map(({ id, name }) => [id, name]));
    const messages: PromptMessage[] = [];
    for (const turn of turns) addTurn(messages, turn, names);
    const note = takeNote(messages);
    return { model: this.model, system, tools, messages, ...defined({ note }) };
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
    const said = this.conversation.turns.filter(({ role, text }) => role === 'user' && text !== '');
    return said.at(-1)?.text ?? '';
  }

  /** Tool results since the model last spoke. */
  get lastToolResults(): readonly SentToolResult[] {
    const { turns } = this.conversation;
    const lastReply = turns.findLastIndex((turn) => turn.role === 'assistant');
    return turns.slice(lastReply + 1).flatMap((turn) => turn.toolResults);
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
}

function addTurn(
  messages: PromptMessage[],
  { role, text, toolCalls, toolResults }: Turn,
  names: ReadonlyMap<string, string>,
): void {
  for (const { id, content, isError } of toolResults)
    messages.push({ role: 'tool', name: names.get(id) ?? id, content, isError });
  if (role === 'assistant') addReply(messages, text, toolCalls);
  else if (text !== '') messages.push({ role, text });
}

/** Adds what the model said. A wire whose items are text or calls sends one reply in several. */
function addReply(messages: PromptMessage[], said: string, calls: readonly SentToolCall[]): void {
  const toolCalls = calls.map(({ name, argumentsText }) => {
    return { name, input: inputOf(argumentsText) };
  });
  const before = messages.at(-1)?.role === 'assistant' ? messages.pop() : undefined;
  const first = before?.role === 'assistant' ? before : { text: '', toolCalls: [] };
  const text = [first.text, said].filter((each) => each !== '').join('\n');
  messages.push({ role: 'assistant', text, toolCalls: [...first.toolCalls, ...toolCalls] });
}

/** Takes the runtime's own words, which are the last, out of the messages. */
function takeNote(messages: PromptMessage[]): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'user' || !last.text.includes(noteProvenance)) return undefined;
  const at = last.text.indexOf(noteProvenance);
  const text = last.text.slice(0, at).trim();
  messages.splice(-1, 1, ...(text === '' ? [] : [{ role: 'user', text } as const]));
  return last.text.slice(at);
}

/** Arguments as JSON, or the text that is none. */
function inputOf(argumentsText: string): JsonValue {
  try {
    return JSON.parse(argumentsText) as JsonValue;
  } catch {
    return argumentsText;
  }
}

/** All requests so far. Old ones lose their bodies: the newest keep theirs, up to a number of bytes, the last one always. */
export class RequestLog {
  readonly requests: RecordedRequest[] = [];
  #keptBytes = 0;
  #oldestKept = 0;

  constructor(private readonly maxBytes: number) {}

  add(request: RecordedRequest): void {
    this.requests.push(request);
    this.#keptBytes += request.bodyBytes;
    while (this.#keptBytes > this.maxBytes && this.#oldestKept < request.index) {
      const oldest = this.requests[this.#oldestKept];
      this.#oldestKept += 1;
      this.#keptBytes -= oldest?.bodyBytes ?? 0;
      oldest?.forgetBody();
    }
  }
}
