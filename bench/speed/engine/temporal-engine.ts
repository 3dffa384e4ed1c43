/**
 * An engine made of a Temporal worker and client alone. The engine hands in its own copy of Temporal's packages, so that each
 * runs on the version that its lock file pins. This file imports none.
 */
import { access, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type * as protoModule from '@temporalio/proto';
import type * as workerModule from '@temporalio/worker';
import type { Engine, EngineContext, HistoryFile, TemporalEngineParts } from './engine';

function problemsOnly({ DefaultLogger }: typeof workerModule): workerModule.Logger {
  return new DefaultLogger('ERROR', ({ message, meta }) => {
    process.stderr.write(`${message} ${String(meta?.['error'] ?? '')}\n`);
  });
}

/** Makes it: default identity, default options, a bundle that `prepare` has built. */
export function makeTemporalEngine(context: EngineContext, parts: TemporalEngineParts): Engine {
  const { worker: sdk, client: clientSdk, proto } = parts.packages;
  const { plugins = [], clientPlugins = [], workflowsPath } = parts;
  const codePath = path.join(context.directory, 'bundle.js');
  const logger = problemsOnly(sdk);
  const telemetryOptions = { logging: { filter: 'OFF', forward: {} } };
  return {
    versions: parts.versions,
    prepare: async () => {
      const options = { workflowsPath, plugins, logger, ...parts.bundlerOptions };
      const { code } = await sdk.bundleWorkflowCode(options);
      await writeFile(codePath, code);
    },
    serve: async () => {
      sdk.Runtime.install({ logger, telemetryOptions });
      await access(codePath);
      const { address, taskQueue } = context;
      const connection = await sdk.NativeConnection.connect({ address });
      const worker = await sdk.Worker.create({
        connection,
        taskQueue,
        workflowBundle: { codePath },
        activities: parts.activities,
        plugins,
      });
      const running = worker.run();
      const client = new clientSdk.Client({
        connection: await clientSdk.Connection.connect({ address }),
        plugins: clientPlugins,
      });
      return {
        run: async (workflowId, task) => {
          const { type, args } = parts.workflowFor(task);
          await client.workflow.execute(type, { workflowId, taskQueue, args });
        },
        stop: async () => {
          worker.shutdown();
          await running;
        },
      };
    },
    replay: async (histories) => {
      sdk.Runtime.install({ logger, telemetryOptions });
      const options = { workflowBundle: { codePath }, plugins };
      await replayAll(histories, options, sdk, proto);
    },
  };
}

/** Replays each history, in one worker. Errors: rejects at the first that does not replay. */
export async function replayAll(
  histories: readonly HistoryFile[],
  options: workerModule.ReplayWorkerOptions,
  { Worker }: Pick<typeof workerModule, 'Worker'>,
  { temporal }: typeof protoModule,
): Promise<void> {
  const read = async function* () {
    for (const { workflowId, file } of histories)
      yield {
        workflowId,
        history: temporal.api.history.v1.History.decode(await readFile(file)),
      };
  };
  for await (const { error, workflowId } of Worker.runReplayHistories(options, read()))
    if (error !== undefined)
      throw new Error(`The history of ${workflowId} does not replay`, { cause: error });
}
