/** A reply that is paid for, kept for another worker: the one that it came to lacks a tool that the reply calls. */
import type { AttemptMemory } from './attempt-memory';
import { InfraException } from '../lifecycle/infra-exception';
import type { ModelReply } from '../providers/provider';
import type { Attempt } from './route-attempt';
import type { Store } from '../stores/store';

/** The reply that an earlier attempt has left, if it has. */
export async function parkedReply(
  store: Store,
  { reply }: AttemptMemory,
): Promise<ModelReply | undefined> {
  if (reply === undefined) return undefined;
  // Written by `parkedIfNotTaken`, and checked by the store against its hash.
  return JSON.parse((await store.getBlob(reply)).toString('utf8')) as ModelReply;
}

/**
 * Takes a reply; where this worker's code cannot, leaves it to the next attempt by way of the attempt's memory.
 *
 * Errors: whatever taking it throws.
 */
export async function parkedIfNotTaken<Result>(
  attempt: Attempt,
  reply: ModelReply,
  take: () => Promise<Result>,
): Promise<Result> {
  try {
    return await take();
  } catch (thrown) {
    if (thrown instanceof InfraException && thrown.failure.code === 'worker_mismatch')
      attempt.memory = {
        ...attempt.memory,
        reply: await attempt.store.putBlob(JSON.stringify(reply)),
      };
    throw thrown;
  }
}
