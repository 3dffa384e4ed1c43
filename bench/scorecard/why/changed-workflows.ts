/** A deploy that changed what runs in flight have done: it begins with a timer. */
import { sleep } from '@temporalio/workflow';

/** Contract: named as Holdfast's own workflow, whose runs it cannot replay. */
export async function agentRun(): Promise<void> {
  await sleep('1 hour');
}
