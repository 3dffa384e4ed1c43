/** The worker as the command sees it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { WorkerAnswer, WorkerRequest } from './protocol';

/** What the worker works on. */
export interface WorkerPlace {
  /** Root of the project; paths of tests and modules start there. */
  readonly root: string;
  /** Code with all mutants in it, under the same paths as the sources. */
  readonly codeFolder: string;
}

/** A worker that answers one request after the other. */
export interface MutationWorker {
  /** Resolves with the answer, or with `timeout` or `ended`; after these two, the worker is gone. */
  ask(request: WorkerRequest, deadlineMs: number): Promise<WorkerAnswer | 'timeout' | 'ended'>;
  stop(): Promise<void>;
}

const preload = path.join(__dirname, 'load-mutants.cjs');

/** Starts a worker; with `fixedMutant`, that mutant is active from before any file is loaded. */
export function startWorker(
  { root, codeFolder }: WorkerPlace,
  fixedMutant?: string,
): MutationWorker {
  const child = spawn(
    process.execPath,
    [
      ...['--require', preload, path.join(__dirname, 'worker.ts'), root, codeFolder],
      ...(fixedMutant === undefined ? [] : [fixedMutant]),
    ],
    { cwd: root, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] },
  );
  const gone = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  return {
    ask: async (request, deadlineMs) => {
      const waiting = new AbortController();
      const { signal } = waiting;
      const deadline = setTimeout(() => {
        waiting.abort();
      }, deadlineMs);
      child.send(request, () => undefined);
      try {
        return await Promise.race([
          once(child, 'message', { signal }).then(([answer]) => answer as WorkerAnswer),
          gone.then(() => 'ended' as const),
        ]);
      } catch {
        await stop();
        return 'timeout';
      } finally {
        clearTimeout(deadline);
      }
    },
    stop,
  };
}
