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

type SpokenPart = Extract<ReplyPart, { type: 'text' | 'refusal' }>;

/** One `message` item holds all neighboring text and refusal parts. */
type ItemSource = Exclude<ReplyPart, SpokenPart> | readonly SpokenPart[];

function sources(reply: ReplyStep): readonly ItemSource[] {
  const found: ItemSource[] = [];
  for (const part of reply.parts) {
    const last = found.at(-1);
    if (part.type === 'tool-call' || part.type === 'reasoning') found.push(part);
    else if (part.text === '') continue;
    else if (isSpoken(last)) found.splice(-1, 1, [...last, part]);
    else found.push([part]);
  }
  return found;
}

function isSpoken(source: ItemSource | undefined): source is readonly SpokenPart[] {
  return Array.isArray(source);
}

function contentOf(part: SpokenPart, text: string): JsonObject {
  return part.type === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
}

function partEvents(
  part: SpokenPart,
  itemId: string,
  index: number,
  size: number,
): readonly ItemEvent[] {
  const place = { item_id: itemId, content_index: index };
  const [kind, field] = part.type === 'refusal' ? ['refusal', 'refusal'] : ['output_text', 'text'];
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
  spoken: readonly SpokenPart[],
  reply: ReplyStep,
  context: ReplyContext,
): StreamedItem {
  const id = context.newId('msg_');
  const base = { id, type: 'message', role: 'assistant' };
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
  const added = { ...base, summary: [] };
  if (part.redacted === true || part.text === '')
    return { added, events: [], done: { ...added, ...sealed } };
  const place = { item_id: id, summary_index: 0 };
  const summary = (text: string): JsonObject => ({ type: 'summary_text', text });
  const event = (name: string, data: JsonObject, produced?: string): ItemEvent => ({
    type: `response.reasoning_summary_${name}`,
    data: { ...place, ...data },
    ...defined({ produced }),
  });
  return {
    added,
    events: [
      event('part.added', { part: summary('') }),
      ...deltasOf(part.text, reply.charactersPerDelta).map((delta) =>
        event('text.delta', { delta }, delta),
      ),
      event('text.done', { text: part.text }),
      event('part.done', { part: summary(part.text) }),
    ],
    done: { ...base, summary: [summary(part.text)], ...sealed },
  };
}

/** The items of a reply in order. */
export function responseItems(reply: ReplyStep, context: ReplyContext): readonly StreamedItem[] {
  const all = sources(reply);
  return all.map((source, index) => {
    if (isSpoken(source)) return messageItem(source, reply, context);
    if (source.type === 'tool-call') return toolItem(source, reply, context);
    const next = all[index + 1];
    const follower = next !== undefined && 'type' in next && next.type === 'reasoning';
    return reasoningItem(source, follower ? 'reasoning' : 'item', reply, context);
  });
}
