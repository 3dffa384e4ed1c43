/** Gathers a reply from a Chat Completions stream of any server. */
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { StopReason } from '../../../workflows/core/model-call/ports';
import { noUsage, type Usage } from '../../../workflows/core/budget/spend';
import type { ModelReply, RawToolCall } from '../provider';
import {
  answerBlocks,
  BrokenStream,
  noContent,
  ReportedInStream,
  stopReasonsBy,
  usageOf,
  withCalls,
  type EventMeaning,
  type SaidBlock,
  type StreamAssembly,
} from '../stream/stream-assembly';
import { TaggedThoughts } from '../stream/tagged-thoughts';
import { asCount, asList, asNumber, asObject, asText, isRecord, property } from '../untrusted-json';
import type { ChatDialect } from './chat-dialect';
import { ChatToolCalls, holdsArguments } from './chat-tool-calls';
import { ReasoningDetails } from './reasoning-details';

const stopReasons = stopReasonsBy({
  end: 'stop eos end_turn stop_sequence',
  'tool-use': 'tool_calls function_call',
  truncated: 'length max_tokens',
  'context-full': 'model_length',
  filtered: 'content_filter safety recitation sensitive prohibited_content blocklist spii language',
  refusal: 'refusal',
});

/** Gemini appends the filter that stopped the reply: `content_filter: RECITATION`. */
function stopReasonOf(finishReason: string): StopReason {
  const isFiltered = finishReason.startsWith('content_filter:');
  return stopReasons.get(finishReason) ?? (isFiltered ? 'filtered' : 'end');
}

/**
 * Gemini's words for a tool call that it could not read, after `function_call_filter:` on its own API, and in OpenRouter's
 * `native_finish_reason`. The call is lost, and the rest is not an answer.
 */
const unreadableCall =
  /^(?:function_call_filter:\s*)?(?:malformed_function_call|malformed_response)$/;
const unexpectedCall = /^(?:function_call_filter:\s*)?unexpected_tool_call$/;

function mistakeOf(finishReason: string): ModelReply['mistake'] {
  if (unexpectedCall.test(finishReason))
    return {
      code: 'invalid_tool',
      message: `The tool call of your reply names no tool of this request (${finishReason}).`,
    };
  const isUnreadable =
    unreadableCall.test(finishReason) || finishReason.startsWith('function_call_filter:');
  return isUnreadable
    ? {
        code: 'invalid_json',
        message: `The provider could not read the tool call of your reply (${finishReason}).`,
      }
    : undefined;
}

/** Finish reasons of a server that failed, with the error that it did not send. */
const failedFinish: Readonly<Record<string, () => Error>> = {
  error: () => new BrokenStream('the server ended the reply with an error'),
  abort: () => new BrokenStream('the server aborted the reply'),
  network_error: () => new BrokenStream('the server lost its own connection'),
  insufficient_system_resource: () =>
    new ReportedInStream({
      code: 'insufficient_system_resource',
      message: 'The vendor lacks resources.',
    }),
};

/** Reader of one Chat Completions stream. */
export class ChatReplyAssembly implements StreamAssembly {
  private calls = new ChatToolCalls();
  private readonly details = new ReasoningDetails();
  private model: string;
  private text = '';
  /** Absent where `<think>` is text. */
  private tagged: TaggedThoughts | undefined;
  private reasoning = '';
  private refusal = '';
  private finishReason: string | undefined;
  /** A piece of a call came after the finish reason. */
  private hasLateCalls = false;
  private usage: Usage = noUsage;

  constructor(
    private readonly vendor: string,
    private readonly requestedModel: string,
    private readonly dialect: ChatDialect = {},
  ) {
    this.model = requestedModel;
    this.begin();
  }

  /** Forgets what has arrived: a whole message is to follow. */
  private begin(): void {
    this.calls = new ChatToolCalls();
    this.tagged = this.dialect.thinkTags === 'text' ? undefined : new TaggedThoughts();
    this.text = this.reasoning = this.refusal = '';
  }

  get isComplete(): boolean {
    if (this.finishReason === undefined) return false;
    return !this.hasLateCalls || this.calls.areWhole();
  }

  accept(event: unknown): EventMeaning {
    const wrapped = asObject(asList(event)[0]) ?? event;
    const failure = property(wrapped, 'error');
    if (failure !== undefined && failure !== null) throw new ReportedInStream(failure);
    this.model = asText(property(wrapped, 'model')) || this.model;
    this.takeUsage(property(wrapped, 'usage'));
    const choice = choiceIn(wrapped);
    if (choice === undefined) return noContent;
    const reported = property(choice, 'error');
    if (reported !== undefined && reported !== null) throw new ReportedInStream(reported);
    const delta = property(choice, 'delta');
    if (delta === undefined && isWhole(choice)) this.begin();
    const meaning = this.takeDelta(delta ?? property(choice, 'message'));
    return this.takeFinish(finishWord(choice)) ? { ...meaning, isContent: true } : meaning;
  }

  acceptWhole(body: unknown): EventMeaning | undefined {
    const [choice] = asList(property(body, 'choices'));
    if (choice === undefined && asText(property(body, 'error')) === '') return undefined;
    const meaning = this.accept(body);
    // A whole message has its end, whether or not the server names it.
    if (property(choice, 'message') !== undefined) this.finishReason ??= 'stop';
    return meaning;
  }

  partial(): { readonly usage?: Usage; readonly said: string } {
    const calls = this.calls.rawCalls().map((call) => call.name + call.argumentsText);
    const said = this.reasoning + this.text + this.refusal + calls.join('');
    return this.usage === noUsage ? { said } : { usage: this.usage, said };
  }

  reply(): ModelReply {
    const toolCalls = this.calls.rawCalls();
    const { thought, answer } = this.tagged?.whole() ?? { thought: '', answer: this.text };
    const mistake = mistakeOf(this.finishReason ?? '');
    return {
      model: this.model,
      blocks: [
        ...this.reasoningBlocks(toolCalls, this.reasoning + thought),
        ...answerBlocks(answer, this.refusal),
      ],
      toolCalls,
      stopReason: this.stopReason(toolCalls.length > 0),
      usage: this.usage,
      ...defined({ mistake }),
    };
  }

  private takeDelta(delta: unknown): EventMeaning {
    refuseLost(delta, ['tool_calls', 'function_call']);
    const content = property(delta, 'content');
    const text = contentText(content);
    const refusal = asText(property(delta, 'refusal'));
    const reasoning = thoughtField(delta) + thoughtParts(content);
    this.text += text;
    const said = this.tagged === undefined ? text : this.tagged.accept(text);
    this.refusal += refusal;
    this.reasoning += reasoning;
    const hasCallContent = callPieces(delta)
      .map((piece) => this.calls.accept(piece))
      .some(Boolean);
    this.hasLateCalls ||= hasCallContent && this.finishReason !== undefined;
    const hasDetails = this.details.accept(property(delta, 'reasoning_details'));
    if (text !== '' || refusal !== '') return { isContent: true, text: said || refusal };
    return { isContent: reasoning !== '' || hasDetails || hasCallContent };
  }

  private takeFinish(finishReason: string): boolean {
    if (finishReason === '') return false;
    const failure = failedFinish[finishReason];
    if (failure !== undefined) throw failure();
    this.finishReason ??= finishReason;
    return true;
  }

  /** Counts may arrive with every chunk, with the last one, or twice: the last ones count. */
  private takeUsage(usage: unknown): void {
    const input = property(usage, 'prompt_tokens');
    const output = property(usage, 'completion_tokens');
    if (asCount(input) === undefined && asCount(output) === undefined) return;
    this.usage = usageOf({
      input,
      output,
      total: property(usage, 'total_tokens'),
      details: property(usage, 'prompt_tokens_details'),
      cacheHits: property(usage, 'prompt_cache_hit_tokens'),
    });
  }

  private reasoningBlocks(toolCalls: readonly RawToolCall[], text: string): readonly SaidBlock[] {
    const block = { type: 'reasoning', vendor: this.vendor, text } as const;
    const callIds = toolCalls.map((call) => call.vendorId);
    const toolCallExtras = this.calls.extras();
    const opaque = {
      ...(toolCallExtras.length === 0 ? {} : { toolCallExtras }),
      ...this.details.opaque(this.requestedModel, callIds),
    };
    if (Object.keys(opaque).length === 0) return text.trim() === '' ? [] : [block];
    // It came from JSON; the round trip gives it the type.
    return [{ ...block, opaque: JSON.parse(JSON.stringify(opaque)) as JsonObject }];
  }

  private stopReason(hasCalls: boolean): StopReason {
    const known = stopReasonOf(this.finishReason ?? '');
    if (known === 'end' && !hasCalls && this.refusal !== '') return 'refusal';
    return withCalls(known, hasCalls);
  }
}

/** The choice that was asked for. Errors: `BrokenStream` for a part of a tool call in another one, since it would be lost. */
function choiceIn(event: unknown): unknown {
  refuseLost(event, ['choices']);
  const choices = asList(property(event, 'choices'));
  const isOurs = (each: unknown): boolean => (asNumber(property(each, 'index')) ?? 0) === 0;
  if (choices.some((each) => !isOurs(each) && callPieces(property(each, 'delta')).length > 0))
    throw new BrokenStream('a part of a tool call came in a choice that nobody asked for');
  const choice = choices.find(isOurs);
  refuseLost(choice, ['delta', 'message']);
  return choice;
}

/**
 * Errors: `BrokenStream` if what should hold the pieces of calls is of another kind, or if something else holds them instead of
 * all that should: they would be lost.
 */
function refuseLost(holder: unknown, places: readonly string[]): void {
  if (holder === undefined || holder === null) return;
  const given = places.flatMap((place) => property(holder, place) ?? []);
  const isOther = !isRecord(holder) || given.some((each) => each !== '' && !isRecord(each));
  if (isOther || (given.length === 0 && Object.values(holder).some(holdsArguments)))
    throw new BrokenStream('a piece of a tool call cannot be read');
}

/** Why the choice ended, in lower case. A router's `error` may mean that the vendor could not read a call. */
function finishWord(choice: unknown): string {
  const word = asText(property(choice, 'finish_reason')).toLowerCase();
  const native = asText(property(choice, 'native_finish_reason')).toLowerCase();
  return word === 'error' && mistakeOf(native) !== undefined ? native : word;
}

/** True for a choice that ends with a message of its own: that is the whole one, whatever pieces came before. */
function isWhole(choice: unknown): boolean {
  const message = property(choice, 'message');
  const isSaid = contentText(property(message, 'content')) !== '';
  return finishWord(choice) !== '' && (isSaid || callPieces(message).length > 0);
}

/** A thought's text under any server's name for it; a server that sends two sends the same. */
function thoughtField(delta: unknown): string {
  return ['reasoning_content', 'reasoning', 'thinking']
    .map((field) => asText(property(delta, field)))
    .reduce((first, next) => first || next);
}

/** Mistral's thoughts are parts of the content. */
function thoughtParts(content: unknown): string {
  return asList(content)
    .flatMap((part) => asList(property(part, 'thinking')))
    .map((part) => asText(property(part, 'text')))
    .join('');
}

/** Tool calls; older servers have one `function_call`. */
function callPieces(delta: unknown): readonly unknown[] {
  const older = asObject(property(delta, 'function_call'));
  const pieces = asList(property(delta, 'tool_calls'));
  return older === undefined ? pieces : [...pieces, { index: 0, function: older }];
}

/** Content as a string, or as a list of text parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => asText(property(part, 'text')))
    .join('');
}
