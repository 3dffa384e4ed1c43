/** Gathers a reply from Anthropic's stream; arguments stay the raw text that the model wrote. */
import type { Usage } from '../../../workflows/core/budget/spend';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { ModelReply, RawToolCall } from '../provider';
import {
  BrokenStream,
  noContent,
  rawToolCall,
  ReportedInStream,
  stopReasonsBy,
  withCalls,
  type EventMeaning,
  type SaidBlock,
  type StreamAssembly,
} from '../stream/stream-assembly';
import { asNumber, asObject, asText, isRecord, property } from '../untrusted-json';

interface OpenBlock {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  /** Complete arguments given at the start of a block, by compatible servers that do not stream them. */
  readonly input: unknown;
  text: string;
  signature: string;
  readonly data: string;
}

const stopReasons = stopReasonsBy({
  end: 'end_turn stop_sequence',
  'tool-use': 'tool_use',
  truncated: 'max_tokens',
  'context-full': 'model_context_window_exceeded',
  refusal: 'refusal',
  pause: 'pause_turn',
});

/** Reader of one Messages stream. */
export class AnthropicReplyAssembly implements StreamAssembly {
  isComplete = false;
  private readonly blocks = new Map<number, OpenBlock>();
  private model: string;
  private stopReason: string | undefined;
  private usage: Usage = noUsage;
  private hasUsage = false;
  /** Index of the thought that is open. */
  private thought: number | undefined;

  constructor(
    private readonly vendor: string,
    requestedModel: string,
  ) {
    this.model = requestedModel;
  }

  accept(event: unknown): EventMeaning {
    const meaning = this.take(event);
    return this.thought === undefined ? meaning : { ...meaning, isThinking: true };
  }

  private take(event: unknown): EventMeaning {
    switch (asText(property(event, 'type'))) {
      case 'message_start':
        return this.start(property(event, 'message'));
      case 'content_block_start':
        return this.open(event);
      case 'content_block_delta':
        return this.extend(event);
      case 'content_block_stop':
        return this.shut(event);
      case 'message_delta':
        return this.finish(event);
      case 'message_stop':
        return this.close();
      case 'error':
        throw new ReportedInStream(property(event, 'error') ?? event);
      default:
        return noContent;
    }
  }

  partial(): { readonly usage?: Usage; readonly said: string } {
    const said = [...this.blocks.values()].map((block) => block.name + block.text).join('');
    return this.hasUsage ? { usage: this.usage, said } : { said };
  }

  reply(): ModelReply {
    const opened = [...this.blocks.entries()].sort(([left], [right]) => left - right);
    const blocks: SaidBlock[] = [];
    const toolCalls: RawToolCall[] = [];
    for (const [, block] of opened) {
      blocks.push(...this.saidBlock(block));
      if (block.type !== 'tool_use') continue;
      const call = rawToolCall(block.id, block.name, argumentsOf(block));
      toolCalls.push({ ...call, blocksBefore: blocks.length });
    }
    return {
      model: this.model,
      blocks,
      toolCalls,
      // A stop reason that is new to us ends the turn: its blocks are whole, since the closing event has arrived.
      stopReason: withCalls(stopReasons.get(this.stopReason ?? '') ?? 'end', toolCalls.length > 0),
      usage: this.usage,
    };
  }

  private start(message: unknown): EventMeaning {
    this.model = asText(property(message, 'model')) || this.model;
    const usage = property(message, 'usage');
    this.hasUsage = isRecord(usage);
    this.usage = mergedUsage(this.usage, usage);
    return { isContent: true };
  }

  private open(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'index')) ?? this.blocks.size;
    const block = asObject(property(event, 'content_block')) ?? {};
    if (this.blocks.has(index)) throw new BrokenStream(`block ${index} of the stream began twice`);
    const opened: OpenBlock = {
      type: asText(block['type']),
      id: asText(block['id']),
      name: asText(block['name']),
      input: block['input'],
      text: asText(block['text']) || asText(block['thinking']),
      signature: asText(block['signature']),
      data: asText(block['data']),
    };
    this.blocks.set(index, opened);
    this.thought = opened.type.endsWith('thinking') ? index : undefined;
    return opened.type === 'text' && opened.text !== ''
      ? { isContent: true, text: opened.text }
      : { isContent: true };
  }

  private extend(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'index')) ?? this.blocks.size - 1;
    const block = this.blocks.get(index);
    const delta = property(event, 'delta');
    if (block === undefined)
      throw new BrokenStream(`a delta came for block ${index} that never began`);
    switch (asText(property(delta, 'type'))) {
      case 'text_delta':
        return grown(block, asText(property(delta, 'text')), true);
      case 'input_json_delta':
        return grown(block, asText(property(delta, 'partial_json')), false);
      case 'thinking_delta':
        return grown(block, asText(property(delta, 'thinking')), false);
      case 'signature_delta':
        block.signature += asText(property(delta, 'signature'));
        return { isContent: true };
      default:
        return noContent;
    }
  }

  private shut(event: unknown): EventMeaning {
    if (this.thought === undefined || asNumber(property(event, 'index')) !== this.thought)
      return noContent;
    this.thought = undefined;
    return { isContent: true };
  }

  private finish(event: unknown): EventMeaning {
    const stopReason = asText(property(property(event, 'delta'), 'stop_reason'));
    if (stopReason !== '') this.stopReason = stopReason;
    this.usage = mergedUsage(this.usage, property(event, 'usage'));
    return { isContent: true };
  }

  private close(): EventMeaning {
    if (this.stopReason === undefined) {
      throw new BrokenStream('the stream ended without a stop reason');
    }
    this.isComplete = true;
    return { isContent: true };
  }

  private saidBlock(block: OpenBlock): SaidBlock[] {
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [{ type: 'text', text: block.text }];
      case 'thinking':
        return [
          {
            type: 'reasoning',
            vendor: this.vendor,
            text: block.text,
            opaque: { signature: block.signature },
          },
        ];
      case 'redacted_thinking':
        return [{ type: 'reasoning', vendor: this.vendor, text: '', opaque: { data: block.data } }];
      default:
        return [];
    }
  }
}

function grown(block: OpenBlock, piece: string, isAnswer: boolean): EventMeaning {
  block.text += piece;
  if (piece === '') return noContent;
  return isAnswer ? { isContent: true, text: piece } : { isContent: true };
}

function argumentsOf(block: OpenBlock): string {
  const given = isRecord(block.input) && Object.keys(block.input).length > 0;
  return block.text === '' && given ? JSON.stringify(block.input) : block.text;
}

/** Later events repeat the counts or add to them; what they leave out stays. */
function mergedUsage(before: Usage, usage: unknown): Usage {
  return {
    inputTokens: asNumber(property(usage, 'input_tokens')) ?? before.inputTokens,
    outputTokens: asNumber(property(usage, 'output_tokens')) ?? before.outputTokens,
    cacheReadTokens: asNumber(property(usage, 'cache_read_input_tokens')) ?? before.cacheReadTokens,
    cacheWriteTokens:
      asNumber(property(usage, 'cache_creation_input_tokens')) ?? before.cacheWriteTokens,
  };
}
