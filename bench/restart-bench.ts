/** Measures what a rolling restart costs: many runs on three worker processes, one of which is ended and started again every 5 s. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../client/connect';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';
import { kill, serveWith, standBy } from './scorecard/effects/worker-crew';

const workers = 3;
const everySeconds = 5;
/** Iterations of a run with a call of the tool; one more answers. */
const steps = 6;

/** What a worker is told. */
export interface RestartSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly storeUrl: string;
  readonly steps: number;
  /** Gets a line for each execution of the tool: its idempotency key. */
  readonly callsFile: string;
  readonly runs: number;
}

/** How runs fared. */
interface RestartRow {
  /** How workers are ended; `none` is the undisturbed fleet. */
  readonly by: 'none' | 'SIGTERM' | 'SIGKILL';
  readonly restarts: number;
  readonly completed: number;
  /** Runs that ended as cancelled, and tool calls that were told to the model as cancelled or failed. */
  readonly cancelled: number;
  readonly failedCalls: number;
  /** Calls of the tool that were executed more than once. */
  readonly repeatedCalls: number;
  readonly seconds: number;
}

const script = path.join(__dirname, `restart-worker${path.extname(__filename)}`);

async function startOne(settings: RestartSettings): Promise<ChildProcess> {
  return serveWith(standBy([], script), settings);
}

async function endOne(child: ChildProcess, by: RestartRow['by']): Promise<void> {
  if (by === 'SIGKILL') return kill(child);
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/** Ends one worker after the other, every few seconds, and starts it again, until `isOver`; returns how often. */
async function restart(
  crew: Promise<ChildProcess>[],
  settings: RestartSettings,
  by: RestartRow['by'],
  isOver: () => boolean,
): Promise<number> {
  for (let restarts = 0; ; restarts += 1) {
    const dueAtMs = Date.now() + everySeconds * 1_000;
    while (Date.now() < dueAtMs && !isOver()) await sleep(50);
    const at = restarts % workers;
    const child = await crew[at];
    if (isOver() || child === undefined) return restarts;
    crew[at] = endOne(child, by).then(() => startOne(settings));
  }
}

async function measured(by: RestartRow['by'], runs: number): Promise<RestartRow> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-restarts-'));
  const server = await startEmbeddedServer({ untilExitOf: process.pid });
  const callsFile = path.join(directory, 'calls');
  const settings: RestartSettings = {
    address: server.address,
    taskQueue: 'restarts',
    storeUrl: `sqlite:${path.join(directory, 'store.db')}`,
    ...{ steps, callsFile, runs },
  };
  const crew = Array.from({ length: workers }, () => startOne(settings));
  await Promise.all(crew);
  const client = await connect({ address: server.address, taskQueue: settings.taskQueue });
  const beganAtMs = Date.now();
  let isOver = false;
  const restarting = by === 'none' ? 0 : restart(crew, settings, by, () => isOver);
  const outcomes = await Promise.all(
    Array.from({ length: runs }, async () => {
      const handle = await client.start({ agent: 'stepper', goal: 'Work.' });
      return handle.outcome();
    }),
  );
  const seconds = Math.round((Date.now() - beganAtMs) / 100) / 10;
  isOver = true;
  const restarts = await restarting;
  const calls = (await readFile(callsFile, 'utf8')).trimEnd().split('\n');
  await Promise.all((await Promise.all(crew)).map(kill));
  await client.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
  const withStatus = (status: string): number =>
    outcomes.filter((outcome) => outcome.status === status).length;
  return {
    by,
    restarts,
    completed: withStatus('completed'),
    cancelled: withStatus('cancelled'),
    failedCalls: outcomes.flatMap(({ report }) => report.didNotWork).length,
    repeatedCalls: calls.length - new Set(calls).size,
    seconds,
  };
}

/** Runs so many runs undisturbed, under restarts, and under kills. */
export async function restartBench(runs: number): Promise<{
  readonly runs: number;
  readonly workers: number;
  readonly rows: readonly RestartRow[];
}> {
  const rows: RestartRow[] = [];
  for (const by of ['none', 'SIGTERM', 'SIGKILL'] as const) rows.push(await measured(by, runs));
  return { runs, workers, rows };
}
