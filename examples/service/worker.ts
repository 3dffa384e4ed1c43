/** Example: the worker of the shop's service. Any number of them may run. */
import { anthropicProvider, connectMcp, createActivities, openStore } from '../../activities/index';
import { connectWorker, createWorker, openTemporal, readEnvironment } from '../../workers/index';
import { policyAgent, supportAgent } from './agents';

async function main(): Promise<void> {
  const environment = readEnvironment();
  const server = await openTemporal(environment);
  const connection = await connectWorker(server);
  const store = await openStore(environment.store);
  const policies = await connectMcp({
    name: 'policies',
    transport: { type: 'http', url: process.env['POLICIES_MCP'] ?? '' },
    tools: { '*': { effect: 'read' } },
  });
  const worker = await createWorker({
    connection,
    namespace: server.namespace,
    taskQueue: environment.taskQueue,
    activities: createActivities({
      store,
      providers: [anthropicProvider(environment.anthropic)],
      agents: [supportAgent, policyAgent(policies)],
    }),
  });
  console.log('The worker is ready.');
  // Until SIGTERM: what is in flight ends, or goes to another worker.
  await worker.run();
  process.exit();
}

void main();
