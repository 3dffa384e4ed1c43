/** Worker processes of the effects section: one serves, the next one stands by with its code loaded, since a start takes seconds. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What a worker serves, and with what. */
export interface EffectsWorkerSettings {
  readonly taskQueue: string;
  /** A worker that is stalled serves no workflow tasks: each that it polls would be lost for 10 s. */
  readonly serves: 'all' | 'workflows' | 'activities';
  readonly temporalAddress: string;
  readonly namespace: string;
  readonly store: string;
  readonly emulatorUrl: string;
  readonly bankUrl: string;
  /** Milliseconds after which a dead worker's calls are given to the next one. */
  readonly heartbeatTimeoutMs: number;
}

/** What a worker is told: when it is its turn, to block its event loop until a file is there, to say when no tool call runs. */
export type EffectsWorkerOrder =
  | { readonly type: 'serve'; readonly settings: EffectsWorkerSettings }
  | { readonly type: 'block'; readonly file: string }
  | { readonly type: 'drain' };

/** What a worker tells. */
export type EffectsWorkerMessage =
  | { readonly type: 'loaded' | 'ready' | 'blocked' | 'drained' }
  | { readonly type: 'failed'; readonly reason: string };

/** Agent of the section. */
export const effectsAgent = 'payer';
/** The workers, one at a time. */
export interface WorkerCrew {
  /** Resolves when the next worker stands by; a kill then comes at once. */
  standsBy(): Promise<void>;
  /** SIGKILL for the worker that serves; the next one serves when this resolves. */
  killAndReplace(before: () => void, after: () => void): Promise<void>;
  /** SIGKILLs sent so far. */
  kills(): number;
  dismiss(): Promise<void>;
}

const effectsWorker = path.join(__dirname, `effects-worker${path.extname(__filename)}`);

function isGone(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** SIGKILL, if the child lives. */
export async function kill(child: ChildProcess): Promise<void> {
  if (isGone(child)) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Resolves at this message of the child; rejects with its reason. */
export function messageFrom(
  child: ChildProcess,
  wanted: EffectsWorkerMessage['type'],
): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: EffectsWorkerMessage) => {
      if (message.type === wanted) resolve();
      if (message.type === 'failed') reject(new Error(message.reason));
    });
    child.once('exit', (code, signal) => {
      reject(
        new Error(`a worker ended before it was ${wanted} (${signal ?? `code ${code ?? 0}`})`),
      );
    });
  });
}

/** A process with its code loaded. */
export interface StandingBy {
  readonly child: ChildProcess;
  readonly loaded: Promise<void>;
}

/** Loads a worker's process; `execArgv` is what Node needs to run the script, which sends and receives the messages above. */
export function standBy(execArgv: readonly string[], script = effectsWorker): StandingBy {
  const child = fork(script, {
    execArgv: [...execArgv],
    stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
  });
  const loaded = messageFrom(child, 'loaded');
  loaded.catch(() => undefined);
  return { child, loaded };
}

/** Resolves when the process serves. */
export async function serveWith(
  { child, loaded }: StandingBy,
  settings: object,
): Promise<ChildProcess> {
  await loaded;
  const ready = messageFrom(child, 'ready');
  child.send({ type: 'serve', settings });
  await ready;
  return child;
}

/** Starts the crew. */
export async function startCrew(
  settings: object,
  execArgv: readonly string[],
  script = effectsWorker,
): Promise<WorkerCrew> {
  let serving = await serveWith(standBy(execArgv, script), settings);
  let next = standBy(execArgv, script);
  let kills = 0;
  return {
    standsBy: () => next.loaded,
    killAndReplace: async (before, after) => {
      before();
      await kill(serving);
      kills += 1;
      after();
      serving = await serveWith(next, settings);
      next = standBy(execArgv, script);
    },
    kills: () => kills,
    dismiss: async () => {
      await Promise.all([kill(serving), kill(next.child)]);
    },
  };
}
