/** `holdfast worker`: works on runs until it is ended. */
import type { CommandContext, CommonOptions } from '../command-context';
import type { Environment } from '../../env';
import { readEnvironment } from '../../env';
import type { CreateWorkerOptions } from '../../worker-options';
import { localAgents } from '../local-agents';
import { createLocalWorker } from '../local-worker';
import { reachTemporal } from '../reach-temporal';
import { waitUntilReady } from '../wait-until-ready';

/** The version of this worker, if it has one; the worker of `holdfast run` has none, so that its run starts on it. */
function versionOf({
  deploymentName,
  buildId,
}: Environment): Pick<CreateWorkerOptions, 'workerDeploymentOptions'> {
  if (deploymentName === undefined || buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
  };
}

/** Runs a worker, once its store and Temporal answer. */
export async function worker(
  { output, variables, directory }: CommandContext,
  options: CommonOptions & {
    readonly agents?: string;
    readonly model?: string;
    readonly unattended?: boolean;
    readonly taskQueue?: string;
    /** Milliseconds. */
    readonly wait: number;
  },
): Promise<void> {
  const environment = readEnvironment(variables, directory);
  const taskQueue = options.taskQueue ?? environment.taskQueue;
  const offer = await localAgents(environment, { ...options, directory, variables });
  const local = await waitUntilReady(
    () =>
      createLocalWorker(
        environment,
        offer,
        () => reachTemporal(environment, variables),
        variables,
        { taskQueue, ...versionOf(environment) },
      ),
    options.wait,
    output.note,
  );
  const { address, namespace, uiUrl } = local.server;
  const agents = offer.agents.map(({ name }) => name);
  const notifiers = offer.notifiers?.map(({ name }) => name);
  const ready = { type: 'WorkerReady', address, namespace, taskQueue, agents, notifiers, uiUrl };
  const notified = notifiers === undefined ? '' : `, notifying people by ${notifiers.join(', ')}`;
  const web = uiUrl === undefined ? '' : `, Web UI ${uiUrl}`;
  output.write(
    options.json === true
      ? `${JSON.stringify(ready)}\n`
      : `worker for ${agents.join(', ')} on task queue ${taskQueue} at ${address}${notified}${web}\n`,
  );
  try {
    await local.worker.run();
  } finally {
    await local.dispose();
  }
}
