/** Example: Holdfast joins a Temporal worker that you have already, by one plugin. */
import type { NativeConnection } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import type { AgentDefinition, Provider, Store } from '../activities/index';
import { createActivities } from '../activities/index';
import type { RunResult } from '../client/index';
import { reply } from '../testing/index';
import { HoldfastPlugin } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';
import type { TicketActivities } from './ticket-workflows';

const summarizer: AgentDefinition = {
  name: 'summarizer',
  instructions: 'You sum up a ticket in one sentence.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
};

const ticketActivities: TicketActivities = {
  fileUnder: (ticket, queue) => Promise.resolve(`filed under ${queue}: ${ticket}`),
};

/** A worker with workflows and activities of its own; the plugin adds Holdfast's. */
export function ticketWorker(
  place: { readonly connection: NativeConnection; readonly taskQueue: string },
  holdfast: { readonly store: Store; readonly providers: readonly Provider[] },
  agents: readonly AgentDefinition[],
): Promise<Worker> {
  return Worker.create({
    ...place,
    workflowsPath: require.resolve('./ticket-workflows'),
    activities: ticketActivities,
    plugins: [new HoldfastPlugin({ activities: createActivities({ ...holdfast, agents }) })],
  });
}

/** Starts a run on that worker and waits for its result. */
export async function summarizeTicket(world: OfflineWorld): Promise<RunResult> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([reply.text('The customer was charged twice for one order.')]);
  const worker = await ticketWorker({ connection, taskQueue }, { store, providers: [provider] }, [
    summarizer,
  ]);
  return worker.runUntil(async () => {
    const run = await client.start({
      agent: 'summarizer',
      goal: 'I ordered once, but my card shows two payments of 40 euros. Please check!',
    });
    return run.result();
  });
}

async function main(): Promise<void> {
  const result = await inOfflineWorld('existing-worker', summarizeTicket);
  console.log(result.status === 'completed' ? result.answer : result);
}

if (require.main === module) runAsProgram(main);
