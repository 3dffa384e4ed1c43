/** Appends tool results and people's texts to the transcript before a model call. */
import { z } from 'zod';
import type { Head, Message, ToolResultBlock } from '../../workflows/core/message';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
import type { PendingResult } from '../../workflows/core/tools/ports';
import { InfraException } from '../lifecycle/infra-exception';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { mediaShape } from '../stores/content/message-shape';
import type { Store } from '../stores/store';
import { answerParts, saidBlocks } from './said-blocks';

const storedResult = z.object({
  content: z.string(),
  isError: z.boolean(),
  blob: z.string().exactOptional(),
  media: z.array(mediaShape).readonly().exactOptional(),
});

/** A result as the model reads it: first what a person changed in the call. */
export async function resultBlock(store: Store, pending: PendingResult): Promise<ToolResultBlock> {
  const block = await contentBlock(store, pending);
  const { notice } = pending;
  return notice === undefined
    ? block
    : { ...block, content: `${stripHidden(notice)}\n${block.content}` };
}

async function contentBlock(store: Store, pending: PendingResult): Promise<ToolResultBlock> {
  const { toolCallId, name, isError, attachments = [] } = pending;
  if (pending.result === undefined) {
    const answer = await answerParts(store, pending.text ?? '(no output)', attachments);
    return { type: 'tool-result', toolCallId, name, ...answer, isError };
  }
  const blob = store.recentBlob(pending.result) ?? (await store.getBlob(pending.result));
  const stored: unknown = JSON.parse(blob.toString('utf8'));
  const { data } = storedResult.safeParse(stored);
  if (data !== undefined) return { type: 'tool-result', toolCallId, name, ...data };
  throw new InfraException({
    code: 'store_corrupt',
    message: `The stored result ${pending.result} of tool call ${toolCallId} is not a valid tool result.`,
  });
}

/**
 * The transcript with everything since the last model call, which `writer` appends: the store, or a batch of it.
 *
 * Contract: idempotent: the same input gives the same head, however often an attempt is repeated.
 */
export async function appendPending(
  store: Store,
  input: Pick<CallModelInput, 'head' | 'pendingResults' | 'runtimeResults' | 'userTexts'>,
  writer: Pick<Store, 'appendNode'> = store,
): Promise<Head> {
  const messages: Message[] = [];
  const results = input.pendingResults ?? [];
  if (results.length > 0)
    messages.push({
      role: 'tool',
      results: await Promise.all(results.map((pending) => resultBlock(store, pending))),
    });
  for (const { pending, introduction } of input.runtimeResults ?? []) {
    const { content, blob } = await resultBlock(store, pending);
    const text = `${introduction}\n${content}`;
    messages.push({
      role: 'user',
      blocks: [{ type: 'text', text: stripHidden(text) }],
      ...(blob !== undefined && { refs: [blob] }),
    });
  }
  for (const text of input.userTexts ?? [])
    messages.push({ role: 'user', ...(await saidBlocks(store, text)) });
  return messages.length === 0 ? input.head : writer.appendNode(input.head, messages);
}
