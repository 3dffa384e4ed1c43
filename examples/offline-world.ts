/** What the examples run on: Temporal, a store and a scripted model, all on this machine and without a key. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Provider, Store } from '../activities/index';
import { anthropicProvider, openStore } from '../activities/index';
import { AgentClient } from '../client/index';
import { VendorEmulator } from '../testing/index';
import type { Environment } from '../workers/index';
import { connectWorker, installRuntime, openTemporal, readEnvironment } from '../workers/index';

/** Everything that an example needs and that is not its subject. */
export interface OfflineWorld {
  readonly connection: NativeConnection;
  readonly client: AgentClient;
  /** Temporal's own client, for workflows that are not agent runs. */
  readonly temporalClient: Client;
  readonly taskQueue: string;
  readonly store: Store;
  /** The real SDK of a vendor, pointed at the emulator. */
  readonly provider: Provider;
  /** Plays the model; script it. */
  readonly emulator: VendorEmulator;
}

/**
 * Runs an example in a world of its own and cleans up behind it.
 *
 * Temporal is the server that TEMPORAL_ADDRESS names, else an embedded one that ends with this process.
 */
export async function inOfflineWorld<Result>(
  taskQueue: string,
  work: (world: OfflineWorld) => Promise<Result>,
  environment: Environment = readEnvironment(),
): Promise<Result> {
  installRuntime('error');
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-example-'));
  const temporal = await openTemporal(environment, { untilExitOf: process.pid });
  const connection = await connectWorker(temporal);
  const clientConnection = await Connection.connect(temporal);
  const temporalClient = new Client({
    connection: clientConnection,
    namespace: temporal.namespace,
  });
  const store = await openStore(path.join(folder, 'store.db'));
  const client = new AgentClient(temporalClient, { taskQueue, store });
  const emulator = await VendorEmulator.start();
  const provider = anthropicProvider({ apiKey: 'none', baseUrl: emulator.url });
  try {
    return await work({ connection, client, temporalClient, taskQueue, store, provider, emulator });
  } finally {
    await emulator.stop();
    await store.close();
    await client.close();
    await connection.close();
    if (temporal.embedded?.attached === false) await temporal.embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs an example's main function and ends the process. */
export function runAsProgram(main: () => Promise<void>): void {
  main().then(
    () => process.exit(0),
    (thrown: unknown) => {
      console.error(thrown);
      process.exit(1);
    },
  );
}
