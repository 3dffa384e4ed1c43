/** A deployment whose every file can be searched: Temporal with its state in a file, a store, workers that come one after another. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { createActivities, type AgentDefinition, type Encryption } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openStore } from '../../../activities/stores/open-store';
import { openConnection } from '../../../client/connect';
import { AgentClient } from '../../../client/index';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { readEnvironment } from '../../../workers/env';
import { createLogger, installRuntime } from '../../../workers/logging';
import { startEmbeddedServer } from '../../../workers/temporal-server/embedded-server';
import { createWorker } from '../../../workers/worker';
import { connectWorker } from '../../../workers/worker-connection';

const { History } = temporal.api.history.v1;
const { WorkflowExecutionInfo } = temporal.api.workflow.v1;
const taskQueue = 'encryption';
const namespace = 'default';

/** The deployment while it stands. */
export interface EncryptionWorld {
  readonly emulator: VendorEmulator;
  /** A client with this encryption. */
  readonly clientWith: (encryption: Encryption | undefined) => AgentClient;
  /** Works with this encryption while `work` is at it. */
  readonly working: <Result>(
    encryption: Encryption | undefined,
    work: () => Promise<Result>,
  ) => Promise<Result>;
  /** All bytes that are kept, by place. */
  bytes(): Promise<Readonly<Record<string, Buffer>>>;
}

async function filesIn(folder: string, prefix: string): Promise<Buffer> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  return Buffer.concat(await Promise.all(names.map((name) => readFile(path.join(folder, name)))));
}

/** Histories and what lists show, as the server sends them to anybody, and the files of server and store. */
async function keptBytes(client: Client, folder: string): Promise<Record<string, Buffer>> {
  const histories: Uint8Array[] = [];
  const shown: Uint8Array[] = [];
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace });
  for (const info of executions) {
    const { workflowId, runId } = info.execution ?? {};
    const handle = client.workflow.getHandle(workflowId ?? '', runId ?? '');
    const { events } = await handle.fetchHistory();
    histories.push(History.encode({ events: events ?? [] }).finish());
    shown.push(WorkflowExecutionInfo.encode(info).finish());
  }
  return {
    history: Buffer.concat(histories),
    visibility: Buffer.concat(shown),
    store: await filesIn(folder, 'store.db'),
    server: await filesIn(folder, 'temporal.db'),
  };
}

/** Runs `work` in a world of its own; everything that it started has ended when this resolves. */
export async function inEncryptionWorld<Result>(
  agents: readonly AgentDefinition[],
  work: (world: EncryptionWorld) => Promise<Result>,
): Promise<Result> {
  installRuntime(createLogger('silent'));
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-encryption-'));
  const emulator = await VendorEmulator.start();
  const server = await startEmbeddedServer({
    stateFile: path.join(folder, 'temporal.db'),
    untilExitOf: process.pid,
  });
  const { address } = server;
  const connection = await openConnection({ address, namespace });
  const provider = anthropicProvider({
    apiKey: 'test-key',
    baseUrl: emulator.baseUrl('anthropic'),
  });
  const converting = (encryption: Encryption | undefined) =>
    encryption === undefined ? {} : { dataConverter: encryption.dataConverter };
  try {
    return await work({
      emulator,
      clientWith: (encryption) =>
        new AgentClient(new Client({ connection, ...converting(encryption) }), { taskQueue }),
      working: async (encryption, during) => {
        const options = encryption === undefined ? {} : { encryption };
        const native = await connectWorker({ address });
        const store = await openStore(path.join(folder, 'store.db'), options);
        try {
          const worker = await createWorker({
            connection: native,
            taskQueue,
            ...options,
            activities: createActivities({ store, providers: [provider], agents }),
            cacheDirectory: readEnvironment().cacheDirectory,
            shutdownGraceMs: 1_000,
          });
          return await worker.runUntil(during);
        } finally {
          await store.close();
          await native.close();
        }
      },
      bytes: () => keptBytes(new Client({ connection }), folder),
    });
  } finally {
    await connection.close();
    await server.stop();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
