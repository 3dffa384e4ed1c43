/** Worker processes for tests: real children that are killed with SIGKILL and started again. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What to run. */
export interface WorkerProcessOptions {
  /** A TypeScript source or a compiled script. It prints `readyLine` on standard output when it serves. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default `ready`. */
  readonly readyLine?: string;
}

/** A child process that serves. */
export interface WorkerProcess {
  readonly pid: number;
  /** All that it printed on both outputs so far. */
  output(): string;
  /** Resolves when it has printed this text; rejects if it ends before. */
  printed(text: string): Promise<void>;
  /** SIGKILL, by pid; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code, null after a signal's death. */
  terminate(): Promise<number | null>;
  /** Sends SIGTERM and does not wait. */
  requestStop(): void;
  /** Resolves with the exit code when it has ended by itself. */
  exited(): Promise<number | null>;
}

const preload = path.join(__dirname, 'run-typescript.cjs');

/**
 * Starts a script as a process of its own and resolves when it is ready.
 *
 * The child ends by itself when the test process is gone. To restart one, call this again with the same options.
 */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const child = spawn(
    process.execPath,
    ['--require', preload, options.script, ...(options.args ?? [])],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...options.env } },
  );
  const worker = handleOf(child);
  // No deadline: a busy machine may take minutes, and a child that fails ends.
  await worker.printed(options.readyLine ?? 'ready');
  return worker;
}

function handleOf(child: ChildProcess): WorkerProcess {
  let text = '';
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of [...listeners]) listener();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      notify();
    });
  }
  const ended = once(child, 'close').then(() => child.exitCode);
  void ended.then(notify);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    output: () => text,
    printed: (wanted) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (text.includes(wanted)) {
            listeners.delete(check);
            resolve();
          } else if (hasEnded()) {
            listeners.delete(check);
            reject(new Error(`the process ended before it printed "${wanted}":\n${text}`));
          }
        };
        listeners.add(check);
        check();
      }),
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    terminate: async () => {
      child.kill('SIGTERM');
      return ended;
    },
    requestStop: () => {
      child.kill('SIGTERM');
    },
    exited: () => ended,
  };
}
