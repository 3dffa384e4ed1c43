/** A worker of the demo, as a process of its own: the demo kills it in the middle of a tool call. */
import { createActivities, openStore } from '../../activities/index';
import {
  connectWorker,
  createWorker,
  installRuntime,
  openTemporal,
  readEnvironment,
} from '../../workers/index';
import { demoAgent } from './demo-agent';
import { emulatedModels, realModels } from './demo-models';
import type { WorkerMessage, WorkerSettings } from './worker-process';

function send(message: WorkerMessage): void {
  process.send?.(message);
}

async function main(settings: WorkerSettings): Promise<void> {
  installRuntime('error');
  const environment = readEnvironment();
  const { providers, chain } =
    settings.emulatorUrl === undefined
      ? realModels(environment)
      : emulatedModels(settings.emulatorUrl);
  const agent = demoAgent(chain, (tool) => {
    send({ type: 'tool-started', tool });
  });
  const store = await openStore(settings.store);
  const temporal = { ...environment.temporal, address: settings.temporalAddress };
  const server = await openTemporal({ ...environment, temporal });
  const connection = await connectWorker(server);
  const worker = await createWorker({
    connection,
    namespace: server.namespace,
    taskQueue: settings.taskQueue,
    activities: createActivities({ store, providers, agents: [agent] }),
    cacheDirectory: environment.cacheDirectory,
    stickyTimeoutMs: 1_000,
    heartbeatIntervalMs: 1_000,
    shutdownGraceMs: 1_000,
  });
  const running = worker.run();
  send({ type: 'ready' });
  await running;
  await connection.close();
  await store.close();
}

process.once('disconnect', () => {
  process.exit(1);
});
process.once('message', (settings: WorkerSettings) => {
  main(settings).then(
    () => process.exit(0),
    (thrown: unknown) => {
      send({ type: 'failed', reason: thrown instanceof Error ? thrown.message : String(thrown) });
      process.exit(1);
    },
  );
});
