/** `holdfast gc`: removes from the store what no run in Temporal's retention reaches. */
import type { Client } from '@temporalio/client';
import type { Store } from '../../../activities/stores/store';
import type { SweepResult, SweptKind } from '../../../activities/stores/content/sweep';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { retainedReferences } from '../../../client/history/retained-references';
import { SetupError } from '../../setup-error';
import { withStore } from '../environment-store';
import { withTemporal } from '../reach-temporal';

interface GarbageOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly grace: number;
  readonly force?: boolean;
}

/** Sweeps the store. */
export async function gc(context: CommandContext, options: GarbageOptions): Promise<void> {
  await withStore(context, (store) =>
    withTemporal(context, async ({ client, server: { namespace } }) => {
      const result = await collectGarbage(client, store, { ...options, namespace });
      const value = { store: store.label, dryRun: options.dryRun === true, ...result };
      print(context, options, value, textOf(result, options));
    }),
  );
}

/**
 * Reads what is retained, then sweeps.
 *
 * Errors: `SetupError` where no run of the namespace names the store: then it is another server's or namespace's store, and
 * all of it would seem lost.
 */
export async function collectGarbage(
  client: Client,
  store: Store,
  options: { dryRun?: boolean; force?: boolean; grace: number; namespace: string },
): Promise<SweepResult & { readonly segments: number }> {
  // Before the list is read: what is written from now on is young.
  const nowMs = await store.now();
  const { others, segments } = await retainedReferences(client.workflow);
  const { hashes, runKeys, storeIds } = others;
  if (!storeIds.has(store.id) && options.force !== true)
    throw new SetupError(
      `No run in namespace "${options.namespace}" names the store ${store.id} (${store.label}), so all of it would be removed. Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and HOLDFAST_STORE; to remove it all the same, give --force.`,
    );
  const { dryRun = false, grace: graceMs } = options;
  const swept = await store.sweep({ roots: hashes, runKeys, graceMs, dryRun, nowMs });
  return { ...swept, segments };
}

function textOf(
  result: SweepResult & { readonly segments: number },
  { dryRun }: GarbageOptions,
): string {
  const verb = dryRun === true ? 'would remove' : 'removed';
  const line = (name: string, { removed, removedBytes, kept }: SweptKind): string =>
    `${name.padEnd(17)} ${verb} ${String(removed).padStart(7)} (${Math.ceil(removedBytes / 1_024)} KiB), kept ${kept}`;
  return [
    `histories read    ${result.segments}`,
    line('transcript nodes', result.nodes),
    line('blobs', result.blobs),
    line('chunks of blobs', result.chunks),
    line('tool records', result.toolRecords),
    `unused for a month ${dryRun === true ? 'not counted' : `removed ${String(result.others).padStart(7)}`}`,
  ].join('\n');
}
