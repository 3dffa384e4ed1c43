/** Example: runs on a schedule of Temporal's, on a worker that is one version of a deployment. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScheduleHandle } from '@temporalio/client';
import { createActivities, defineAgent } from '../activities/index';
import type { AgentClient } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const reporter = defineAgent({
  name: 'reporter',
  instructions: 'You write a short report.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
});

/** One schedule for the agent; Temporal starts its runs. */
function scheduleReports(client: AgentClient, scheduleId: string): Promise<ScheduleHandle> {
  return client.schedule(
    reporter,
    { goal: 'Report what happened yesterday.' },
    {
      scheduleId,
      spec: { calendars: [{ hour: 7 }], timezone: 'Europe/Berlin' },
      policies: { overlap: 'SKIP', catchupWindow: '1 hour' },
    },
  );
}

/** Makes the schedule, starts its next run now, and returns what the run reported. */
export async function reportNow(world: OfflineWorld): Promise<string> {
  const { connection, client, temporalClient, taskQueue, store, provider, emulator } = world;
  emulator.script([reply.text('Nothing broke yesterday.')]);
  const buildId = 'v1';
  // A deployment's name is one for all task queues of a namespace.
  const deploymentName = `reports-${randomUUID()}`;
  const worker = await createWorker({
    connection,
    taskQueue,
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
    activities: createActivities({ store, providers: [provider], agents: [reporter] }),
  });
  return worker.runUntil(async () => {
    // `temporal worker deployment set-current-version`, once the server knows the version.
    const { workflowService, options } = temporalClient;
    const current = { namespace: options.namespace, deploymentName, buildId };
    const isSet = (): Promise<boolean> =>
      workflowService.setWorkerDeploymentCurrentVersion(current).then(
        () => true,
        () => false,
      );
    while (!(await isSet())) await sleep(100);

    const scheduleId = `reports-${randomUUID()}`;
    const schedule = await scheduleReports(client, scheduleId);
    await schedule.trigger();
    for (;;) {
      const [found] = await client.list({ scheduleId });
      if (found !== undefined) {
        const result = await client.run(found.runId).result();
        await schedule.delete();
        return result.status === 'completed' ? result.answer : result.status;
      }
      await sleep(100);
    }
  });
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('scheduled-reports', reportNow));
}

if (require.main === module) runAsProgram(main);
