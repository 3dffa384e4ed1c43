/** Example: a workflow of your own lets an agent do a part of its work, as a child with its own history. */
import type { AgentDefinition } from '../activities/index';
import { reply } from '../testing/index';
import { ticketWorker } from './existing-worker';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';
import type { triageTicket } from './ticket-workflows';

const triage: AgentDefinition = {
  name: 'triage',
  instructions: 'You answer with the name of a queue and nothing else.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
};

/** Runs the workflow `triageTicket`, which runs the agent `triage`. */
export async function triageOneTicket(world: OfflineWorld): Promise<string> {
  const { connection, temporalClient, taskQueue, store, provider, emulator } = world;
  emulator.script([reply.text('billing')]);
  const worker = await ticketWorker({ connection, taskQueue }, { store, providers: [provider] }, [
    triage,
  ]);
  return worker.runUntil(
    temporalClient.workflow.execute<typeof triageTicket>('triageTicket', {
      taskQueue,
      workflowId: `${taskQueue}-ticket-4711`,
      args: ['My card shows two payments for one order.'],
    }),
  );
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('agent-in-workflow', triageOneTicket));
}

if (require.main === module) runAsProgram(main);
