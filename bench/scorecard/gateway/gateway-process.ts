/** The gateway as a process of its own, as `holdfast serve` runs it, so that it can be killed. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { kill } from '../effects/worker-crew';

/** How it is run. */
export interface GatewaySettings {
  readonly folder: string;
  readonly port: number;
  readonly temporalAddress: string;
  readonly store: string;
  readonly taskQueue: string;
  /** JSON list of tokens. */
  readonly tokens: string;
}

/** A gateway that serves. */
export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** The end of what it wrote to its log. */
  log(): string;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** The built command, also where this file runs as TypeScript. */
const program = path.resolve(
  ...[__dirname, '../../..', ...(path.extname(__filename) === '.ts' ? ['dist'] : [])],
  'workers/cli.js',
);

/** Resolves when it serves. Errors: it ended before. */
export async function startGateway(settings: GatewaySettings): Promise<GatewayProcess> {
  const { folder, port, temporalAddress, store, taskQueue, tokens } = settings;
  const args = [program, 'serve', '--json', '--port', String(port)];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: '/usr/bin:/bin',
      HOME: folder,
      TEMPORAL_ADDRESS: temporalAddress,
      HOLDFAST_STATE_DIR: path.join(folder, 'state'),
      HOLDFAST_STORE: store,
      HOLDFAST_TASK_QUEUE: taskQueue,
      HOLDFAST_GATEWAY_TOKENS: tokens,
      HOLDFAST_LOG_LEVEL: 'error',
    },
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = `${log}${chunk.toString()}`.slice(-4_000);
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the gateway ended before it served: ${log}`);
  });
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  return { child, url, log: () => log, kill: () => kill(child) };
}
