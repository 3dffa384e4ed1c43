/** Measures how a run's Temporal history grows with its iterations. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { scriptedProvider } from '../testing/scripted-provider';
import { agentRunWorkflow, defaultTaskQueue } from '../workflows/contract';
import type { RunOutcome } from '../workflows/core/run-outcome';
import { readChain, windowsOf } from './history-sizes';
import { connectWorker } from '../workers/worker-connection';
import { startEmbeddedServer } from '../workers/embedded-server';
import { createWorker } from '../workers/worker';

/** What the benchmark found. */
export interface HistoryBenchResult {
  /** Last iteration of each window. */
  readonly n: readonly number[];
  /** History bytes per iteration within each window, as protobuf. */
  readonly bytesPerIteration: readonly number[];
  readonly eventsPerIteration: readonly number[];
  readonly continuedAsNew: number;
  /** Largest history of one Temporal run of the chain, in bytes as the server counts them. */
  readonly largestRunBytes: number;
  /** Highest window over lowest window, from iteration 10 on. */
  readonly spread: number;
  /** What the run itself counted at its end. */
  readonly counted: { readonly iterations: number; readonly toolCallsSucceeded: number };
  readonly seconds: number;
}

/** Bytes of each tool result. */
const resultBytes = 5 * 1024;

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  execute: ({ n }) => `${n} `.padEnd(resultBytes, `entry ${n} `),
});

async function runChain(iterations: number, directory: string): Promise<HistoryBenchResult> {
  const startedAt = Date.now();
  const server = await startEmbeddedServer({
    stateFile: path.join(directory, 'temporal.db'),
    untilExitOf: process.pid,
  });
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const provider = scriptedProvider('scripted', (_request, index) =>
    index + 1 < iterations
      ? { toolCalls: [{ name: 'look', input: { n: index } }] }
      : { text: 'done' },
  );
  const connection = await connectWorker({ address: server.address });
  const worker = await createWorker({
    connection,
    activities: createActivities({
      store,
      providers: [provider],
      agents: [
        {
          name: 'looker',
          instructions: 'You look things up.',
          chain: [{ provider: 'scripted', model: 'scripted', windowTokens: 10_000_000 }],
          tools: [look],
          limits: {
            maxIterations: iterations,
            maxEvents: iterations * 10,
            maxToolCalls: iterations,
            maxActiveMs: 86_400_000,
          },
        },
      ],
    }),
  });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const handle = await client.workflow.start(agentRunWorkflow, {
    taskQueue: defaultTaskQueue,
    workflowId: `history-${startedAt}`,
    args: [{ request: { agent: 'looker', goal: 'Look things up.' } }],
  });
  const outcome = (await worker.runUntil(handle.result())) as RunOutcome;
  const chain = await readChain(client, handle.workflowId, handle.firstExecutionRunId);
  const windows = windowsOf(chain.sizes, iterations);
  const flat = windows.bytesPerIteration.slice(1);
  await connection.close();
  await store.close();
  await client.connection.close();
  await server.stop();
  return {
    ...windows,
    continuedAsNew: chain.runs - 1,
    largestRunBytes: chain.largestRunBytes,
    spread: Math.round((Math.max(...flat) / Math.min(...flat)) * 1000) / 1000,
    counted: {
      iterations: outcome.report.iterations,
      toolCallsSucceeded: outcome.report.toolCallsSucceeded,
    },
    seconds: Math.round((Date.now() - startedAt) / 100) / 10,
  };
}

/** Runs `iterations` iterations with 5 KB tool results on an embedded server, and reads the histories of the chain. */
export async function historyBench(iterations: number): Promise<HistoryBenchResult> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-bench-'));
  try {
    return await runChain(iterations, directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
