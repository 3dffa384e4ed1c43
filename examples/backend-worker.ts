/** Example: the process that works on runs. Any number of them may run, on any machines that reach Temporal and the store. */
import type { Worker } from '@temporalio/worker';
import type { AgentDefinition } from '../activities/index';
import { anthropicProvider, createActivities, openStore } from '../activities/index';
import type { Environment } from '../workers/index';
import { connectWorker, createWorker, openTemporal, readEnvironment } from '../workers/index';
import { runAsProgram } from './offline-world';

const agents: readonly AgentDefinition[] = [
  {
    name: 'greeter',
    instructions: 'You greet whoever is named, in one sentence.',
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
    tools: [],
  },
];

/** Runs a worker until `during` ends it; on its own until SIGTERM or SIGINT. */
export async function work(
  environment: Environment = readEnvironment(),
  during: (worker: Worker) => Promise<unknown> = (worker) => worker.run(),
): Promise<void> {
  const server = await openTemporal(environment);
  const connection = await connectWorker(server);
  const store = await openStore(environment.store);
  const worker = await createWorker({
    connection,
    namespace: server.namespace,
    taskQueue: environment.taskQueue,
    activities: createActivities({
      store,
      providers: [anthropicProvider(environment.anthropic)],
      agents,
    }),
  });
  try {
    await during(worker);
  } finally {
    await store.close();
    await connection.close();
  }
}

if (require.main === module) runAsProgram(() => work());
