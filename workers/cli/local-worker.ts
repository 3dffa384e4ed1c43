/** A worker in this process, for `run` and `worker`. */
import type { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index';
import { defined } from '../../workflows/core/json';
import type { Environment } from '../env';
import { installRuntime } from '../logging';
import type { TemporalServer } from '../temporal-server/open-temporal';
import { createWorker } from '../worker';
import { connectWorker } from '../worker-connection';
import { openEnvironmentStore } from './environment-store';
import type { WorkerOffer } from './local-agents';

/** A worker that is ready to run, and how to release everything that it holds. */
export interface LocalWorker {
  readonly worker: Worker;
  /** Closes connection and store; after the worker has ended. */
  dispose(): Promise<void>;
}

/** What a local worker is made of. */
export interface LocalWorkerOptions {
  readonly environment: Environment;
  readonly taskQueue: string;
  readonly offer: WorkerOffer;
  /** Milliseconds that calls in flight get to end by themselves when the worker ends. Default: the worker's. */
  readonly shutdownGraceMs?: number;
  /** Finds or starts the server; asked only when everything else is known to work. */
  readonly reach: () => Promise<TemporalServer>;
}

/**
 * Checks the agents, then opens store and server, and makes the worker.
 *
 * Errors: `UserError` and `SetupError` with thing, value and remedy; nothing stays open then.
 */
export async function createLocalWorker(
  options: LocalWorkerOptions,
): Promise<LocalWorker & { readonly server: TemporalServer }> {
  const { environment, offer, taskQueue } = options;
  installRuntime(environment.logLevel);
  const store = await openEnvironmentStore(environment);
  try {
    const activities = createActivities({ store, ...offer });
    const server = await options.reach();
    const connection = await connectWorker(server);
    const worker = await createWorker({
      connection,
      activities,
      namespace: server.namespace,
      taskQueue,
      cacheDirectory: environment.cacheDirectory,
      ...defined({
        buildId: environment.buildId,
        shutdownGraceMs: options.shutdownGraceMs,
      }),
    });
    const dispose = async (): Promise<void> => {
      await connection.close();
      await store.close();
    };
    return { worker, server, dispose };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}
