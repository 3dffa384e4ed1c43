/** A worker in this process, for `run` and `worker`. */
import type { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { countAllTokens } from '../../activities/measure/count-tokens';
import { defined } from '../../workflows/core/json';
import type { Store } from '../../activities/stores/store';
import type { Telemetry } from '../../telemetry/index';
import type { Environment } from '../env';
import { installRuntime } from '../logging';
import { SetupError } from '../setup-error';
import { createWorker } from '../worker';
import { connectWorker } from '../worker-connection';
import type { CreateWorkerOptions } from '../worker-options';
import type { Surroundings } from './command-context';
import { openEnvironmentStore } from './environment-store';
import type { WorkerOffer } from './local-agents';
import type { ReachedServer } from './reach-temporal';

/** A worker that is ready to run, and how to release everything that it holds. */
export interface LocalWorker {
  readonly worker: Worker;
  readonly store: Store;
  readonly server: ReachedServer;
  /** Rejects if Temporal does not answer, or not for the namespace. */
  checkTemporal(): Promise<void>;
  /** Closes connection and store; after the worker has ended. */
  dispose(): Promise<void>;
}

/** Milliseconds that Temporal may take to answer whether it is there. */
const checkMs = 4_000;

/** Of this process: a worker that waits for its store is made again and again. */
let started: Promise<Telemetry> | undefined;

/** Installs the SDK's runtime; with telemetry, which is loaded only where OpenTelemetry's variables ask for it. */
async function telemetryOf(environment: Environment): Promise<Telemetry | undefined> {
  if (Object.keys(environment.openTelemetry).length > 0) {
    const { startTelemetry } = await import('../../telemetry/index.ts');
    started ??= startTelemetry(environment);
    return started;
  }
  installRuntime(environment.logLevel);
  return undefined;
}

/**
 * Checks the agents, opens the store, and makes the worker once the server is there.
 *
 * Errors: `UserError` and `SetupError` with thing, value and remedy; nothing stays open then.
 */
export async function createLocalWorker(
  environment: Environment,
  offer: WorkerOffer,
  reach: () => Promise<ReachedServer>,
  variables: Surroundings['variables'],
  options: Pick<
    CreateWorkerOptions,
    'taskQueue' | 'shutdownGraceMs' | 'workerDeploymentOptions'
  > = {},
): Promise<LocalWorker> {
  const { taskQueue, stateDirectory, cacheDirectory, buildId } = environment;
  if (environment.approvalKeyFile !== undefined)
    throw new SetupError(
      'HOLDFAST_APPROVAL_KEY is set where a worker starts: programs of its agents could sign decisions with that key. Unset it here, and decide where no worker runs.',
    );
  protectPath(stateDirectory);
  protectPath(cacheDirectory);
  const telemetry = await telemetryOf(environment);
  const store = await openEnvironmentStore(environment, variables);
  try {
    const activities = createActivities({
      store,
      ...offer,
      ...defined({
        approvers: environment.approvers ?? offer.approvers,
        tenantCaps: environment.tenantCaps ?? offer.tenantCaps,
      }),
    });
    // Loads the tokenizer, which the first call needs, while the server starts.
    countAllTokens(offer.agents[0]?.name ?? '');
    const server = await reach();
    const { namespace, dataConverter } = server;
    const connection = await connectWorker(server);
    const isVersioned = options.workerDeploymentOptions !== undefined;
    const given = defined({ buildId: isVersioned ? undefined : buildId, dataConverter });
    const settings = { taskQueue, cacheDirectory, ...given, ...options };
    const wanted = { connection, activities, namespace, ...settings };
    const worker = await createWorker(telemetry?.configureWorker(wanted) ?? wanted);
    const dispose = async (): Promise<void> => {
      await telemetry?.shutdown();
      await connection.close();
      await store.close();
    };
    const checkTemporal = async (): Promise<void> => {
      await connection.withDeadline(Date.now() + checkMs, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
    };
    return { worker, server, store, checkTemporal, dispose };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}
