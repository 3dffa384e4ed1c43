/** A peer in a process of its own, with its own packages, on its own version of Node if it needs a newer one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

/** What a peer's process is started with, as JSON. */
export interface PeerSettings {
  readonly address: string;
  readonly taskQueue: string;
  /** Of the relay: the run's name and `/v1` follow. */
  readonly baseUrl: string;
  readonly serviceUrl: string;
}

/** What it says of a run: that Temporal has it, or how it ended. */
type PeerMessage =
  | { readonly ready: true }
  | { readonly run: string; readonly started: true }
  | { readonly run: string; readonly status: 'completed'; readonly answer: string }
  | { readonly run: string; readonly status: 'failed'; readonly message: string };

/** A peer that takes runs. */
export interface PeerProcess {
  /** Resolves when the run has been started in Temporal, or has ended. */
  start(run: string): Promise<PeerMessage>;
  stop(): Promise<void>;
}

/** The newest that a peer asks for. */
const nodeMajor = 22;
const nodeFolder = path.join(process.cwd(), '.holdfast', 'peers', 'node');

/** A Node that is new enough: this one, or npm's package of it. Errors: npm could not install it. */
export async function peerNode(): Promise<string> {
  if (Number(process.versions.node.split('.')[0]) >= nodeMajor) return process.execPath;
  const found = path.join(
    nodeFolder,
    'node_modules',
    `node-${process.platform}-${process.arch}`,
    'bin',
    'node',
  );
  if (existsSync(found)) return found;
  await mkdir(nodeFolder, { recursive: true });
  const name = `node-${process.platform}-${process.arch}@${nodeMajor}`;
  const args = ['install', '--silent', '--no-audit', '--no-fund', '--prefix', nodeFolder, name];
  const npm = spawn('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0 || !existsSync(found))
    throw new Error(
      `npm could not install ${name}, which the peers need. Run on Node ${nodeMajor}.`,
    );
  return found;
}

/** Starts a peer; resolves when it takes runs. Errors: it ended before. */
export async function startPeer(
  node: string,
  file: string,
  settings: PeerSettings,
): Promise<PeerProcess> {
  const child = spawn(node, [file, JSON.stringify(settings)], {
    cwd: path.dirname(file),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const waiting = new Map<string, (message: PeerMessage) => void>();
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The peer ${file} ended with code ${String(code)} before it was ready.`);
  });
  ended.catch(() => undefined);
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: PeerMessage) => {
      if ('ready' in message) resolve();
      else waiting.get(message.run)?.(message);
    });
  });
  await Promise.race([ready, ended]);
  return {
    start: (run) =>
      new Promise((resolve) => {
        waiting.set(run, resolve);
        child.send({ run });
      }),
    stop: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
