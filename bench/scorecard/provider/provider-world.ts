/** What provider faults strike in: Temporal, one worker, a store and the emulated vendors, all real. */
import { Client } from '@temporalio/client';
import { createActivities } from '../../../activities/index';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import type { Provider } from '../../../activities/providers/provider';
import { openConnection } from '../../../client/connect';
import { AgentClient } from '../../../client/index';
import type { EmulatorOptions } from '../../../testing/emulator/emulator';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { connectWorker } from '../../../workers/worker-connection';
import type { DevServer } from '../../../test/support/temporal';
import { startOwnServer } from '../../../test/support/temporal';
import type { TemporaryStore } from '../../../test/support/temporary-store';
import { temporaryStore } from '../../../test/support/temporary-store';
import { findFreePorts } from '../../../workers/temporal-server/embedded-server';
import { readEnvironment } from '../../../workers/env';
import { createLogger, installRuntime } from '../../../workers/logging';
import { createWorker } from '../../../workers/worker';

/** A world while its worker runs. */
export interface ProviderWorld {
  readonly emulator: VendorEmulator;
  readonly client: AgentClient;
  /** For what the front door does not tell: histories. */
  readonly temporal: Client;
  readonly stored: Pick<TemporaryStore, 'url' | 'file'>;
}

/** The vendors' side, there before the agents are. */
export interface Vendors {
  readonly emulator: VendorEmulator;
  /** Nothing listens there. */
  readonly closedPort: number;
}

/** What the worker is given. */
export interface WorkerParts {
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
}

/** Task queue of the scorecard's worker. */
const taskQueue = 'scorecard';

async function withWorker<Result>(
  { address, namespace }: DevServer,
  parts: WorkerParts,
  emulator: VendorEmulator,
  work: (world: ProviderWorld) => Promise<Result>,
): Promise<Result> {
  const connection = await connectWorker({ address, namespace });
  const clientConnection = await openConnection({ address, namespace });
  const stored = await temporaryStore();
  try {
    const temporal = new Client({ connection: clientConnection, namespace });
    const client = new AgentClient(temporal, { taskQueue });
    const worker = await createWorker({
      connection,
      namespace,
      taskQueue,
      activities: createActivities({ store: stored.store, ...parts }),
      cacheDirectory: readEnvironment().cacheDirectory,
    });
    return await worker.runUntil(() => work({ emulator, client, temporal, stored }));
  } finally {
    await stored.dispose();
    await clientConnection.close();
    await connection.close();
  }
}

/** Runs `work` in a world of its own; everything that it started has ended when this resolves. */
export async function inProviderWorld<Result>(
  partsFor: (vendors: Vendors) => WorkerParts | Promise<WorkerParts>,
  work: (world: ProviderWorld) => Promise<Result>,
  logger = createLogger('error'),
  emulatorOptions: EmulatorOptions = {},
): Promise<Result> {
  installRuntime(logger);
  const emulator = await VendorEmulator.start(emulatorOptions);
  try {
    const [closedPort = 0] = await findFreePorts(1);
    const parts = await partsFor({ emulator, closedPort });
    const server = await startOwnServer();
    try {
      return await withWorker(server, parts, emulator, work);
    } finally {
      await server.close();
    }
  } finally {
    await emulator.stop();
  }
}
