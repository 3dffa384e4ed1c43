/** Gives a request the bytes of its images and documents: a transcript only names them (ADR 0056). */
import type { MediaBlock, Message } from '../../workflows/core/message';
import { base64Bytes, mediaIn, mediaOf } from '../providers/request/sendable-media';
import type { Store } from '../stores/store';

/** Bytes of base64 that a worker keeps in memory between requests: a run sends the same images in each. */
const mostKeptBytes = 64 * 1024 * 1024;

interface Loaded {
  readonly message: Message;
  readonly bytes: number;
}

/** Messages with their bytes, those used last at the end. A message names content by its hash, so that none is ever stale. */
const kept = new Map<Message, Loaded>();
let keptBytes = 0;

function keep(message: Message, loaded: Loaded): void {
  if (loaded.bytes > mostKeptBytes) return;
  // Another request may have loaded the same message meanwhile.
  keptBytes += loaded.bytes - (kept.get(message)?.bytes ?? 0);
  kept.set(message, loaded);
  for (const [oldest, { bytes }] of kept) {
    if (keptBytes <= mostKeptBytes) return;
    kept.delete(oldest);
    keptBytes -= bytes;
  }
}

function recall(message: Message): Loaded | undefined {
  const known = kept.get(message);
  if (known === undefined) return undefined;
  kept.delete(message);
  kept.set(message, known);
  return known;
}

async function withData<Block extends MediaBlock>(
  store: Pick<Store, 'getBlob'>,
  block: Block,
): Promise<Block> {
  if (block.removed === true || block.data !== undefined) return block;
  return { ...block, data: (await store.getBlob(block.ref)).toString('base64') };
}

async function load(store: Pick<Store, 'getBlob'>, message: Message): Promise<Message> {
  if (message.role === 'user') {
    const blocks = await Promise.all(
      message.blocks.map(async (block) => (block.type === 'text' ? block : withData(store, block))),
    );
    return { ...message, blocks };
  }
  if (message.role === 'assistant') return message;
  const results = await Promise.all(
    message.results.map(async (result) =>
      result.media === undefined
        ? result
        : {
            ...result,
            media: await Promise.all(result.media.map((block) => withData(store, block))),
          },
    ),
  );
  return { ...message, results };
}

/**
 * The messages with the bytes of their media.
 *
 * Contract: messages without media are the same objects; the others are the same from request to request as long as memory allows.
 * Errors: `store_corrupt` for bytes that the store no longer has, or has changed.
 */
export async function withMediaData(
  store: Pick<Store, 'getBlob'>,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  if (mediaIn(messages).length === 0) return messages;
  const whole: Message[] = [];
  for (const message of messages) {
    const media = mediaOf(message);
    const known = media.length === 0 ? { message } : recall(message);
    if (known !== undefined) {
      whole.push(known.message);
      continue;
    }
    const loaded = await load(store, message);
    keep(message, {
      message: loaded,
      bytes: media.reduce((sum, { bytes }) => sum + base64Bytes(bytes), 0),
    });
    whole.push(loaded);
  }
  return whole;
}
