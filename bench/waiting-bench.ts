/** Measures what runs cost that wait for a person: the worker's and the server's CPU meanwhile, memory, disk, and that they wake. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { AgentClient } from '../client/agent-client';
import { scriptedProvider } from '../testing/scripted-provider';
import { readEnvironment } from '../workers/env';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';
import { createWorker } from '../workers/worker';
import { connectWorker } from '../workers/worker-connection';
import { cpuMsOf } from './speed/server-usage';

/** Runs that are started, or woken, at once. */
const lanes = 20;
/** Seconds in which nothing happens, after as many in which the last steps end. */
const quietSeconds = 20;
/** Runs that are woken at the end. */
const mostWoken = 100;
const mib = 1024 * 1024;

/** What the benchmark found. */
export interface WaitingBenchResult {
  readonly runs: number;
  /** From the first start until the last run waited. */
  readonly startSeconds: number;
  /** Milliseconds of CPU in a second in which all runs wait. */
  readonly workerCpuMs: number;
  readonly serverCpuMs: number | undefined;
  readonly workerMiB: number;
  /** Bytes on the disk for each run. */
  readonly storeBytes: number;
  readonly serverBytes: number;
  /** Of the runs that were woken, those that completed, and how long all of them took. */
  readonly woken: { readonly runs: number; readonly completed: number; readonly seconds: number };
}

const decide = defineTool({
  name: 'decide',
  description: 'Does what a person has allowed.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute: () => 'done',
});

const provider = scriptedProvider('scripted', ({ messages }) =>
  messages.some(({ role }) => role === 'tool')
    ? { text: 'All is done.' }
    : { toolCalls: [{ name: 'decide', input: {} }] },
);

async function inLanes(
  runIds: readonly string[],
  work: (runId: string) => Promise<void>,
): Promise<void> {
  const rest = [...runIds];
  const lane = async (): Promise<void> => {
    for (let runId = rest.pop(); runId !== undefined; runId = rest.pop()) await work(runId);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The item that a run waits with, once it does. */
async function waitingItem(client: AgentClient, runId: string): Promise<string> {
  for (;;) {
    const [item] = await client.run(runId).pending();
    if (item?.type === 'approval') return item.approvalId;
    await sleep(50);
  }
}

async function measured(
  client: AgentClient,
  runs: number,
  serverPid: number,
): Promise<Omit<WaitingBenchResult, 'storeBytes' | 'serverBytes'>> {
  const runIds = Array.from({ length: runs }, (_, n) => `waiting-${n}`);
  const startedAtMs = performance.now();
  await inLanes(runIds, async (runId) => {
    await client.start({ agent: 'waiter', goal: 'Wait for a person.', runId });
    await waitingItem(client, runId);
  });
  const startSeconds = secondsSince(startedAtMs);
  await sleep(quietSeconds * 1_000);
  const serverBefore = await cpuMsOf(serverPid);
  const before = process.cpuUsage();
  await sleep(quietSeconds * 1_000);
  const { user, system } = process.cpuUsage(before);
  const serverAfter = await cpuMsOf(serverPid);
  const isKnown = serverBefore !== undefined && serverAfter !== undefined;
  const workerMiB = Math.round(process.memoryUsage.rss() / mib);
  const wokenIds = runIds.slice(0, mostWoken);
  const wokenAtMs = performance.now();
  let completed = 0;
  await inLanes(wokenIds, async (runId) => {
    const run = client.run(runId);
    await run.approve(await waitingItem(client, runId));
    if ((await run.outcome()).status === 'completed') completed += 1;
  });
  return {
    runs,
    startSeconds,
    workerCpuMs: Math.round((user + system) / 1_000 / quietSeconds),
    serverCpuMs: isKnown ? Math.round((serverAfter - serverBefore) / quietSeconds) : undefined,
    workerMiB,
    woken: { runs: wokenIds.length, completed, seconds: secondsSince(wokenAtMs) },
  };
}

function secondsSince(startMs: number): number {
  return Math.round((performance.now() - startMs) / 100) / 10;
}

async function bytesOf(file: string): Promise<number> {
  const sizes = await Promise.all(
    [file, `${file}-wal`].map((each) =>
      stat(each).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Starts so many runs that wait for an approval, on one worker with a SQLite store. */
export async function waitingBench(runs: number): Promise<WaitingBenchResult> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-waiting-'));
  const stateFile = path.join(directory, 'temporal.db');
  const storeFile = path.join(directory, 'store.db');
  const server = await startEmbeddedServer({ stateFile, untilExitOf: process.pid });
  const store = await openStore(`sqlite:${storeFile}`);
  const connection = await connectWorker({ address: server.address });
  const taskQueue = 'waiting';
  const chain = [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }] as const;
  const agent = { name: 'waiter', instructions: 'You wait.', chain, tools: [decide] };
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents: [agent] }),
  });
  const temporal = new Client({
    connection: await Connection.connect({ address: server.address }),
  });
  const client = new AgentClient(temporal, { taskQueue });
  const found = await worker.runUntil(() => measured(client, runs, server.pid));
  await client.close();
  await connection.close();
  await store.close();
  await server.stop();
  const [storeBytes, serverBytes] = await Promise.all([bytesOf(storeFile), bytesOf(stateFile)]);
  await rm(directory, { recursive: true, force: true });
  return {
    ...found,
    storeBytes: Math.round(storeBytes / runs),
    serverBytes: Math.round(serverBytes / runs),
  };
}
