/** The whole arguments of what waits for approval, from the run and its store. */
import { argumentsForPeople } from '../../../activities/untrusted/arguments-for-people';
import type { Store } from '../../../activities/stores/store';
import { isJsonObject } from '../../../activities/tools/input-schema';
import { ClientError } from '../../../client/client-error';
import type { JsonObject } from '../../../workflows/core/json';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { RunStatusView } from '../../../workflows/core/view/status';
import { SetupError } from '../../setup-error';
import type { Surroundings } from '../command-context';
import { withStore } from '../environment-store';

type Approval = Extract<PendingItem, { type: 'approval' }>;

interface WaitingRun {
  readonly runId: string;
  readonly status: RunStatusView;
  readonly pending: readonly PendingItem[];
}

/** All values; of one that holds a secret nothing that the approval hides, since the worker may know secrets that this process does not. */
function whole(item: Approval, input: JsonObject): Approval {
  const { fields } = item.shown;
  const shownBefore = new Map(
    fields.flatMap(({ name, value, secret }) => (secret === true ? [[name, value]] : [])),
  );
  const first = fields.map(({ name }) => name.split(/[.[]/)[0] ?? name);
  return { ...item, shown: argumentsForPeople(input, { first, shownBefore, maxChars: Infinity }) };
}

/** Reads an input from its store. Content is stored by its hash, so this is what the approval is bound to. */
async function storedInput(store: Store, hash: string): Promise<JsonObject> {
  const value: unknown = JSON.parse((await store.getBlob(hash)).toString('utf8'));
  return isJsonObject(value) ? value : {};
}

/**
 * The approvals that wait, or the one of this id, with all their arguments; other items are left out where an id is given.
 *
 * Errors: `refused` if no such approval waits; `SetupError` if the arguments are in another store.
 */
export async function withWholeArguments(
  surroundings: Surroundings,
  { runId, status, pending }: WaitingRun,
  approvalId: string | undefined,
): Promise<readonly PendingItem[]> {
  const approvals = pending.filter((item): item is Approval => item.type === 'approval');
  const wanted =
    approvalId === undefined ? pending : approvals.filter((item) => item.approvalId === approvalId);
  if (wanted.length === 0 && approvalId !== undefined)
    throw new ClientError(
      'refused',
      `No approval "${approvalId}" waits in run "${runId}". Waiting: ${approvals.map((item) => item.approvalId).join(', ') || 'none'}.`,
    );
  const read = async (store?: Store): Promise<readonly PendingItem[]> =>
    Promise.all(
      wanted.map(async (item) => {
        if (item.type !== 'approval') return item;
        if (store !== undefined && item.inputBlob !== undefined)
          return whole(item, await storedInput(store, item.inputBlob));
        return isJsonObject(item.input) ? whole(item, item.input) : item;
      }),
    );
  if (!wanted.some((item) => item.type === 'approval' && item.inputBlob !== undefined))
    return read();
  return withStore(surroundings, (store) => {
    if (status.storeId !== store.id)
      throw new SetupError(
        `The arguments of run "${runId}" are in store ${status.storeId ?? 'unknown'}; HOLDFAST_STORE names ${store.id} (${store.label}). Set HOLDFAST_STORE to the run's store.`,
      );
    return read(store);
  });
}
