/** `holdfast worker`: works on runs until it is ended. */
import type { CommandContext, CommonOptions } from '../command-context';
import type { Environment } from '../../env';
import { listenSchema, readEnvironment } from '../../env';
import { createLogger } from '../../logging';
import { reasonOf, SetupError } from '../../setup-error';
import type { CreateWorkerOptions } from '../../worker-options';
import { localAgents } from '../local-agents';
import type { LocalWorker } from '../local-worker';
import { createLocalWorker } from '../local-worker';
import { reachTemporal } from '../reach-temporal';
import { waitUntilReady } from '../wait-until-ready';

const endSignals = ['SIGTERM', 'SIGINT'] as const;

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

/** Where the worker answers probes, if it does. Errors: `SetupError` for an option that is no port. */
function healthAddress(option: string | undefined, { health }: Environment): Environment['health'] {
  if (option === undefined) return health;
  const parsed = listenSchema.safeParse(option);
  if (parsed.success) return parsed.data;
  throw new SetupError(
    `--health-port ${JSON.stringify(option)} is not usable: give port or host:port, such as 8081 or 0.0.0.0:8081.`,
  );
}

/** Answers probes about the worker, once there is one. Returns how to end it. Errors: `SetupError` for a port that is taken. */
async function serveHealth(
  environment: Environment,
  at: NonNullable<Environment['health']>,
  made: () => LocalWorker | undefined,
): Promise<() => Promise<void>> {
  const { createHealthServer } = await import('../../../server/http/health.ts');
  const app = createHealthServer({
    log: createLogger(environment.logLevel),
    notNow: () => {
      const local = made();
      if (local === undefined) return 'This worker starts: it waits for its store or for Temporal.';
      const state = local.worker.getState();
      return state === 'RUNNING' ? undefined : `This worker does not poll: it is ${state}.`;
    },
    checks: {
      Temporal: async () => made()?.checkTemporal(),
      'the store': async () => made()?.store.check(),
    },
  });
  await app.listen(at).catch((thrown: unknown) => {
    throw new SetupError(
      `The worker cannot answer probes on ${at.host}:${at.port}: ${reasonOf(thrown)}. Give another --health-port.`,
      { cause: thrown },
    );
  });
  return () => app.close();
}

/** Runs a worker, once its store and Temporal answer. */
export async function worker(
  context: CommandContext,
  options: CommonOptions & {
    readonly agents?: string;
    readonly model?: string;
    readonly unattended?: boolean;
    readonly taskQueue?: string;
    readonly healthPort?: string;
    /** Milliseconds. */
    readonly wait: number;
  },
): Promise<void> {
  const { variables, directory } = context;
  const environment = readEnvironment(variables, directory);
  const at = healthAddress(options.healthPort, environment);
  let made: LocalWorker | undefined;
  // The SDK's runtime takes the signals before there is a worker to end.
  const leave = (): void => {
    if (made === undefined) process.exit();
  };
  for (const signal of endSignals) process.on(signal, leave);
  const close = at && (await serveHealth(environment, at, () => made));
  try {
    await work(context, options, environment, (local) => (made = local));
  } finally {
    for (const signal of endSignals) process.off(signal, leave);
    await close?.();
  }
}

async function work(
  { output, variables, directory }: CommandContext,
  options: Parameters<typeof worker>[1],
  environment: Environment,
  onMade: (local: LocalWorker) => void,
): Promise<void> {
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
  onMade(local);
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
