/** How large a request is before it is sent: tokens, bytes, messages. The vendor's own last count is the truth for what it covers. */
import { createHash } from 'node:crypto';
import type { AssistantMessage, Message } from '../../workflows/core/message';
import type { TextTokens, TokenFactors } from '../../workflows/core/context/token-factors';
import {
  addTextTokens,
  noTextTokens,
  weighTextTokens,
} from '../../workflows/core/context/token-factors';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
import type { ModelRequest, Provider, ProviderWire } from '../providers/provider';
import { asList, asText, property } from '../providers/untrusted-json';
import { isNewerClaude } from '../models/model-traits';
import { countTextTokens } from './count-tokens';

/** A call's request in neutral form, and its target. */
export interface MeasuredCall {
  /** `messages` is the transcript itself, even if the text tool protocol sends another form of it. */
  readonly request: ModelRequest;
  /** `provider/model` of the route that will be called. */
  readonly route: string;
  /** Without a wire the provider is unknown, and measured as the most expensive one. */
  readonly provider: Pick<Provider, 'wire'>;
  /** The vendor's last count, ignored if it is of another route, and the factors that were learned on this one. */
  readonly input: Pick<CallModelInput, 'counted' | 'tokenFactors'>;
}

/** The size of a request. */
export interface RequestMeasure {
  /** Input tokens that the vendor will probably count, note included. */
  readonly tokens: number;
  /** Of those, the ones from the vendor's own count. */
  readonly countedTokens: number;
  /** Our own count of the rest, no factor applied: what `learnFactors` compares with the bill. */
  readonly newText: TextTokens;
  /** Probable tokens of the request's note, part of `tokens`. Later requests do not have it. */
  readonly noteTokens: number;
  /** Probable tokens of the system prompt and the tools, which compaction cannot reduce. */
  readonly fixedTokens: number;
  /** Bytes of the request's body, nearly: JSON of all that is sent. */
  readonly bytes: number;
  /** Messages as the Chat wire counts them: each result of a tool is one. */
  readonly entries: number;
}

/** The size of a part of a request. */
interface Size {
  /** Our own count, no factor applied. */
  readonly text: TextTokens;
  readonly bytes: number;
}

/** OpenAI counts by the same table. */
const sameTable: TokenFactors = { words: 1, marks: 1, scripts: 1 };
/** Claude up to 4.6, and from 4.7 on. Source: ADR 0028, published measurements by the vendor's own counting endpoint. */
const olderClaude: TokenFactors = { words: 1.2, marks: 1.2, scripts: 1.25 };
const newerClaude: TokenFactors = { words: 1.6, marks: 1.2, scripts: 1.25 };

/** Vendor's tokens per token of ours: as learned on this route, or the highest if nothing is known about the provider. */
export function tokenFactorsOf(
  wire: ProviderWire | undefined,
  model: string,
  learned?: TokenFactors,
): TokenFactors {
  if (learned !== undefined) return learned;
  if (wire === 'responses' || wire === 'chat') return sameTable;
  return wire === 'anthropic' && !isNewerClaude(model) ? olderClaude : newerClaude;
}

/** Tokens by which each message is wrapped (OpenAI's cookbook: 3, and 3 that begin the reply). */
const messageOverhead = 3;
/** Tokens by which each further block of a message is wrapped. */
const blockOverhead = 3;
/** Tokens that teach the model that it has tools at all (Anthropic's tool use page: 290 to 346 with `auto`). */
const toolsOverhead: Readonly<Record<ProviderWire, number>> = {
  anthropic: 300,
  responses: 12,
  chat: 12,
};

/**
 * Measures the request of a call as it would go out now.
 *
 * Contract: pure but for its bounded memory of counts; never throws. `request.messages` is the transcript in neutral form, also
 * for the text tool protocol, so that `counted.messages` points into it.
 */
export function measureCall(call: MeasuredCall): RequestMeasure {
  const { request, route, provider, input } = call;
  const { messages } = request;
  const factors = tokenFactorsOf(provider.wire, request.model, input.tokenFactors);
  const isUsable = input.counted?.route === route && input.counted.messages <= messages.length;
  const counted = isUsable ? input.counted : undefined;
  const sizes = messages.map(messageSize);
  const fixed = fixedSize(request, provider.wire);
  const note = noteText(request.note);
  const fresh = [...sizes.slice(counted?.messages ?? 0).map(({ text }) => text), note];
  const newText = fresh.reduce(addTextTokens, counted === undefined ? fixed.text : noTextTokens);
  const countedTokens = counted?.tokens ?? 0;
  return {
    tokens: Math.ceil(countedTokens + weighTextTokens(newText, factors)),
    countedTokens,
    newText,
    noteTokens: Math.ceil(weighTextTokens(note, factors)),
    fixedTokens: Math.ceil(weighTextTokens(fixed.text, factors)),
    bytes: sizes.reduce(
      (all, { bytes }) => all + bytes,
      fixed.bytes + Buffer.byteLength(request.note ?? ''),
    ),
    entries: messages.reduce((all, message) => all + entriesOf(message), 0),
  };
}

function entriesOf(message: Message): number {
  return message.role === 'tool' ? message.results.length : 1;
}

/** Tokens that the vendor will probably count for these messages. */
export function probableTokens(messages: readonly Message[], factors: TokenFactors): number {
  const texts = messages.map((message) => messageSize(message).text);
  return Math.ceil(weighTextTokens(texts.reduce(addTextTokens, noTextTokens), factors));
}

/** Counts remembered; some hundred bytes each. */
const rememberedCounts = 20_000;
const remembered = new Map<string, Size>();

/** The size of a part, counted once. The oldest is forgotten first. */
function sizeOf(part: unknown, count: () => TextTokens): Size {
  const json = JSON.stringify(part);
  const key = createHash('sha256').update(json).digest('base64');
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size >= rememberedCounts) remembered.delete(oldest);
  const size = { text: count(), bytes: Buffer.byteLength(json) };
  remembered.set(key, size);
  return size;
}

function messageSize(message: Message): Size {
  return sizeOf(message, () => addTextTokens(textOf(message), marks(messageOverhead)));
}

function textOf(message: Message): TextTokens {
  switch (message.role) {
    case 'user':
      return sum(message.blocks, ({ text }) => countTextTokens(text));
    case 'assistant':
      return sum(message.blocks, assistantBlockText);
    case 'tool':
      return sum(message.results, (result) =>
        addTextTokens(countTextTokens(result.content), marks(idTokens)),
      );
  }
}

/** Tokens of the id that joins a call and its result. */
const idTokens = 8;

/** Tokens that are not words. */
function marks(tokens: number): TextTokens {
  return { ...noTextTokens, marks: tokens };
}

function assistantBlockText(block: AssistantMessage['blocks'][number]): TextTokens {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return countTextTokens(block.text);
    case 'tool-call':
      return addTextTokens(
        countTextTokens(`${block.name}${JSON.stringify(block.input)}`),
        marks(idTokens),
      );
    case 'reasoning': {
      const sealed = sealedTokens(block.opaque);
      return sealed === 0 ? countTextTokens(block.text) : { ...noTextTokens, words: sealed };
    }
  }
}

/** Characters of base64 per token of encrypted reasoning: 4/3 per byte, 4 bytes per token. */
const sealedCharactersPerToken = 16 / 3;

/** Sealed reasoning is billed by its content, which only its length indicates. */
function sealedTokens(opaque: { readonly [key: string]: unknown } | undefined): number {
  const sealed = [
    opaque?.['encryptedContent'] ?? opaque?.['data'],
    ...asList(opaque?.['reasoningDetails']).map((detail) => property(detail, 'data')),
  ];
  const characters = sealed.reduce<number>((total, part) => total + asText(part).length, 0);
  return Math.ceil(characters / sealedCharactersPerToken);
}

function sum<Entry>(entries: readonly Entry[], tokensOf: (entry: Entry) => TextTokens): TextTokens {
  return entries.map(tokensOf).reduce(addTextTokens, marks(entries.length * blockOverhead));
}

function noteText(note: string | undefined): TextTokens {
  if (note === undefined || note.trim() === '') return noTextTokens;
  return addTextTokens(countTextTokens(note), marks(messageOverhead));
}

/** Bytes of a request's other fields. */
const otherBytes = 512;

/** The system prompt and the tools, the same at every call of a run. */
function fixedSize({ system, tools }: ModelRequest, wire: ProviderWire = 'anthropic'): Size {
  const { text, bytes } = sizeOf([system, tools], () =>
    addTextTokens(
      countTextTokens(system),
      sum(tools, (tool) => countTextTokens(JSON.stringify(tool))),
    ),
  );
  const overhead = messageOverhead + (tools.length === 0 ? 0 : toolsOverhead[wire]);
  return { text: addTextTokens(text, marks(overhead)), bytes: bytes + otherBytes };
}
