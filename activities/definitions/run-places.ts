/** Lets a run begin only if its tenant has a place for it (ADR 0075). */
import { Context } from '@temporalio/activity';
import { InfraException } from '../lifecycle/infra-exception';
import type { Store } from '../stores/store';
import type { RunPlace } from '../stores/tenants/tenant-usage';

/** gRPC's code for what a server does not know. */
const notFoundCode = 5;

/** Temporal's number of the status of a run in progress. */
const runningStatus = 1;

/** Runs that Temporal is asked about at the same time, those that began first before the others. */
const askedTogether = 50;

/** Milliseconds until a run asks again that Temporal did not answer. */
const askAgainMs = 2_000;

/** Whether a run has ended, by Temporal's own record: a run that was terminated could not say so. Undefined: no answer. */
async function hasEnded({ namespace, runId }: RunPlace): Promise<boolean | undefined> {
  try {
    const { workflowService } = Context.current().client;
    const execution = { workflowId: runId };
    const found = await workflowService.describeWorkflowExecution({ namespace, execution });
    return Number(found.workflowExecutionInfo?.status) !== runningStatus;
  } catch (thrown) {
    return (thrown as { readonly code?: unknown }).code === notFoundCode ? true : undefined;
  }
}

/**
 * Takes a place for the current run. It keeps the place until it has ended, over attempts and segments; the next run that finds
 * all places taken asks Temporal which runs have ended.
 *
 * `nowMs` is by the clock that all workers share.
 * Errors: `tenant_cap` if there is no place; with `retryAfterMs`, Temporal tries again.
 */
export async function takePlace(
  store: Store,
  tenant: string,
  most: number,
  nowMs: number,
): Promise<void> {
  const { namespace, workflowExecution } = Context.current().info;
  const run = { namespace, runId: workflowExecution?.workflowId ?? '', sinceMs: nowMs };
  const taken = await store.tenants.enter(tenant, run, most);
  if (taken === undefined) return;
  let isUnsure = false;
  for (let first = 0; first < taken.length; first += askedTogether) {
    const asked = taken.slice(first, first + askedTogether);
    const answers = await Promise.all(asked.map(hasEnded));
    isUnsure ||= answers.includes(undefined);
    const ended = asked.filter((_, index) => answers[index] === true);
    if (ended.length === 0) continue;
    await store.tenants.leave(tenant, ended);
    if ((await store.tenants.enter(tenant, run, most)) === undefined) return;
  }
  throw new InfraException({
    code: 'tenant_cap',
    message: `tenant "${tenant}" has as many runs in progress as its cap allows, ${most}. Start this run again when one of them has ended, or raise the cap (tenantCaps)`,
    ...(isUnsure ? { retryAfterMs: askAgainMs } : {}),
  });
}
