/** A world whose worker is a process of `phase-worker.ts`, to be killed in a chosen phase and replaced. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { startDevServer, uniqueName } from './temporal';
import type { DevServer } from './temporal';
import { temporaryStore } from './temporary-store';
import { startWorkerProcess } from './worker-process';
import type { WorkerProcess } from './worker-process';

/** Server, emulator, store and the worker that serves now. */
export interface PhaseWorld {
  readonly server: DevServer;
  readonly emulator: VendorEmulator;
  readonly taskQueue: string;
  readonly storeUrl: string;
  /** A file of this world: `ledger` is written by the tools, `gate` lets them end. */
  readonly fileOf: (name: 'ledger' | 'gate') => string;
  /** Kills the worker that serves, and starts another once `meanwhile` is over: until then none lives. */
  readonly killAndReplace: (meanwhile?: () => Promise<void>) => Promise<void>;
  /** Starts another worker, and returns the one that served until now. */
  readonly replace: () => Promise<WorkerProcess>;
  readonly dispose: () => Promise<void>;
}

/** Starts a world; `name` tells its files and its task queue from others'. */
export async function startPhaseWorld(name: string): Promise<PhaseWorld> {
  const directory = await mkdtemp(path.join(tmpdir(), `holdfast-${name}-`));
  const server = await startDevServer();
  const emulator = await VendorEmulator.start();
  const stored = await temporaryStore();
  const taskQueue = uniqueName(name);
  const fileOf = (file: 'ledger' | 'gate'): string => path.join(directory, file);
  const startWorker = (): Promise<WorkerProcess> =>
    startWorkerProcess({
      script: path.join(__dirname, '..', 'faults', 'fixtures', 'phase-worker.ts'),
      env: {
        ADDRESS: server.address,
        TASK_QUEUE: taskQueue,
        STORE_URL: stored.url,
        EMULATOR_URL: emulator.baseUrl('anthropic'),
        LEDGER_FILE: fileOf('ledger'),
        GATE_FILE: fileOf('gate'),
      },
    });
  let serving = await startWorker();
  return {
    server,
    emulator,
    taskQueue,
    storeUrl: stored.url,
    fileOf,
    killAndReplace: async (meanwhile) => {
      await serving.kill();
      await meanwhile?.();
      serving = await startWorker();
    },
    replace: async () => {
      const leaving = serving;
      serving = await startWorker();
      return leaving;
    },
    dispose: async () => {
      await serving.kill();
      await server.close();
      await emulator.stop();
      await stored.dispose();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
