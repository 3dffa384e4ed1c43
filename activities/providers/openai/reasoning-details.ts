/** OpenRouter's `reasoning_details`: gathered from the stream, and sent back unchanged to the same model after the same prompt. */
import type OpenAI from 'openai';
import type { ReasoningBlock } from '../../../workflows/core/message';
import { requireRoom } from '../stream/answer-bounds';
import { asList, asNumber, asObject, asText, isRecord, property } from '../untrusted-json';

/** Keys of a reasoning block: its details, and their model. */
const detailsKey = 'reasoningDetails';
const modelKey = 'model';
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
      else {
        requireRoom(this.details.length);
        this.details.push({ ...piece });
      }
    }
    return entries.length > 0;
  }

  /** What a reasoning block keeps of them. */
  opaque(model: string, callIds: readonly string[]): Fields {
    if (this.details.length === 0) return {};
    const own = this.details.some((detail) => callIds.includes(asText(detail['id'])));
    const kept = { [detailsKey]: this.details, [modelKey]: model };
    return own ? { ...kept, [callIdsKey]: callIds } : kept;
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
export function isBound({ opaque }: ReasoningBlock): boolean {
  const details = asList(opaque?.[detailsKey]);
  return details.some((detail) => asText(property(detail, 'format')).startsWith('anthropic'));
}

type SentCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall;

/** The details of some thoughts that go back to a model, with a message whose tool calls are sent as `calls`. */
export function sentDetails(
  thoughts: readonly ReasoningBlock[],
  model: string,
  calls: readonly SentCall[],
): readonly unknown[] {
  return thoughts.flatMap(({ opaque = {} }) => {
    if (asText(opaque[modelKey]) !== model) return [];
    const callIds = asList(opaque[callIdsKey]).map(asText);
    return asList(opaque[detailsKey]).map((detail) => withSentId(detail, callIds, calls));
  });
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
