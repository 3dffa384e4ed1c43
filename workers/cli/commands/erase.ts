/** `holdfast erase`: forgets the runs of a tenant or a thread, in Temporal and in the store, and says what remains. */
import type { Client } from '@temporalio/client';
import type { EraseResult } from '../../../activities/stores/content/erase';
import type { SweptKind } from '../../../activities/stores/content/sweep';
import type { Store } from '../../../activities/stores/store';
import type { RunExecution } from '../../../client/history/retained-references';
import { retainedReferences } from '../../../client/history/retained-references';
import { isNotFound } from '../../../client/temporal-failure';
import { threadIdSchema } from '../../../client/check-input';
import { tenantPattern } from '../../../workflows/core/limits';
import { SetupError } from '../../setup-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { withStore } from '../environment-store';
import { withTemporal } from '../reach-temporal';

/** Whose runs. */
export interface Erased {
  readonly tenant?: string;
  readonly thread?: string;
}

/** What was erased, or would be. */
export interface Erasure extends EraseResult {
  readonly runs: number;
  /** Observations and patterns of the tenant. */
  readonly learned: number;
  /** Rows that count what the tenant has used, for its caps. */
  readonly counted: number;
}

/** Runs that an error names. */
const mostNamed = 5;

/** Erases. */
export async function erase(
  context: CommandContext,
  options: CommonOptions & Erased & { readonly dryRun?: boolean },
): Promise<void> {
  const { tenant, thread, dryRun = false } = options;
  if ((tenant === undefined) === (thread === undefined))
    throw new SetupError('Give --tenant NAME or --thread ID, one of the two. Nothing was erased.');
  if (tenant !== undefined && !tenantPattern.test(tenant))
    throw new SetupError(`The tenant ${JSON.stringify(tenant)} is no name of a tenant.`);
  if (thread !== undefined && !threadIdSchema.safeParse(thread).success)
    throw new SetupError(`The thread ${JSON.stringify(thread)} is no id of a thread.`);
  await withStore(context, (store) =>
    withTemporal(context, async ({ client }) => {
      const erasure = await eraseRuns(client, store, options, dryRun);
      const value = { store: store.label, dryRun, ...erasure };
      print(context, options, value, textOf(erasure, options, dryRun));
    }),
  );
}

/**
 * Reads what is retained, then removes the content, and the runs last: what was interrupted can be repeated.
 *
 * Errors: `SetupError` for runs that are in progress, and where the runs name another store.
 */
export async function eraseRuns(
  client: Client,
  store: Store,
  { tenant, thread }: Erased,
  dryRun: boolean,
): Promise<Erasure> {
  const nowMs = await store.now();
  const isOfThread = (workflowId: string): boolean =>
    thread !== undefined && new RegExp(`^${escaped(thread)}:\\d+(/|$)`).test(workflowId);
  const { apart, others } = await retainedReferences(client.workflow, (workflowId, of) =>
    tenant === undefined ? isOfThread(workflowId) : of === tenant,
  );
  const running = apart.executions.filter(({ isRunning }) => isRunning);
  if (running.length > 0)
    throw new SetupError(
      `${running.length} of these runs are in progress: ${running
        .slice(0, mostNamed)
        .map(({ workflowId }) => workflowId)
        .join(', ')}. Stop or cancel them, wait for their end, and repeat. Nothing was erased.`,
    );
  if (apart.storeIds.size > 0 && !apart.storeIds.has(store.id))
    throw new SetupError(
      `These runs are in store ${[...apart.storeIds].join(', ')}, and HOLDFAST_STORE names ${store.id} (${store.label}). Set it to the runs' store. Nothing was erased.`,
    );
  const result = await store.erase({ erased: apart, others, nowMs, dryRun });
  const learned = tenant === undefined ? 0 : await store.patterns.erase(tenant, dryRun);
  const counted = tenant === undefined ? 0 : await store.tenants.erase(tenant, dryRun);
  if (!dryRun) for (const execution of apart.executions) await deleteRun(client, execution);
  const runs = new Set(apart.executions.map(({ workflowId }) => workflowId)).size;
  return { runs, learned, counted, ...result };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

async function deleteRun(client: Client, { workflowId, runId }: RunExecution): Promise<void> {
  try {
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId, runId },
    });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
}

function textOf(erasure: Erasure, { tenant }: Erased, dryRun: boolean): string {
  const verb = dryRun ? 'would erase' : 'erased';
  const line = (name: string, { removed, removedBytes }: SweptKind): string =>
    `${name.padEnd(17)} ${verb} ${removed} (${Math.ceil(removedBytes / 1_024)} KiB)`;
  const shared = `${erasure.shared} nodes and blobs in the store, which other runs have, too`;
  return [
    `runs              ${verb} ${erasure.runs}`,
    line('transcript nodes', erasure.nodes),
    line('blobs', erasure.blobs),
    line('chunks of blobs', erasure.chunks),
    line('tool records', erasure.toolRecords),
    ...(tenant === undefined
      ? []
      : [
          `learned           ${verb} ${erasure.learned}`,
          `counts of caps    ${verb} ${erasure.counted}`,
        ]),
    'What remains:',
    `  - ${shared}`,
    '  - content that these runs wrote and their histories do not name: `holdfast gc` removes it after a day',
    '  - backups and archives of Temporal and of the store, and free pages of a database until it reuses them',
    '  - logs, notices that were sent, files in workspaces, and what vendors and MCP servers keep',
    ...(tenant === undefined
      ? ['  - what the runs taught their tenant (`holdfast patterns`), without values']
      : ["  - schedules that start runs for this tenant: delete them in Temporal's Web UI"]),
  ].join('\n');
}
