/** Measures how long a cancel takes while a tool that heeds its signal runs, and what a call that lasts costs the server meanwhile. */
import { mkdtemp, rm } from 'node:fs/promises';
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

/** How a cancel comes to a call: `sent` by the server, or with the `answer` to the worker's next heartbeat. */
const ways = {
  sent: {},
  answer: { dynamicConfig: { 'frontend.WorkerCommandsEnabled': false } },
} as const;

/** Milliseconds for which the calls just last. */
const quietMs = 20_000;

/** What one way costs. */
interface CancelRow {
  readonly way: keyof typeof ways;
  /** Milliseconds from the cancel to the tool's signal, and to the run's end: median and worst of the runs. */
  readonly signalMs: readonly [median: number, worst: number];
  readonly endMs: readonly [median: number, worst: number];
  /** Milliseconds of the server's CPU per second of one call that lasts. */
  readonly serverCpuMs: number | undefined;
}

const signaledAt = new Map<string, number>();
const startedCalls = new Map<string, () => void>();

const hang = defineTool({
  name: 'hang',
  description: 'Waits until it is told to stop.',
  input: z.object({}),
  effect: 'keyed',
  timeoutMs: 3_600_000,
  execute: (_input, { signal, runId }) =>
    new Promise<string>((_resolve, reject) => {
      startedCalls.get(runId)?.();
      signal.addEventListener('abort', () => {
        signaledAt.set(runId, performance.now());
        reject(new Error('told to stop'));
      });
    }),
});

function medianAndWorst(values: readonly number[]): readonly [number, number] {
  const sorted = values.map(Math.round).sort((left, right) => left - right);
  return [sorted[Math.floor(sorted.length / 2)] ?? NaN, sorted.at(-1) ?? NaN];
}

async function cancelled(client: AgentClient, runId: string): Promise<[number, number]> {
  const atMs = performance.now();
  const run = client.run(runId);
  await run.cancel();
  await run.outcome();
  return [(signaledAt.get(runId) ?? NaN) - atMs, performance.now() - atMs];
}

async function measured(way: keyof typeof ways, runs: number): Promise<CancelRow> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-cancel-'));
  const stateFile = path.join(directory, 'temporal.db');
  const server = await startEmbeddedServer({ stateFile, untilExitOf: process.pid, ...ways[way] });
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const connection = await connectWorker({ address: server.address });
  const taskQueue = 'cancel';
  const provider = scriptedProvider('scripted', () => ({
    toolCalls: [{ name: 'hang', input: {} }],
  }));
  const agent = {
    name: 'hanger',
    instructions: 'You wait.',
    chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }],
    tools: [hang],
  } as const;
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    taskQueue,
    maxConcurrentActivities: runs + 10,
    activities: createActivities({ store, providers: [provider], agents: [agent] }),
  });
  const temporal = new Client({
    connection: await Connection.connect({ address: server.address }),
  });
  const client = new AgentClient(temporal, { taskQueue });
  const row = await worker.runUntil(async () => {
    const runIds = Array.from({ length: runs }, (_, n) => `${way}-${n}`);
    const hanging = runIds.map((runId) => {
      const begun = new Promise<void>((resolve) => startedCalls.set(runId, resolve));
      return client.start({ agent: 'hanger', goal: 'Wait.', runId }).then(() => begun);
    });
    await Promise.all(hanging);
    const cpuMs = await cpuMsOf(server.pid);
    await sleep(quietMs);
    const laterMs = await cpuMsOf(server.pid);
    const times: [number, number][] = [];
    for (const [n, runId] of runIds.entries()) {
      // At every point between two heartbeats.
      await sleep(300 + ((n * 370) % 1_500));
      times.push(await cancelled(client, runId));
    }
    const spentMs =
      cpuMs === undefined || laterMs === undefined ? undefined : (laterMs - cpuMs) / runs;
    return {
      way,
      signalMs: medianAndWorst(times.map(([signal]) => signal)),
      endMs: medianAndWorst(times.map(([, end]) => end)),
      serverCpuMs:
        spentMs === undefined ? undefined : Math.round((spentMs / quietMs) * 100_000) / 100,
    };
  });
  await client.close();
  await connection.close();
  await store.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
  return row;
}

/** Cancels so many runs, one after the other, each way. */
export async function cancelBench(
  runs: number,
): Promise<{ readonly runs: number; readonly rows: readonly CancelRow[] }> {
  const rows: CancelRow[] = [];
  for (const way of ['sent', 'answer'] as const) rows.push(await measured(way, runs));
  return { runs, rows };
}
