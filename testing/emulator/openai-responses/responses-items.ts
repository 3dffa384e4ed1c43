/** Output items of a Responses reply, whole and as the events that build them up. */
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import type { ReplyPart, ReplyStep } from '../step';
import type { ReplyContext } from '../wire';
import { deltasOf } from '../wire';

/** An event within an item. */
interface ItemEvent {
  readonly type: string;
  readonly data: JsonObject;
  readonly produced?: string;
}

/** An item as it appears, grows and ends. */
export interface StreamedItem {
  readonly added: JsonObject;
  readonly events: readonly ItemEvent[];
  readonly done: JsonObject;
}

/** One `message` item holds all neighboring text and refusal parts. */
type ItemSource =
  | { readonly type: 'message'; readonly parts: readonly ReplyPart[] }
  | { readonly type: 'single'; readonly part: ReplyPart };

function sources(reply: ReplyStep): readonly ItemSource[] {
  const found: ItemSource[] = [];
  for (const part of reply.parts) {
    const last = found.at(-1);
    if (part.type === 'tool-call' || part.type === 'reasoning') {
      found.push({ type: 'single', part });
    } else if (part.text === '') {
      continue;
    } else if (last?.type === 'message') {
      found[found.length - 1] = { type: 'message', parts: [...last.parts, part] };
    } else {
      found.push({ type: 'message', parts: [part] });
    }
  }
  return found;
}

function contentOf(part: ReplyPart, text: string): JsonObject {
  return part.type === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
}

function partEvents(
  part: Extract<ReplyPart, { text: string }>,
  itemId: string,
  index: number,
  size: number,
): readonly ItemEvent[] {
  const place = { item_id: itemId, content_index: index };
  const kind = part.type === 'refusal' ? 'refusal' : 'output_text';
  const field = part.type === 'refusal' ? 'refusal' : 'text';
  return [
    { type: 'response.content_part.added', data: { ...place, part: contentOf(part, '') } },
    ...deltasOf(part.text, size).map((delta) => ({
      type: `response.${kind}.delta`,
      data: { ...place, delta, ...(kind === 'output_text' ? { logprobs: [] } : {}) },
      produced: delta,
    })),
    { type: `response.${kind}.done`, data: { ...place, [field]: part.text } },
    { type: 'response.content_part.done', data: { ...place, part: contentOf(part, part.text) } },
  ];
}

function messageItem(
  parts: readonly ReplyPart[],
  reply: ReplyStep,
  context: ReplyContext,
): StreamedItem {
  const id = context.newId('msg_');
  const base = { id, type: 'message', role: 'assistant' };
  const spoken = parts.filter((part) => part.type !== 'tool-call');
  return {
    added: { ...base, status: 'in_progress', content: [] },
    events: spoken.flatMap((part, index) => partEvents(part, id, index, reply.charactersPerDelta)),
    done: {
      ...base,
      status: statusOf(reply),
      content: spoken.map((part) => contentOf(part, part.text)),
    },
  };
}

function statusOf(reply: ReplyStep): string {
  return reply.stop === 'max-tokens' || reply.stop === 'content-filter'
    ? 'incomplete'
    : 'completed';
}

function toolItem(
  part: Extract<ReplyPart, { type: 'tool-call' }>,
  reply: ReplyStep,
  context: ReplyContext,
): StreamedItem {
  const id = context.newId('fc_');
  const base = {
    id,
    type: 'function_call',
    call_id: part.id ?? context.newId('call_'),
    ...defined({ name: part.name }),
  };
  return {
    added: { ...base, status: 'in_progress', arguments: '' },
    events: [
      ...deltasOf(part.argumentsText, reply.charactersPerDelta).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        data: { item_id: id, delta },
        produced: delta,
      })),
      {
        type: 'response.function_call_arguments.done',
        data: {
          item_id: id,
          arguments: part.argumentsText,
          ...defined({ name: part.name }),
        },
      },
    ],
    done: { ...base, status: statusOf(reply), arguments: part.argumentsText },
  };
}

/** What the seal of a reasoning item says of the item behind it: another one, or what it led to. */
export function sealSubject(id: string, follower: 'reasoning' | 'item'): string {
  return `${id}~${follower}`;
}

function reasoningItem(
  part: Extract<ReplyPart, { type: 'reasoning' }>,
  follower: 'reasoning' | 'item',
  reply: ReplyStep,
  context: ReplyContext,
): StreamedItem {
  const id = context.newId('rs_');
  const base = { id, type: 'reasoning' };
  const sealed = { encrypted_content: context.seal.seal(sealSubject(id, follower)) };
  if (part.redacted === true || part.text === '') {
    return {
      added: { ...base, summary: [] },
      events: [],
      done: { ...base, summary: [], ...sealed },
    };
  }
  const place = { item_id: id, summary_index: 0 };
  const summary = (text: string): JsonObject => ({ type: 'summary_text', text });
  return {
    added: { ...base, summary: [] },
    events: [
      { type: 'response.reasoning_summary_part.added', data: { ...place, part: summary('') } },
      ...deltasOf(part.text, reply.charactersPerDelta).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        data: { ...place, delta },
        produced: delta,
      })),
      { type: 'response.reasoning_summary_text.done', data: { ...place, text: part.text } },
      {
        type: 'response.reasoning_summary_part.done',
        data: { ...place, part: summary(part.text) },
      },
    ],
    done: { ...base, summary: [summary(part.text)], ...sealed },
  };
}

/** The items of a reply in order. */
export function responseItems(reply: ReplyStep, context: ReplyContext): readonly StreamedItem[] {
  const all = sources(reply);
  return all.map((source, index) => {
    if (source.type === 'message') return messageItem(source.parts, reply, context);
    const { part } = source;
    if (part.type === 'tool-call') return toolItem(part, reply, context);
    if (part.type === 'reasoning') {
      const next = all[index + 1];
      const isBeforeAnother = next?.type === 'single' && next.part.type === 'reasoning';
      return reasoningItem(part, isBeforeAnother ? 'reasoning' : 'item', reply, context);
    }
    return messageItem([part], reply, context);
  });
}
