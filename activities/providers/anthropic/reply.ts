/** Gathers a reply from Anthropic's stream; arguments stay the raw text that the model wrote. */
import type { JsonObject } from '../../../workflows/core/json';
import type { Usage } from '../../../workflows/core/budget/spend';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { ModelReply, RawToolCall } from '../provider';
import { isKeptType } from '../request/vendor-blocks';
import { requireRoom } from '../stream/answer-bounds';
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
import {
  asCount,
  asList,
  asNumber,
  asObject,
  asText,
  isRecord,
  parsedJson,
  property,
} from '../untrusted-json';

interface OpenBlock {
  /** As it began. */
  readonly begun: unknown;
  readonly type: string;
  text: string;
  signature: string;
  isShut: boolean;
}

/** Kinds of deltas, and the field that holds the piece. */
const pieces: Readonly<Record<string, string>> = {
  text_delta: 'text',
  input_json_delta: 'partial_json',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
};

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
  private stopReason: string | undefined;
  private usage: Usage = noUsage;
  /** Index of the thought that is open. */
  private thought: number | undefined;

  constructor(
    private readonly vendor: string,
    private model: string,
  ) {}

  accept(event: unknown): EventMeaning {
    const meaning = this.take(event);
    return this.thought === undefined ? meaning : { ...meaning, isThinking: true };
  }

  private take(event: unknown): EventMeaning {
    const type = property(event, 'type');
    if (type !== undefined && typeof type !== 'string')
      throw new BrokenStream('an event of the stream has a type that is no text');
    switch (type) {
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
      case undefined:
      default:
        // New types of events may be left out, but not if they have a part of a call's arguments.
        if (property(property(event, 'delta'), 'partial_json') !== undefined)
          throw new BrokenStream('arguments of a tool call came in an event of an unknown type');
        return noContent;
    }
  }

  acceptWhole(body: unknown): EventMeaning | undefined {
    if (property(body, 'type') !== 'message') return undefined;
    const { content, ...message } = asObject(body) ?? {};
    const events = [
      { type: 'message_start', message },
      ...asList(content).flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: message, usage: message['usage'] },
      { type: 'message_stop' },
    ];
    const texts = events.map((event) => this.accept(event).text ?? '');
    return { isContent: true, text: texts.join('') };
  }

  partial(): { readonly usage?: Usage; readonly said: string } {
    const said = [...this.blocks.values()].map(
      ({ begun, text }) => asText(property(begun, 'name')) + text,
    );
    return { said: said.join(''), ...(this.usage === noUsage ? {} : { usage: this.usage }) };
  }

  reply(): ModelReply {
    const opened = [...this.blocks.entries()].sort(([left], [right]) => left - right);
    const blocks: SaidBlock[] = [];
    const toolCalls: RawToolCall[] = [];
    for (const [, block] of opened) {
      blocks.push(...this.saidBlock(block));
      if (block.type !== 'tool_use') continue;
      const [id, name] = [property(block.begun, 'id'), property(block.begun, 'name')];
      const call = rawToolCall(asText(id), asText(name), argumentsOf(block));
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
    this.usage = mergedUsage(this.usage, property(message, 'usage'));
    return { isContent: true };
  }

  private open(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'index')) ?? this.blocks.size;
    const begun = property(event, 'content_block');
    if (this.blocks.has(index)) throw new BrokenStream(`block ${index} of the stream began twice`);
    requireRoom(this.blocks.size);
    const type = asText(property(begun, 'type'));
    const text = asText(property(begun, 'text')) || asText(property(begun, 'thinking'));
    const signature = asText(property(begun, 'signature'));
    this.blocks.set(index, { begun, type, text, signature, isShut: false });
    this.thought = type.endsWith('thinking') ? index : undefined;
    return { isContent: true, text: type === 'text' ? text : '' };
  }

  private extend(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'index')) ?? this.blocks.size - 1;
    const block = this.blocks.get(index);
    if (block === undefined)
      throw new BrokenStream(`a delta came for block ${index} that never began`);
    const delta = property(event, 'delta');
    const type = asText(property(delta, 'type'));
    const given = property(delta, pieces[type] ?? '');
    if (type === '' || (pieces[type] !== undefined && typeof given !== 'string'))
      throw new BrokenStream(`a delta for block ${index} has no text`);
    // Servers that speak the same API may send blank text; all else is a part of the arguments.
    if (block.type === 'tool_use' && type !== 'input_json_delta' && given !== '')
      throw new BrokenStream(`a delta for the tool call in block ${index} is of another kind`);
    const piece = asText(given);
    block[type === 'signature_delta' ? 'signature' : 'text'] += piece;
    return { isContent: piece !== '', text: type === 'text_delta' ? piece : '' };
  }

  private shut(event: unknown): EventMeaning {
    const index = asNumber(property(event, 'index')) ?? this.blocks.size - 1;
    const block = this.blocks.get(index);
    if (block !== undefined) block.isShut = true;
    if (this.thought === undefined || index !== this.thought) return noContent;
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
    const isCut = stopReasons.get(this.stopReason) === 'truncated';
    if (!isCut && [...this.blocks.values()].some(isOpenCall))
      throw new BrokenStream('a tool call of the stream never ended');
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
      case 'redacted_thinking': {
        const data = asText(property(block.begun, 'data'));
        return [{ type: 'reasoning', vendor: this.vendor, text: '', opaque: { data } }];
      }
      default:
        return this.vendorBlock(block);
    }
  }

  /** A block that the vendor wants back as it is; its input streams like that of a call. */
  private vendorBlock({ begun, type, text }: OpenBlock): SaidBlock[] {
    if (type === 'tool_use' || !isKeptType(type)) return [];
    const content = {
      ...asObject(begun),
      ...(text === '' ? {} : { input: parsedJson(text) ?? {} }),
    };
    // It came from JSON; the round trip gives it the type.
    const kept = JSON.parse(JSON.stringify(content)) as JsonObject;
    return [{ type: 'vendor-block', vendor: this.vendor, content: kept }];
  }
}

/** True for a call whose end never came; complete arguments are their own end, as compatible servers leave the event out. */
function isOpenCall(block: OpenBlock): boolean {
  const { type, isShut } = block;
  return type === 'tool_use' && !isShut && parsedJson(argumentsOf(block)) === undefined;
}

/** Compatible servers that do not stream the arguments give them at the start. */
function argumentsOf({ begun, text }: OpenBlock): string {
  const input = property(begun, 'input');
  const isGiven = isRecord(input) && Object.keys(input).length > 0;
  return text === '' && isGiven ? JSON.stringify(input) : text;
}

/**
 * Later events repeat the counts or add to them, so they are cumulative; what they leave out stays, and so does the input where a
 * compatible server's last event gives it as zero.
 */
function mergedUsage(before: Usage, usage: unknown): Usage {
  if (!isRecord(usage)) return before;
  const [input, read, write] = [
    asCount(usage['input_tokens']),
    asCount(usage['cache_read_input_tokens']),
    asCount(usage['cache_creation_input_tokens']),
  ];
  const outputTokens = Math.max(asCount(usage['output_tokens']) ?? 0, before.outputTokens);
  if ((input ?? 0) + (read ?? 0) + (write ?? 0) === 0) return { ...before, outputTokens };
  return {
    inputTokens: input ?? before.inputTokens,
    outputTokens,
    cacheReadTokens: read ?? before.cacheReadTokens,
    cacheWriteTokens: write ?? before.cacheWriteTokens,
  };
}
