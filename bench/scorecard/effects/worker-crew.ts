/** Worker processes of the effects section: one serves, the next one stands by with its code loaded, since a start takes seconds. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** The message to a worker when it is its turn. */
export interface EffectsWorkerSettings {
  readonly temporalAddress: string;
  readonly store: string;
  readonly emulatorUrl: string;
  readonly bankUrl: string;
  /** Milliseconds after which a dead worker's calls are given to the next one. */
  readonly heartbeatTimeoutMs: number;
}

/** What a worker tells. */
export type EffectsWorkerMessage =
  | { readonly type: 'loaded' }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** Agent of the section. */
export const effectsAgent = 'payer';
/** Task queue of the section. */
export const effectsTaskQueue = 'effects';

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

async function kill(child: ChildProcess): Promise<void> {
  if (isGone(child)) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Resolves at this message of the child; rejects with its reason. */
function messageFrom(child: ChildProcess, wanted: EffectsWorkerMessage['type']): Promise<void> {
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

/** Starts the crew; `execArgv` is what Node needs to run the worker's script, which sends and takes the messages above. */
export async function startCrew(
  settings: object,
  execArgv: readonly string[],
  script = effectsWorker,
): Promise<WorkerCrew> {
  const load = (): ChildProcess =>
    fork(script, { execArgv: [...execArgv], stdio: ['pipe', 'ignore', 'inherit', 'ipc'] });
  const serveWith = async (child: ChildProcess, loaded: Promise<void>): Promise<ChildProcess> => {
    await loaded;
    const ready = messageFrom(child, 'ready');
    child.send(settings);
    await ready;
    return child;
  };
  const standBy = (): { child: ChildProcess; loaded: Promise<void> } => {
    const child = load();
    const loaded = messageFrom(child, 'loaded');
    loaded.catch(() => undefined);
    return { child, loaded };
  };
  const first = standBy();
  let serving = await serveWith(first.child, first.loaded);
  let next = standBy();
  let kills = 0;
  return {
    standsBy: () => next.loaded,
    killAndReplace: async (before, after) => {
      before();
      await kill(serving);
      kills += 1;
      after();
      serving = await serveWith(next.child, next.loaded);
      next = standBy();
    },
    kills: () => kills,
    dismiss: async () => {
      await Promise.all([kill(serving), kill(next.child)]);
    },
  };
}
