/** Gathers a reply from a Responses stream, item by item. */
import type { StopReason } from '../../../workflows/core/model-call/ports';
import type { Usage } from '../../../workflows/core/budget/spend';
import type { ModelReply, RawToolCall } from '../provider';
import { requireRoom } from '../stream/answer-bounds';
import {
  answerBlocks,
  BrokenStream,
  rawToolCall,
  ReportedInStream,
  usageOf,
  type EventMeaning,
  type SaidBlock,
  type StreamAssembly,
} from '../stream/stream-assembly';
import { asList, asNumber, asObject, asText, property } from '../untrusted-json';

interface GatheredItem {
  /** As it began, or whole once it is done. */
  readonly item: unknown;
  readonly isDone: boolean;
  /** Arguments of a call as their own closing event gave them, else the pieces so far. */
  readonly argumentsText?: string;
  /** Text of a message, in its pieces. */
  readonly text?: string;
  /** Whether a piece came that cannot be read. */
  readonly hasLostPiece?: boolean;
}

/** Reader of one Responses stream. */
export class ResponsesReplyAssembly implements StreamAssembly {
  isComplete = false;
  private readonly items = new Map<number, GatheredItem>();
  private response: unknown;
  private said = '';

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
    switch (typeOf(event)) {
      case 'response.output_item.added':
        return this.begin(event);
      case 'response.output_text.delta':
        return this.grow(event, 'text');
      case 'response.refusal.delta':
        return this.grow(event, 'refusal');
      case 'response.function_call_arguments.delta':
        return this.grow(event, 'arguments');
      case 'response.function_call_arguments.done':
        return this.replaceArguments(event);
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
        return this.takeOther(event);
    }
  }

  acceptWhole(body: unknown): EventMeaning | undefined {
    if (property(body, 'object') !== 'response') return undefined;
    return this.accept({ type: `response.${asText(property(body, 'status'))}`, response: body });
  }

  partial(): { readonly said: string } {
    return { said: this.said };
  }

  reply(): ModelReply {
    const items = [...this.items.entries()]
      .sort(([left], [right]) => left - right)
      .map(([, gathered]) => withPieces(gathered));
    const blocks: SaidBlock[] = [];
    const toolCalls: RawToolCall[] = [];
    for (const item of items) {
      const said = this.saidBlocks(item);
      if (isBlankMessage(item, said)) dropThoughtsAtEnd(blocks);
      blocks.push(...said);
      if (typeOf(item) !== 'function_call') continue;
      const vendorId = asText(property(item, 'call_id')) || asText(property(item, 'id'));
      const [name, text] = [asText(property(item, 'name')), asText(property(item, 'arguments'))];
      toolCalls.push({ ...rawToolCall(vendorId, name, text), blocksBefore: blocks.length });
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
    requireRoom(this.items.size);
    const item = property(event, 'item');
    this.items.set(index, { item, isDone: false });
    this.said += asText(property(item, 'name'));
    return { isContent: true };
  }

  /** The number of an event's item; one without a number belongs to the newest. */
  private indexOf(event: unknown): number {
    return asNumber(property(event, 'output_index')) ?? this.items.size - 1;
  }

  private grow(event: unknown, what: 'text' | 'refusal' | 'arguments'): EventMeaning {
    const index = this.indexOf(event);
    const gathered = this.items.get(index);
    if (gathered === undefined)
      throw new BrokenStream(`a delta came for item ${index} that never began`);
    const text = asText(property(event, 'delta'));
    this.said += text;
    if (what === 'arguments') {
      const argumentsText = (gathered.argumentsText ?? '') + text;
      const isLost = typeof property(event, 'delta') !== 'string';
      const hasLostPiece = isLost || gathered.hasLostPiece === true;
      this.items.set(index, { ...gathered, argumentsText, hasLostPiece });
    }
    if (what === 'text') this.items.set(index, { ...gathered, text: (gathered.text ?? '') + text });
    return { isContent: text !== '', text: what === 'arguments' ? '' : text };
  }

  /** A piece of an unknown kind is missing from what it belongs to. */
  private takeOther(event: unknown): EventMeaning {
    const index = this.indexOf(event);
    const gathered = this.items.get(index);
    if (typeOf(event).endsWith('.delta') && gathered?.isDone === false)
      this.items.set(index, { ...gathered, hasLostPiece: true });
    return otherEvent(event);
  }

  /** The whole arguments, which replace their pieces. */
  private replaceArguments(event: unknown): EventMeaning {
    const index = this.indexOf(event);
    const text = asText(property(event, 'arguments'));
    const gathered = this.items.get(index);
    if (text !== '' && gathered !== undefined)
      this.items.set(index, { ...gathered, argumentsText: text, hasLostPiece: false });
    return { isContent: true };
  }

  private end(event: unknown): EventMeaning {
    const index = this.indexOf(event);
    requireRoom(this.items.size);
    const gathered = this.items.get(index);
    this.items.set(index, { ...gathered, item: property(event, 'item'), isDone: true });
    return { isContent: true };
  }

  private close(event: unknown): EventMeaning {
    this.response = property(event, 'response');
    const failure = property(this.response, 'error');
    if (failure !== undefined && failure !== null) throw new ReportedInStream(failure);
    asList(property(this.response, 'output')).forEach((item, index) => {
      const gathered = this.items.get(index);
      if (gathered?.isDone !== true) this.items.set(index, { ...gathered, item, isDone: true });
    });
    const isOpen = [...this.items.values()].some(({ isDone }) => !isDone);
    if (isOpen && typeOf(event) === 'response.completed')
      throw new BrokenStream('an item of the stream never ended');
    if ([...this.items.values()].some(isMissingArguments))
      throw new BrokenStream("a part of a call's arguments cannot be read");
    this.isComplete = true;
    return { isContent: true };
  }

  private saidBlocks(item: unknown): readonly SaidBlock[] {
    switch (typeOf(item)) {
      case 'message':
        return messageBlocks(item);
      case 'reasoning':
        return [this.reasoningBlock(item)];
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

function typeOf(item: unknown): string {
  return asText(property(item, 'type'));
}

/** The final item decides; only arguments and content that it leaves out are those of the events before it. Source: can1357/oh-my-pi#5146. */
function withPieces({ item, argumentsText = '', text = '' }: GatheredItem): unknown {
  switch (typeOf(item)) {
    case 'function_call':
      return leavesArgumentsOut(item) ? { ...asObject(item), arguments: argumentsText } : item;
    case 'message':
      return text !== '' && asList(property(item, 'content')).length === 0
        ? { ...asObject(item), content: [{ type: 'output_text', text }] }
        : item;
    default:
      return item;
  }
}

/** True for a call whose arguments are put together from pieces, one of which is missing. */
function isMissingArguments({ item, hasLostPiece }: GatheredItem): boolean {
  return hasLostPiece === true && typeOf(item) === 'function_call' && leavesArgumentsOut(item);
}

function leavesArgumentsOut(item: unknown): boolean {
  return asText(property(item, 'arguments')).trim() === '';
}

function isOpenThought({ item, isDone }: GatheredItem): boolean {
  return !isDone && typeOf(item) === 'reasoning';
}

/** True for a message that the transcript will not keep. */
function isBlankMessage(item: unknown, said: readonly SaidBlock[]): boolean {
  return (
    typeOf(item) === 'message' &&
    said.every((block) => block.type !== 'vendor-block' && block.text.trim() === '')
  );
}

/** The vendor refuses a reasoning item without the item that followed it. */
function dropThoughtsAtEnd(blocks: SaidBlock[]): void {
  while (blocks.at(-1)?.type === 'reasoning') blocks.pop();
}

function messageBlocks(item: unknown): readonly SaidBlock[] {
  const parts = asList(property(item, 'content'));
  const said = (type: string, name: string): string =>
    parts
      .filter((part) => typeOf(part) === type)
      .map((part) => asText(property(part, name)))
      .join('');
  return answerBlocks(said('output_text', 'text'), said('refusal', 'refusal'));
}

/** Reasoning and the like is content; a mere keep-alive is not. */
function otherEvent(event: unknown): EventMeaning {
  const type = typeOf(event);
  if (type.endsWith('.delta')) return { isContent: asText(property(event, 'delta')) !== '' };
  return { isContent: type.startsWith('response.') && type !== 'response.in_progress' };
}

function neutralUsage(usage: unknown): Usage {
  const details = property(usage, 'input_tokens_details');
  const [input, output] = [property(usage, 'input_tokens'), property(usage, 'output_tokens')];
  return usageOf({ input, output, total: property(usage, 'total_tokens'), details });
}
