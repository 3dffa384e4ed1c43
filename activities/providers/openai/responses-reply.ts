/** Gathers a reply from a Responses stream, item by item. */
import type { StopReason } from '../../../workflows/core/model-call/ports';
import type { Usage } from '../../../workflows/core/budget/spend';
import type { ModelReply, RawToolCall } from '../provider';
import {
  BrokenStream,
  noContent,
  rawToolCall,
  ReportedInStream,
  usageOf,
  type EventMeaning,
  type SaidBlock,
  type StreamAssembly,
} from '../stream/stream-assembly';
import { asList, asNumber, asText, property } from '../untrusted-json';

interface GatheredItem {
  /** As it began, or as it ended once it is done. */
  item: unknown;
  isDone: boolean;
  text: string;
  refusal: string;
  argumentsText: string;
}

/** Reader of one Responses stream. */
export class ResponsesReplyAssembly implements StreamAssembly {
  isComplete = false;
  private readonly items = new Map<number, GatheredItem>();
  private response: unknown;

  constructor(
    private readonly vendor: string,
    private readonly requestedModel: string,
  ) {}

  accept(event: unknown): EventMeaning {
    const meaning = this.take(event);
    const isThinking = [...this.items.values()].some(isOpenThought);
    return isThinking ? { ...meaning, isThinking } : meaning;
  }

  private take(event: unknown): EventMeaning {
    switch (asText(property(event, 'type'))) {
      case 'response.output_item.added':
        return this.begin(event);
      case 'response.output_text.delta':
        return this.grow(event, 'text');
      case 'response.refusal.delta':
        return this.grow(event, 'refusal');
      case 'response.function_call_arguments.delta':
        return this.grow(event, 'argumentsText');
      case 'response.function_call_arguments.done':
        return this.settleArguments(event);
      case 'response.output_item.done':
        return this.end(event);
      case 'response.completed':
      case 'response.incomplete':
        return this.close(event);
      case 'response.failed':
      case 'response.cancelled':
        throw new ReportedInStream(property(property(event, 'response'), 'error') ?? event);
      case 'error':
        throw new ReportedInStream(property(event, 'error') ?? event);
      default:
        return otherEvent(event);
    }
  }

  partial(): { readonly said: string } {
    const said = [...this.items.values()].map(
      ({ item, text, refusal, argumentsText }) =>
        asText(property(item, 'name')) + text + refusal + argumentsText,
    );
    return { said: said.join('') };
  }

  reply(): ModelReply {
    const gathered = [...this.items.entries()]
      .sort(([left], [right]) => left - right)
      .map(([, entry]) => entry);
    const blocks: SaidBlock[] = [];
    const toolCalls: RawToolCall[] = [];
    for (const entry of gathered) {
      const said = this.saidBlocks(entry);
      if (isBlankMessage(entry, said)) dropThoughtsAtEnd(blocks);
      blocks.push(...said);
      if (!isCall(entry)) continue;
      const { item } = entry;
      const vendorId = asText(property(item, 'call_id')) || asText(property(item, 'id'));
      const call = rawToolCall(vendorId, asText(property(item, 'name')), argumentsOf(entry));
      toolCalls.push({ ...call, blocksBefore: blocks.length });
    }
    return {
      model: asText(property(this.response, 'model')) || this.requestedModel,
      blocks,
      toolCalls,
      stopReason: this.stopReason(toolCalls.length > 0, blocks),
      usage: neutralUsage(property(this.response, 'usage')),
    };
  }

  private begin(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'output_index')) ?? this.items.size;
    if (this.items.has(index)) throw new BrokenStream(`item ${index} of the stream began twice`);
    this.items.set(index, newItem(property(event, 'item')));
    return { isContent: true };
  }

  private grow(event: unknown, part: 'text' | 'refusal' | 'argumentsText'): EventMeaning {
    const piece = asText(property(event, 'delta'));
    this.itemOf(event)[part] += piece;
    if (piece === '') return noContent;
    return part === 'argumentsText' ? { isContent: true } : { isContent: true, text: piece };
  }

  private settleArguments(event: unknown): EventMeaning {
    const entry = this.itemOf(event);
    const whole = property(event, 'arguments');
    if (typeof whole === 'string' && entry.argumentsText === '') entry.argumentsText = whole;
    return { isContent: true };
  }

  private end(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'output_index')) ?? this.items.size - 1;
    const entry = this.items.get(index) ?? newItem(undefined);
    this.items.set(index, { ...entry, item: property(event, 'item'), isDone: true });
    return { isContent: true };
  }

  private close(event: unknown): EventMeaning {
    this.response = property(event, 'response');
    const failure = property(this.response, 'error');
    if (failure !== undefined && failure !== null) throw new ReportedInStream(failure);
    asList(property(this.response, 'output')).forEach((item, index) => {
      const entry = this.items.get(index) ?? newItem(item);
      if (!entry.isDone) this.items.set(index, { ...entry, item, isDone: true });
    });
    this.isComplete = true;
    return { isContent: true };
  }

  private itemOf(event: unknown): GatheredItem {
    const index = asNumber(property(event, 'output_index')) ?? this.items.size - 1;
    const entry = this.items.get(index);
    if (entry === undefined) {
      throw new BrokenStream(`a delta came for item ${index} that never began`);
    }
    return entry;
  }

  private saidBlocks(entry: GatheredItem): readonly SaidBlock[] {
    switch (asText(property(entry.item, 'type'))) {
      case 'message':
        return messageBlocks(entry);
      case 'reasoning':
        return [this.reasoningBlock(entry.item)];
      default:
        return [];
    }
  }

  private reasoningBlock(item: unknown): SaidBlock {
    const summary = asList(property(item, 'summary')).map((part) => ({
      text: asText(property(part, 'text')),
    }));
    return {
      type: 'reasoning',
      vendor: this.vendor,
      text: summary.map((part) => part.text).join('\n\n'),
      opaque: {
        id: asText(property(item, 'id')),
        encryptedContent: asText(property(item, 'encrypted_content')),
        summary,
      },
    };
  }

  private stopReason(hasCalls: boolean, blocks: readonly SaidBlock[]): StopReason {
    if (asText(property(this.response, 'status')) === 'incomplete') {
      const why = asText(property(property(this.response, 'incomplete_details'), 'reason'));
      return why === 'content_filter' ? 'filtered' : 'truncated';
    }
    if (hasCalls) return 'tool-use';
    return blocks.some((block) => block.type === 'refusal') ? 'refusal' : 'end';
  }
}

function newItem(item: unknown): GatheredItem {
  return { item, isDone: false, text: '', refusal: '', argumentsText: '' };
}

function isOpenThought({ item, isDone }: GatheredItem): boolean {
  return !isDone && asText(property(item, 'type')) === 'reasoning';
}

function isCall(entry: GatheredItem): boolean {
  return asText(property(entry.item, 'type')) === 'function_call';
}

/** True for a message that the transcript will not keep. */
function isBlankMessage({ item }: GatheredItem, said: readonly SaidBlock[]): boolean {
  const isMessage = asText(property(item, 'type')) === 'message';
  return isMessage && said.every((block) => block.text.trim() === '');
}

/** The vendor refuses a reasoning item without the item that followed it. */
function dropThoughtsAtEnd(blocks: SaidBlock[]): void {
  while (blocks.at(-1)?.type === 'reasoning') blocks.pop();
}

/** The streamed arguments, or those of the finished item if none were streamed. */
function argumentsOf(entry: GatheredItem): string {
  return entry.argumentsText || asText(property(entry.item, 'arguments'));
}

function messageBlocks(entry: GatheredItem): readonly SaidBlock[] {
  const parts = asList(property(entry.item, 'content'));
  const said = (type: string, name: string): string =>
    parts
      .filter((part) => asText(property(part, 'type')) === type)
      .map((part) => asText(property(part, name)))
      .join('');
  const text = entry.text || said('output_text', 'text');
  const refusal = entry.refusal || said('refusal', 'refusal');
  return [
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...(refusal === '' ? [] : [{ type: 'refusal', text: refusal } as const]),
  ];
}

/** Reasoning and the like is content; a mere keep-alive is not. */
function otherEvent(event: unknown): EventMeaning {
  const type = asText(property(event, 'type'));
  if (type.endsWith('.delta')) return { isContent: asText(property(event, 'delta')) !== '' };
  return { isContent: type.startsWith('response.') && type !== 'response.in_progress' };
}

function neutralUsage(usage: unknown): Usage {
  const details = property(usage, 'input_tokens_details');
  return usageOf(property(usage, 'input_tokens'), property(usage, 'output_tokens'), details);
}
