/** Gathers a reply from a Chat Completions stream, as lax as its many servers and as strict as a reply must be. */
import type { JsonObject } from '../../../workflows/core/json';
import type { StopReason } from '../../../workflows/core/ports';
import { noUsage, type Usage } from '../../../workflows/core/usage';
import type { ModelReply } from '../provider';
import {
  BrokenStream,
  noContent,
  ReportedInStream,
  type EventMeaning,
  type SaidBlock,
  type StreamAssembly,
} from '../stream-assembly';
import { asList, asNumber, asObject, asText, property } from '../untrusted-json';
import { ChatToolCalls } from './chat-tool-calls';

const stopReasons: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  eos: 'end',
  end_turn: 'end',
  stop_sequence: 'end',
  tool_calls: 'tool-use',
  function_call: 'tool-use',
  length: 'truncated',
  max_tokens: 'truncated',
  model_length: 'context-full',
  content_filter: 'filtered',
  safety: 'filtered',
  recitation: 'filtered',
  sensitive: 'filtered',
  prohibited_content: 'filtered',
  blocklist: 'filtered',
  refusal: 'refusal',
};

/** Finish reasons by which a server says that it failed, with the error that it did not send. */
const failedFinish: Readonly<Record<string, () => Error>> = {
  error: () => new BrokenStream('the server ended the reply with an error'),
  abort: () => new BrokenStream('the server aborted the reply'),
  network_error: () => new BrokenStream('the server lost its own connection'),
  insufficient_system_resource: () =>
    new ReportedInStream({
      code: 'insufficient_system_resource',
      message: 'The vendor is short of resources.',
    }),
};

/** Reader of one Chat Completions stream. */
export class ChatReplyAssembly implements StreamAssembly {
  eventCount = 0;
  private readonly calls = new ChatToolCalls();
  private model: string;
  private text = '';
  private reasoning = '';
  private refusal = '';
  private finishReason: string | undefined;
  private usage: Usage = noUsage;

  constructor(
    private readonly vendor: string,
    requestedModel: string,
  ) {
    this.model = requestedModel;
  }

  get isComplete(): boolean {
    return this.finishReason !== undefined;
  }

  accept(event: unknown): EventMeaning {
    this.eventCount += 1;
    const wrapped = asObject(asList(event)[0]) ?? event;
    const failure = property(wrapped, 'error');
    if (failure !== undefined && failure !== null) throw new ReportedInStream(failure);
    this.model = asText(property(wrapped, 'model')) || this.model;
    this.takeUsage(property(wrapped, 'usage'));
    const choice = asList(property(wrapped, 'choices')).find(
      (each) => (asNumber(property(each, 'index')) ?? 0) === 0,
    );
    if (choice === undefined) return noContent;
    const reported = property(choice, 'error');
    if (reported !== undefined && reported !== null) throw new ReportedInStream(reported);
    const meaning = this.takeDelta(property(choice, 'delta') ?? property(choice, 'message'));
    return this.takeFinish(property(choice, 'finish_reason'))
      ? { ...meaning, isContent: true }
      : meaning;
  }

  partial(): { readonly usage?: Usage; readonly said: string } {
    const calls = this.calls.rawCalls().map((call) => call.name + call.argumentsText);
    const said = this.reasoning + this.text + this.refusal + calls.join('');
    return this.usage === noUsage ? { said } : { usage: this.usage, said };
  }

  reply(): ModelReply {
    const toolCalls = this.calls.rawCalls();
    return {
      model: this.model,
      blocks: [...this.reasoningBlocks(), ...this.saidBlocks()],
      toolCalls,
      stopReason: this.stopReason(toolCalls.length > 0),
      usage: this.usage,
    };
  }

  private takeDelta(delta: unknown): EventMeaning {
    const text = contentText(property(delta, 'content'));
    const refusal = asText(property(delta, 'refusal'));
    const reasoning =
      asText(property(delta, 'reasoning_content')) || asText(property(delta, 'reasoning'));
    this.text += text;
    this.refusal += refusal;
    this.reasoning += reasoning;
    const hasCallContent = asList(property(delta, 'tool_calls'))
      .map((piece) => this.calls.accept(piece))
      .some(Boolean);
    if (text !== '' || refusal !== '') return { isContent: true, text: text || refusal };
    return { isContent: reasoning !== '' || hasCallContent };
  }

  private takeFinish(value: unknown): boolean {
    const finishReason = asText(value).toLowerCase();
    if (finishReason === '') return false;
    const failure = failedFinish[finishReason];
    if (failure !== undefined) throw failure();
    this.finishReason ??= finishReason;
    return true;
  }

  /** Counts may come on every chunk, on the last one, or twice: the last ones stand. */
  private takeUsage(usage: unknown): void {
    const promptTokens = asNumber(property(usage, 'prompt_tokens'));
    const completionTokens = asNumber(property(usage, 'completion_tokens'));
    if (promptTokens === undefined && completionTokens === undefined) return;
    const details = property(usage, 'prompt_tokens_details');
    const cacheReadTokens =
      asNumber(property(details, 'cached_tokens')) ??
      asNumber(property(usage, 'prompt_cache_hit_tokens')) ??
      0;
    const cacheWriteTokens = asNumber(property(details, 'cache_write_tokens')) ?? 0;
    this.usage = {
      inputTokens: Math.max(0, (promptTokens ?? 0) - cacheReadTokens - cacheWriteTokens),
      outputTokens: completionTokens ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
    };
  }

  private reasoningBlocks(): readonly SaidBlock[] {
    const extras = this.calls.extras();
    if (this.reasoning === '' && extras.length === 0) return [];
    const block = { type: 'reasoning', vendor: this.vendor, text: this.reasoning } as const;
    return [extras.length === 0 ? block : { ...block, opaque: { toolCallExtras: asJson(extras) } }];
  }

  private saidBlocks(): readonly SaidBlock[] {
    return [
      ...(this.text === '' ? [] : [{ type: 'text', text: this.text } as const]),
      ...(this.refusal === '' ? [] : [{ type: 'refusal', text: this.refusal } as const]),
    ];
  }

  private stopReason(hasCalls: boolean): StopReason {
    const known = stopReasons[this.finishReason ?? ''] ?? 'end';
    if (known === 'end' && hasCalls) return 'tool-use';
    if (known === 'end' && this.refusal !== '') return 'refusal';
    return known === 'tool-use' && !hasCalls ? 'end' : known;
  }
}

/** Content as a string, or as a list of text parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => asText(property(part, 'text')))
    .join('');
}

/** Came out of JSON, so it is JSON; the round trip drops the types that say less. */
function asJson(
  extras: readonly { readonly index: number; readonly content: unknown }[],
): readonly JsonObject[] {
  const parsed: readonly JsonObject[] = JSON.parse(JSON.stringify(extras)) as readonly JsonObject[];
  return parsed;
}
