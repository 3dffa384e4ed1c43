/** Where a run is and what waits for a person: from a worker, else from history. */
import { queryNames } from '../workflows/contract';
import type { PendingItem } from '../workflows/core/view/pending';
import type { RunStatusView } from '../workflows/core/view/status';
import { pendingItems } from '../workflows/core/view/pending';
import { statusView } from '../workflows/core/view/status';
import type { RunState } from '../workflows/core/run/state';
import { ClientError } from './client-error';
import { describeWorkflow } from './known-to-server';
import type { FoldedSegment } from './history/fold';
import type { RunAccess } from './run-access';
import { foldToEnd } from './history/read-history';
import { outcomeOf } from './run-result';
import { readingHistory } from './temporal-failure';

/** Milliseconds that a worker may take to answer a query before history is read instead. */
const queryTimeoutMs = 5_000;

/** Answer of the query `status`, or the same from history. */
export async function statusOf(access: RunAccess): Promise<RunStatusView> {
  const asked = await ask<RunStatusView>(access, queryNames.status);
  return asked ?? (await momentNow(access)).status;
}

/** Answer of the query `pending`, or the same from history. */
export async function pendingOf(access: RunAccess): Promise<readonly PendingItem[]> {
  const asked = await ask<readonly PendingItem[]>(access, queryNames.pending);
  return asked ?? (await momentNow(access)).pending;
}

/** Where a run is, and what waits for a person. */
interface Look {
  readonly status: RunStatusView;
  readonly pending: readonly PendingItem[];
}

/** Both, from one look at history where no worker answers. */
export async function lookAt(access: RunAccess): Promise<Look> {
  const [status, pending] = await Promise.all([
    ask<RunStatusView>(access, queryNames.status),
    ask<readonly PendingItem[]>(access, queryNames.pending),
  ]);
  if (status !== undefined && pending !== undefined) return { status, pending };
  return momentNow(access);
}

/** Errors: `run-not-found` for a run whose history is past its retention. */
async function momentNow({ client, runId }: RunAccess): Promise<Look> {
  const { status, pending } = momentOf(runId, await foldToEnd(client, runId));
  if (status !== undefined) return { status, pending };
  throw new ClientError('run-not-found', `Run "${runId}" has no history any more.`);
}

/** Where a run is, and what waits for a person; no status without a history. */
interface Moment {
  readonly status?: RunStatusView;
  readonly pending: readonly PendingItem[];
}

/** Where a folded run is, ended where the workflow was ended from outside. Errors: as `readingHistory`. */
export function momentOf(runId: string, folded: FoldedSegment): Moment {
  return readingHistory(runId, () => momentIn(folded));
}

function momentIn(folded: FoldedSegment): Moment {
  const { state, begun } = folded;
  if (state === undefined) return { pending: [] };
  const outcome = outcomeOf(folded);
  const known: RunState =
    outcome === undefined ? state : { ...state, phase: { type: 'ended', outcome } };
  const view = statusView(known);
  const waits = begun || outcome !== undefined;
  return {
    status: waits ? view : { ...view, doing: 'waiting for a worker to take the run' },
    pending: pendingItems(known),
  };
}

/** Undefined if no worker answers in time, or if the run has ended and history has everything. */
async function ask<Answer>(access: RunAccess, query: string): Promise<Answer | undefined> {
  const { client, runId } = access;
  const handle = client.getHandle(runId);
  const { status, taskQueue } = await describeWorkflow(client, runId);
  if (status.name !== 'RUNNING' || !(await mayHaveWorker(access, taskQueue))) return undefined;
  try {
    return await client.withDeadline(Date.now() + queryTimeoutMs, () =>
      handle.query<Answer>(query),
    );
  } catch {
    // Whatever kept the worker from answering, history has the same facts; reading it throws its own errors.
    return undefined;
  }
}

/** False if the server has seen no worker for minutes: then a query would only wait for its deadline. */
async function mayHaveWorker({ client }: RunAccess, taskQueue: string): Promise<boolean> {
  try {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueue },
    });
    return pollers.length > 0;
  } catch {
    // A caller that may not look at task queues may still ask its run.
    return true;
  }
}
