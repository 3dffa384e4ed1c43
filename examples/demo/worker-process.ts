/** Starts the demo's workers as child processes, kills one, and puts another in its place. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Input of a worker process. */
export interface WorkerSettings {
  readonly temporalAddress: string;
  readonly taskQueue: string;
  readonly store: string;
  /** Absent: the models of the environment. */
  readonly emulatorUrl?: string;
}

/** Output of a worker process. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'tool-started'; readonly tool: string }
  | { readonly type: 'failed'; readonly reason: string };

/** A worker process that serves. */
export interface WorkerProcess {
  readonly pid: number;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when the process is gone. */
  stop(): Promise<void>;
}

const script = path.join(__dirname, `demo-worker${path.extname(__filename)}`);

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Starts a process that loads what a worker needs and waits for its settings; it ends with this process. */
export function forkWorker(): ChildProcess {
  return fork(script, { stdio: ['pipe', 'ignore', 'inherit', 'ipc'] });
}

/**
 * Makes a worker of a process from `forkWorker`; resolves when it serves.
 *
 * Errors: rejects with the worker's own reason, or its exit code, if it ends before.
 */
export function startWorker(
  child: ChildProcess,
  settings: WorkerSettings,
  onToolStart: (worker: WorkerProcess, tool: string) => void,
): Promise<WorkerProcess> {
  child.send(settings);
  const worker: WorkerProcess = {
    pid: child.pid ?? 0,
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
  };
  return new Promise((resolve, reject) => {
    child.on('message', (message: WorkerMessage) => {
      switch (message.type) {
        case 'ready':
          resolve(worker);
          return;
        case 'tool-started':
          onToolStart(worker, message.tool);
          return;
        case 'failed':
          reject(new Error(message.reason));
          return;
      }
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      reject(
        new Error(`The worker ended before it served (${signal ?? `exit code ${code ?? 0}`}).`),
      );
    });
  });
}
