/** Puts back what tier 1 took out, for the one who summarizes: what only a ref names would be in no summary. */
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import { wellFormedText } from '../providers/request/well-formed';
import type { Store } from '../stores/store';
import { strippedRef } from './stripped-messages';

/** Bytes of the head and of the tail of a result that a summary reads (ADR 0024). */
const headBytes = 2_000;
const tailBytes = 1_000;

async function restored(store: Store, result: ToolResultBlock): Promise<ToolResultBlock> {
  const ref = strippedRef(result);
  if (ref === undefined) return result;
  const head = await store.readBlob(ref, 0, headBytes + tailBytes);
  const text = (bytes: Buffer): string => wellFormedText(bytes.toString('utf8'));
  if (head.totalBytes <= headBytes + tailBytes) return { ...result, content: text(head.bytes) };
  const tail = await store.readBlob(ref, head.totalBytes - tailBytes, tailBytes);
  const content = `${text(head.bytes.subarray(0, headBytes))}\n[…]\n${text(tail.bytes)}`;
  return { ...result, content };
}

/** The messages with head and tail of every result that was taken out. Contract: the messages themselves are not changed. */
export async function restoredMessages(
  store: Store,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const whole: Message[] = [];
  for (const message of messages) {
    if (message.role !== 'tool') {
      whole.push(message);
      continue;
    }
    const results: ToolResultBlock[] = [];
    for (const result of message.results) results.push(await restored(store, result));
    whole.push({ ...message, results });
  }
  return whole;
}
