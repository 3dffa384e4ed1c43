/** Temporal servers for tests: one that all files of a jest run share, one of a file's own, and one that skips time. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { msToTs } from '@temporalio/common/lib/time';
import { Connection, isGrpcServiceError, WorkflowClient } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { EmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { closedConnection } from '../../client/closed-connection';
import { readEnvironment } from '../../workers/env';
import { findTemporalProgram } from '../../workers/temporal-server/find-program';
import { registerSearchAttributes } from '../../workers/search-attributes';
import { startTestServer } from '../../testing/agent/test-server';
import { loadWorkflowBundle } from '../../workers/workflow-bundle';

/** A server and the connections of one test file to it. */
export interface DevServer {
  readonly address: string;
  readonly uiUrl: string;
  /** For clients and workers of the test's own: not always `default`. */
  readonly namespace: string;
  readonly client: WorkflowClient;
  readonly connection: Connection;
  /** For `Worker.create`. */
  readonly nativeConnection: NativeConnection;
  /** Closes the connections, and ends a server of the test's own. The shared one ends with jest. */
  close(): Promise<void>;
}

/** Set by `global-setup.cjs`: the pid of jest itself, which the shared server must not outlive. */
const runPidVariable = 'HOLDFAST_TEST_RUN_PID';

/** `host:port` of a server that runs already, for all that share one, as CONTRIBUTING says. Default: a dev server. */
const serverVariable = 'HOLDFAST_TEST_TEMPORAL';

/** gRPC's already-exists. */
const alreadyExists = 6;

/**
 * Makes the Temporal SDK's core quiet. Idempotent; called by the other functions here.
 *
 * Contract: to be called before anything else touches the SDK's runtime in this process.
 */
export function quietTemporal(): void {
  if (Runtime._instance !== undefined) return;
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF' } },
    shutdownSignals: [],
  });
}

/** Where the `temporal` program is: found or fetched as for users. */
export function temporalExecutable(): Promise<string> {
  return findTemporalProgram(readEnvironment());
}

/**
 * Connects to the server that all test files of one jest run share: a dev server, which the first caller starts, or the one that
 * `HOLDFAST_TEST_TEMPORAL` names.
 *
 * Use names that are your own: `uniqueName('queue')` for the task queue and workflow ids. A test that stops or kills
 * a server starts its own with `startEmbeddedServer`.
 */
export async function startDevServer(): Promise<DevServer> {
  return connectTo(await sharedServer());
}

/** What a server of a test's own does otherwise than the shared one, by one of two settings. */
interface OwnServerSettings {
  /** Events after which the server suggests a new segment to a run: a number of `temporal-dynamic-config.yaml`. */
  readonly rollsOverAfter?: 20 | 24 | 30 | 60;
  /** Whether the server sends cancels to workers itself. Default: yes. */
  readonly sendsCancels?: false;
}

/**
 * A server with no runs but the test's own, or with these settings: an embedded one, or a namespace of the server that
 * `HOLDFAST_TEST_TEMPORAL` names. There, `temporal-dynamic-config.yaml` gives the settings to namespaces by their names.
 *
 * Contract: with settings there may be runs of other tests in the namespace.
 */
export async function startOwnServer(settings: OwnServerSettings = {}): Promise<DevServer> {
  const { rollsOverAfter, sendsCancels } = settings;
  const address = process.env[serverVariable];
  if (address !== undefined) {
    const configured =
      (rollsOverAfter && `rolls-over-after-${rollsOverAfter}`) ??
      (sendsCancels === false ? 'sends-no-cancels' : undefined);
    const namespace = configured ?? uniqueName('own');
    await makeNamespace(address, namespace);
    const server = await connectTo({ address, uiUrl: `http://${address}` }, namespace);
    if (configured !== undefined) return server;
    return closingWith(server, () =>
      onServer(address, async ({ operatorService }) => {
        await operatorService.deleteNamespace({ namespace });
      }),
    );
  }
  const embedded = await startEmbeddedServer({
    untilExitOf: process.pid,
    dynamicConfig: {
      ...(rollsOverAfter && { 'limit.historyCount.suggestContinueAsNew': rollsOverAfter }),
      ...(sendsCancels === false && { 'frontend.WorkerCommandsEnabled': false }),
    },
  });
  return closingWith(await connectTo(embedded), () => embedded.stop());
}

/** The same server, whose `close` does this last. */
function closingWith(server: DevServer, end: () => Promise<void>): DevServer {
  return {
    ...server,
    close: async () => {
      await server.close();
      await end();
    },
  };
}

/** Connects to a server that serves this namespace. */
export async function connectTo(
  server: Pick<EmbeddedServer, 'address' | 'uiUrl'>,
  namespace = 'default',
): Promise<DevServer> {
  quietTemporal();
  const { address, uiUrl } = server;
  const connection = await Connection.connect({ address, plugins: [closedConnection] });
  const nativeConnection = await NativeConnection.connect({ address });
  return {
    address,
    uiUrl,
    namespace,
    client: new WorkflowClient({ connection, namespace }),
    connection,
    nativeConnection,
    close: async () => {
      await nativeConnection.close();
      await connection.close();
    },
  };
}

/**
 * Starts a server that skips time while a result is awaited: days pass in milliseconds.
 *
 * One per test file; end it with `teardown()`. Time is one for the whole environment, so run its tests one by one. It
 * knows no search attributes and not every feature of the real server: use it for timers, cooldowns and expiries.
 */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  quietTemporal();
  return startTestServer();
}

/** The prebuilt bundle of the workflows at this path (default: Holdfast's), shared by all jest workers. */
export async function workflowBundle(workflowsPath?: string): Promise<{ readonly code: string }> {
  const { cacheDirectory } = readEnvironment();
  return loadWorkflowBundle({
    cacheDirectory,
    ...(workflowsPath === undefined ? {} : { workflowsPath }),
  });
}

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

/** State file of the server that the run of jest with this pid shares. */
function sharedStateFile(runPid: number): string {
  return path.join(tmpdir(), `holdfast-test-${runPid}`, 'temporal.db');
}

async function sharedServer(): Promise<Pick<EmbeddedServer, 'address' | 'uiUrl'>> {
  const address = process.env[serverVariable];
  if (address !== undefined) {
    await makeNamespace(address, 'default');
    return { address, uiUrl: `http://${address}` };
  }
  const runPid = Number(process.env[runPidVariable]);
  if (!Number.isInteger(runPid) || runPid <= 0) {
    throw new Error(`${runPidVariable} is not set: run tests with jest and its global setup`);
  }
  return startEmbeddedServer({ stateFile: sharedStateFile(runPid), untilExitOf: runPid });
}

/** Makes the namespace on a given server unless it is there, with Holdfast's search attributes; resolves when it serves runs. */
function makeNamespace(address: string, namespace: string): Promise<void> {
  return onServer(address, async (connection) => {
    await connection.workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') })
      .catch((thrown: unknown) => {
        const code: number | undefined = isGrpcServiceError(thrown) ? thrown.code : undefined;
        if (code !== alreadyExists) throw thrown;
      });
    await registerSearchAttributes(connection, namespace);
  });
}

async function onServer(
  address: string,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const connection = await Connection.connect({ address, plugins: [closedConnection] });
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}
