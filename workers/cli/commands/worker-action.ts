/** The work of `holdfast worker`. */
import type { CommonOptions } from '../command-context';
import { readEnvironment } from '../../env';
import type { CommandLineContext } from '../command-line-context';
import { localAgents } from '../local-agents';
import { createLocalWorker } from '../local-worker';
import { reachTemporal } from '../reach-temporal';

/** What the command was told. */
export interface WorkerOptions extends CommonOptions {
  readonly agents?: string;
  readonly model?: string;
  readonly taskQueue?: string;
}

/** Does what `holdfast worker` says. */
export async function work(
  { output, variables, directory }: CommandLineContext,
  options: WorkerOptions,
): Promise<void> {
  const environment = readEnvironment(variables, directory);
  const taskQueue = options.taskQueue ?? environment.taskQueue;
  const offer = await localAgents(environment, { ...options, directory });
  const reach = (): ReturnType<typeof reachTemporal> => reachTemporal(environment);
  const local = await createLocalWorker({ environment, taskQueue, offer, reach });
  const { address, namespace, uiUrl } = local.server;
  const agents = offer.agents.map(({ name }) => name);
  const notifiers = offer.notifiers?.map(({ name }) => name);
  const ready = { type: 'WorkerReady', address, namespace, taskQueue, agents, notifiers, uiUrl };
  const told = notifiers === undefined ? '' : `, telling people by ${notifiers.join(', ')}`;
  const web = uiUrl === undefined ? '' : `, Web UI ${uiUrl}`;
  output.write(
    options.json === true
      ? `${JSON.stringify(ready)}\n`
      : `worker for ${agents.join(', ')} on task queue ${taskQueue} at ${address}${told}${web}\n`,
  );
  try {
    await local.worker.run();
  } finally {
    await local.dispose();
  }
}
