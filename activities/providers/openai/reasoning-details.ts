/** OpenRouter's `reasoning_details`: gathered from the stream, and sent back unchanged to the same model after the same prompt. */
import { createHash, type Hash } from 'node:crypto';
import type OpenAI from 'openai';
import type { JsonObject } from '../../../workflows/core/json';
import type { AssistantMessage } from '../../../workflows/core/message';
import type { ModelReply } from '../provider';
import { asList, asNumber, asObject, asText, isRecord, property } from '../untrusted-json';

/** Keys of a reasoning block: its details, their model, and the prompt that they answered. */
const detailsKey = 'reasoningDetails';
const modelKey = 'model';
const prefixKey = 'prefix';
/** The vendor's ids of the reply's calls: details name their call by them, and the transcript has other ids. */
const callIdsKey = 'callIds';

/** Texts that arrive in pieces; everything else arrives complete. */
const growing = ['text', 'summary'] as const;

/** Gathers the details of one reply. */
export class ReasoningDetails {
  private readonly details: Record<string, unknown>[] = [];

  /**
   * Takes `delta.reasoning_details`; returns whether it carried anything.
   *
   * A piece extends the last detail if that is an unsigned text of the same type and index: the pieces of one thought follow each
   * other, and its signature is last. Source: openrouter.ai, reasoning tokens, preserving reasoning blocks.
   */
  accept(pieces: unknown): boolean {
    const entries = asList(pieces).filter(isRecord);
    for (const piece of entries) {
      const last = this.details.at(-1);
      if (last !== undefined && continues(last, piece)) extend(last, piece);
      else this.details.push({ ...piece });
    }
    return entries.length > 0;
  }

  /** What a reasoning block keeps of them; undefined if there are none. */
  opaque(model: string, callIds: readonly string[]): JsonObject | undefined {
    if (this.details.length === 0) return undefined;
    const own = this.details.some((detail) => callIds.includes(asText(detail['id'])));
    const kept = {
      [detailsKey]: this.details,
      [modelKey]: model,
      ...(own ? { [callIdsKey]: callIds } : {}),
    };
    // It came from JSON; the round trip gives it the type.
    return JSON.parse(JSON.stringify(kept)) as JsonObject;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function continues(last: Fields, piece: Fields): boolean {
  const isGrowing = growing.some((field) => typeof piece[field] === 'string');
  const isSignature = typeof piece['signature'] === 'string' && piece['data'] === undefined;
  const isClosed = typeof last['signature'] === 'string' && last['signature'] !== '';
  return (
    (isGrowing || isSignature) &&
    !isClosed &&
    last['type'] === piece['type'] &&
    asNumber(last['index']) === asNumber(piece['index'])
  );
}

function extend(last: Record<string, unknown>, piece: Fields): void {
  for (const [name, value] of Object.entries(piece)) {
    const isText = growing.some((field) => field === name) && typeof value === 'string';
    if (isText) last[name] = asText(last[name]) + asText(value);
    else if (value !== null) last[name] = value;
  }
}

/** Claude's thoughts are signed together with everything before them, on any router (ADR 0016). */
function isBound(details: readonly unknown[]): boolean {
  return details.some((detail) => asText(property(detail, 'format')).startsWith('anthropic'));
}

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type SentCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall;

/** Adds details to one request, and knows the prompt so far. */
export class ReasoningReturn {
  readonly #hash: Hash;

  constructor(
    private readonly model: string,
    system: string,
    tools: readonly unknown[],
  ) {
    this.#hash = createHash('sha256').update(JSON.stringify([system, tools]));
  }

  /** Digest of the prompt so far, without details. */
  get prefix(): string {
    return this.#hash.copy().digest('base64url');
  }

  /** Adds what was built of one message. */
  add(messages: readonly ChatMessage[]): void {
    for (const message of messages)
      this.#hash.update(JSON.stringify({ ...message, reasoning_details: undefined }));
  }

  /** The details that are sent with a message, whose tool calls are sent as `calls`. Call it before `add` of that message. */
  detailsOf(
    { blocks }: AssistantMessage,
    vendor: string,
    calls: readonly SentCall[],
  ): { readonly reasoning_details?: readonly unknown[] } {
    const details = blocks.flatMap((block) => {
      if (block.type !== 'reasoning' || block.vendor !== vendor) return [];
      const { opaque = {} } = block;
      const own = asList(opaque[detailsKey]);
      const isOurs = asText(opaque[modelKey]) === this.model;
      if (!isOurs || (isBound(own) && asText(opaque[prefixKey]) !== this.prefix)) return [];
      const callIds = asList(opaque[callIdsKey]).map(asText);
      return own.map((detail) => withSentId(detail, callIds, calls));
    });
    return details.length === 0 ? {} : { reasoning_details: details };
  }
}

/** The detail, which names its call by the id of this request. */
function withSentId(
  detail: unknown,
  callIds: readonly string[],
  calls: readonly SentCall[],
): unknown {
  const index = callIds.indexOf(asText(property(detail, 'id')));
  const sent = index < 0 ? undefined : calls[index]?.id;
  return sent === undefined ? detail : { ...asObject(detail), id: sent };
}

/** The reply with its details bound to the prompt; after a note, which no later request has, bound details are dropped. */
export function withPrompt(reply: ModelReply, prefix: string, hasNote: boolean): ModelReply {
  return {
    ...reply,
    blocks: reply.blocks.map((block) => {
      if (block.type !== 'reasoning' || !isBound(asList(block.opaque?.[detailsKey]))) return block;
      const { opaque, ...bare } = block;
      return hasNote ? bare : { ...bare, opaque: { ...opaque, [prefixKey]: prefix } };
    }),
  };
}
