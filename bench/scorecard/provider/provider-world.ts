/** What provider faults strike in: Temporal, one worker, a SQLite store and the emulated vendors, all real. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { createActivities } from '../../../activities/index';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import type { Provider } from '../../../activities/providers/provider';
import { openStore } from '../../../activities/stores/open-store';
import { openConnection } from '../../../client/connect';
import { AgentClient } from '../../../client/index';
import type { EmulatorOptions } from '../../../testing/emulator/emulator';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { connectWorker } from '../../../workers/worker-connection';
import {
  findFreePorts,
  startEmbeddedServer,
} from '../../../workers/temporal-server/embedded-server';
import { readEnvironment } from '../../../workers/env';
import { createLogger, installRuntime } from '../../../workers/logging';
import { createWorker } from '../../../workers/worker';

/** A world while its worker runs. */
export interface ProviderWorld {
  readonly emulator: VendorEmulator;
  readonly client: AgentClient;
  /** For what the front door does not tell: histories. */
  readonly temporal: Client;
  /** Holds the store. */
  readonly folder: string;
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
  folder: string,
  address: string,
  parts: WorkerParts,
  emulator: VendorEmulator,
  work: (world: ProviderWorld) => Promise<Result>,
): Promise<Result> {
  const connection = await connectWorker({ address });
  const clientConnection = await openConnection({ address, namespace: 'default' });
  const store = await openStore(`sqlite:${path.join(folder, 'store.db')}`);
  try {
    const temporal = new Client({ connection: clientConnection });
    const client = new AgentClient(temporal, { taskQueue });
    const worker = await createWorker({
      connection,
      taskQueue,
      activities: createActivities({ store, ...parts }),
      cacheDirectory: readEnvironment().cacheDirectory,
    });
    return await worker.runUntil(() => work({ emulator, client, temporal, folder }));
  } finally {
    await store.close();
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
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-scorecard-'));
  const emulator = await VendorEmulator.start(emulatorOptions);
  try {
    const [closedPort = 0] = await findFreePorts(1);
    const parts = await partsFor({ emulator, closedPort });
    const server = await startEmbeddedServer({
      logFile: path.join(folder, 'temporal.log'),
      untilExitOf: process.pid,
    });
    try {
      return await withWorker(folder, server.address, parts, emulator, work);
    } finally {
      await server.stop();
    }
  } finally {
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
