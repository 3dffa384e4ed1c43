/** How large a request is before it is sent: tokens, bytes, images, pages. The vendor's own last count is the truth for what it covers. */
import type { AssistantMessage, Message } from '../../workflows/core/message';
import type {
  CountedContext,
  TextTokens,
  TokenFactors,
} from '../../workflows/core/context/token-factors';
import {
  addTextTokens,
  noTextTokens,
  totalTextTokens,
  weighTextTokens,
} from '../../workflows/core/context/token-factors';
import { perObject } from '../providers/request/per-object';
import { base64Bytes, mediaOf, sendableMedia } from '../providers/request/sendable-media';
import type { ModelRequest, ProviderWire } from '../providers/provider';
import { asList, asText, property } from '../providers/untrusted-json';
import { isNewerClaude } from '../models/model-traits';
import { countAllTokens, countTextTokens } from './count-tokens';
import { mediaTokens } from './media-tokens';

/** What is known before a request is measured. */
export interface MeasureKnown {
  /** Absent for an unknown provider, which is measured as the most expensive one. */
  readonly wire?: ProviderWire;
  /** `provider/model` of the route that will be called. */
  readonly route: string;
  /** The vendor's last count of this transcript; ignored if another route counted it. */
  readonly counted?: CountedContext;
  /** Vendor's tokens per token of ours on this route, as learned. Default: the wire's own. */
  readonly factors?: TokenFactors;
}

/** The size of a request. */
export interface RequestMeasure {
  /** Input tokens that the vendor will probably count, note included. */
  readonly tokens: number;
  /** Of those, the ones from the vendor's own count. */
  readonly countedTokens: number;
  /** Our own count of the rest, images and documents aside and no factor applied: what `learnFactors` compares with the bill. */
  readonly newText: TextTokens;
  /** Tokens of the rest's images and documents. */
  readonly newMediaTokens: number;
  /** Probable tokens of the request's note, part of `tokens`. Later requests do not have it. */
  readonly noteTokens: number;
  /** Probable tokens of the system prompt and the tools, which compaction cannot reduce. */
  readonly fixedTokens: number;
  /** Bytes of the request's body, nearly: JSON of all that is sent. */
  readonly bytes: number;
  readonly images: number;
  /** Bytes of the largest image's base64 text; 0 without images. */
  readonly largestImageBytes: number;
  /** Of all documents. */
  readonly pages: number;
  /** What a vendor's count of all of it can be. */
  readonly plausible: PlausibleCount;
  /** Messages as the Chat wire counts them: each result of a tool is one. */
  readonly entries: number;
}

/** Input tokens that a vendor's count of a request may give; beyond them it is no measurement (ADR 0047). */
interface PlausibleCount {
  /** Whatever the tokenizer. */
  readonly least: number;
  /** After the vendor's last count of the request that this one continues; 0 where that says nothing. */
  readonly leastGrown: number;
  /** A token has at least one byte. */
  readonly most: number;
}

/** The size of some messages by themselves. */
interface MessagesMeasure {
  /** Our own count, no factor applied. */
  readonly text: TextTokens;
  /** Of it, returned reasoning, which a vendor may leave out. */
  readonly thoughtTokens: number;
  readonly mediaTokens: number;
  readonly bytes: number;
  readonly images: number;
  readonly largestImageBytes: number;
  readonly pages: number;
}

/** OpenAI counts by the same table. */
const sameTable: TokenFactors = { words: 1, marks: 1, scripts: 1 };
/** Claude up to 4.6, and from 4.7 on. Source: ADR 0028, published measurements by the vendor's own counting endpoint. */
const olderClaude: TokenFactors = { words: 1.2, marks: 1.2, scripts: 1.25 };
const newerClaude: TokenFactors = { words: 1.6, marks: 1.2, scripts: 1.25 };

/** Vendor's tokens per token of ours before anything is learned; the highest if nothing is known about the provider. */
export function initialTokenFactors(wire: ProviderWire | undefined, model: string): TokenFactors {
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
 * Measures a request as it would go out now.
 *
 * Contract: pure; never throws; each message is counted once for as long as it lives. `request.messages` is the transcript in neutral form, also
 * for the text tool protocol, so that `counted.messages` points into it.
 */
export function measureRequest(request: ModelRequest, known: MeasureKnown): RequestMeasure {
  const wire = known.wire ?? 'anthropic';
  const factors = known.factors ?? initialTokenFactors(known.wire, request.model);
  const counted = usableCount(known, request.messages.length);
  const fixed = fixedOf(request, wire);
  const messages = sendableMedia(request, wire);
  const whole = measureMessages(messages, wire, request.model);
  const fresh =
    counted === undefined
      ? whole
      : measureMessages(messages.slice(counted.messages), wire, request.model);
  const note = noteText(request.note);
  const uncounted = counted === undefined ? [fresh.text, note, fixed.text] : [fresh.text, note];
  const newText = uncounted.reduce(addTextTokens);
  const countedTokens = counted?.tokens ?? 0;
  return {
    tokens: Math.ceil(countedTokens + weighTextTokens(newText, factors) + fresh.mediaTokens),
    countedTokens,
    newText,
    newMediaTokens: fresh.mediaTokens,
    noteTokens: Math.ceil(weighTextTokens(note, factors)),
    fixedTokens: Math.ceil(weighTextTokens(fixed.text, factors)),
    bytes: whole.bytes + fixed.bytes + Buffer.byteLength(request.note ?? ''),
    plausible: plausibleCount(
      counted,
      { whole, fresh, fixed },
      Math.ceil(weighTextTokens(note, factors)),
    ),
    images: whole.images,
    largestImageBytes: whole.largestImageBytes,
    pages: whole.pages,
    entries: request.messages.reduce((entries, message) => entries + entriesOf(message), 0),
  };
}

/** The measure of a request that is one text, without tools or transcript. */
export function measureText(
  text: string,
): Pick<RequestMeasure, 'tokens' | 'countedTokens' | 'plausible'> {
  const tokens = countAllTokens(text);
  const most = Buffer.byteLength(text) + mostAddedTokens;
  const least = Math.floor(leastShare.messages * tokens);
  return { tokens, countedTokens: 0, plausible: { least, leastGrown: 0, most } };
}

/** Share of our own count that any tokenizer gives at least, of messages and of tools, which vendors render shorter (ADR 0047). */
const leastShare = { messages: 0.35, fixed: 0.2 } as const;

/** The same of what is new since the vendor's last count; less new text than this says nothing (ADR 0047). */
const leastGrowth = { share: 0.5, tokens: 256 } as const;

/** Tokens that a vendor may add of its own: instructions on tools, a gateway's prompt (ADR 0047). */
const mostAddedTokens = 20_000;

function plausibleCount(
  counted: CountedContext | undefined,
  {
    whole,
    fresh,
    fixed,
  }: {
    readonly whole: MessagesMeasure;
    readonly fresh: MessagesMeasure;
    readonly fixed: FixedPart;
  },
  noteTokens: number,
): PlausibleCount {
  const spoken = totalTextTokens(whole.text) - whole.thoughtTokens;
  const grown = totalTextTokens(fresh.text) - fresh.thoughtTokens;
  const before = counted?.requestTokens ?? 0;
  const mayBeLeftOut = whole.thoughtTokens + whole.mediaTokens;
  const leastGrown = before + noteTokens + leastGrowth.share * grown - mayBeLeftOut;
  return {
    least: Math.floor(
      leastShare.messages * spoken + leastShare.fixed * totalTextTokens(fixed.text),
    ),
    leastGrown: before > 0 && grown >= leastGrowth.tokens ? Math.floor(leastGrown) : 0,
    most: whole.bytes + fixed.bytes + whole.mediaTokens + mostAddedTokens,
  };
}

function entriesOf(message: Message): number {
  return message.role === 'tool' ? message.results.length : 1;
}

function usableCount(known: MeasureKnown, messages: number): CountedContext | undefined {
  const { counted } = known;
  return counted?.route === known.route && counted.messages <= messages ? counted : undefined;
}

/** Measures messages by themselves: for cutting a transcript into pieces that fit. */
function measureMessages(
  messages: readonly Message[],
  wire: ProviderWire,
  model: string,
): MessagesMeasure {
  const measure = measureOn(`${wire}/${model}`, wire, model);
  const all = { ...nothing, text: { ...noTextTokens } };
  for (const message of messages) addMeasure(all, measure(message));
  return all;
}

/** Tokens that the vendor will probably count for these messages. */
export function probableTokens(
  messages: readonly Message[],
  known: Pick<MeasureKnown, 'wire' | 'factors'>,
  model: string,
): number {
  const { text, mediaTokens: media } = measureMessages(messages, known.wire ?? 'anthropic', model);
  return Math.ceil(
    weighTextTokens(text, known.factors ?? initialTokenFactors(known.wire, model)) + media,
  );
}

const nothing: MessagesMeasure = {
  text: noTextTokens,
  thoughtTokens: 0,
  mediaTokens: 0,
  bytes: 0,
  images: 0,
  largestImageBytes: 0,
  pages: 0,
};

type Changeable<Value> = {
  -readonly [Field in keyof Value]: Value[Field] extends object
    ? Changeable<Value[Field]>
    : Value[Field];
};

/** Adds in place: a conversation has thousands of messages, and each call adds up all of them. */
function addMeasure(sum: Changeable<MessagesMeasure>, each: MessagesMeasure): void {
  sum.text.words += each.text.words;
  sum.text.marks += each.text.marks;
  sum.text.scripts += each.text.scripts;
  sum.thoughtTokens += each.thoughtTokens;
  sum.mediaTokens += each.mediaTokens;
  sum.bytes += each.bytes;
  sum.images += each.images;
  sum.largestImageBytes = Math.max(sum.largestImageBytes, each.largestImageBytes);
  sum.pages += each.pages;
}

/** Models whose measures are remembered: images cost each one differently. */
const rememberedModels = 64;
const measures = new Map<string, (message: Message) => MessagesMeasure>();

/** What measures a message for a model, once for as long as the message lives. */
function measureOn(
  key: string,
  wire: ProviderWire,
  model: string,
): (message: Message) => MessagesMeasure {
  const known = measures.get(key);
  if (known !== undefined) return known;
  if (measures.size >= rememberedModels) measures.clear();
  const measure = perObject((message: Message) => measureMessage(message, wire, model));
  measures.set(key, measure);
  return measure;
}

function measureMessage(message: Message, wire: ProviderWire, model: string): MessagesMeasure {
  const media = mediaOf(message).filter(({ removed }) => removed !== true);
  const sizes = media.map(({ bytes }) => base64Bytes(bytes));
  const images = media.map(({ type, bytes }) => (type === 'image' ? base64Bytes(bytes) : 0));
  return {
    text: addTextTokens(textOf(message), marks(messageOverhead)),
    thoughtTokens: thoughtTokensOf(message),
    mediaTokens: media.reduce((tokens, block) => tokens + mediaTokens(block, wire, model), 0),
    bytes: sizes.reduce((sum, size) => sum + size, Buffer.byteLength(JSON.stringify(message))),
    images: media.filter(({ type }) => type === 'image').length,
    largestImageBytes: Math.max(0, ...images),
    pages: media.reduce((pages, block) => pages + (block.type === 'file' ? block.pages : 0), 0),
  };
}

function textOf(message: Message): TextTokens {
  switch (message.role) {
    case 'user':
      return sum(message.blocks, (block) =>
        block.type === 'text' ? countTextTokens(block.text) : noTextTokens,
      );
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
    case 'vendor-block':
      return countTextTokens(JSON.stringify(block.content));
    case 'reasoning': {
      const sealed = sealedTokens(block.opaque);
      return sealed === 0 ? countTextTokens(block.text) : { ...noTextTokens, words: sealed };
    }
  }
}

function thoughtTokensOf(message: Message): number {
  if (message.role !== 'assistant') return 0;
  return message.blocks.reduce(
    (tokens, block) =>
      block.type === 'reasoning' ? tokens + totalTextTokens(assistantBlockText(block)) : tokens,
    0,
  );
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

interface FixedPart {
  readonly text: TextTokens;
  readonly bytes: number;
}

/** System prompts and tools are the same at every call of a run: of a list of tools, by wire and prompt. */
const fixedParts = perObject<ModelRequest['tools'], Map<string, FixedPart>>(() => new Map());
const rememberedFixedParts = 256;

function fixedOf({ system, tools }: ModelRequest, wire: ProviderWire): FixedPart {
  const known = fixedParts(tools);
  const key = `${wire}:${system}`;
  const part = known.get(key) ?? measureFixed(system, tools, wire);
  if (known.size >= rememberedFixedParts) known.clear();
  known.set(key, part);
  return part;
}

function measureFixed(system: string, tools: ModelRequest['tools'], wire: ProviderWire): FixedPart {
  const overhead = messageOverhead + (tools.length === 0 ? 0 : toolsOverhead[wire]);
  return {
    text: [
      countTextTokens(system),
      sum(tools, (tool) => countTextTokens(JSON.stringify(tool))),
      marks(overhead),
    ].reduce(addTextTokens),
    bytes: Buffer.byteLength(JSON.stringify([system, tools])) + 512,
  };
}
