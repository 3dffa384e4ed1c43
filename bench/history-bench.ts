/** Measures how a run's Temporal history grows with its iterations. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { scriptedProvider } from '../testing/scripted-provider';
import { agentRunWorkflow, defaultTaskQueue } from '../workflows/contract';
import type { RunOutcome } from '../workflows/core/run-outcome';
import { connectWorker } from '../workers/connection';
import { startEmbeddedServer } from '../workers/embedded-server';
import { createWorker } from '../workers/worker';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

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
const firstWindowEnd = 10;
const windowSize = 90;

interface IterationSize {
  bytes: number;
  events: number;
}

/** Adds each event to the iteration that was open when it was written. */
function measureIterations(
  events: readonly HistoryEvent[],
  sizes: Map<number, IterationSize>,
): void {
  let iteration = 0;
  for (const event of events) {
    const id = event.activityTaskScheduledEventAttributes?.activityId ?? '';
    const begun = /^m(\d+)$/.exec(id);
    if (begun !== null) iteration = Number(begun[1]);
    const size = sizes.get(iteration) ?? { bytes: 0, events: 0 };
    size.bytes += temporal.api.history.v1.HistoryEvent.encode(event).finish().length;
    size.events += 1;
    sizes.set(iteration, size);
  }
}

function successorOf(events: readonly HistoryEvent[]): string | undefined {
  const ended = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  return ended?.newExecutionRunId ?? undefined;
}

interface ChainHistory {
  readonly sizes: Map<number, IterationSize>;
  readonly runs: number;
  readonly largestRunBytes: number;
}

async function readChain(
  client: Client,
  workflowId: string,
  firstRunId: string,
): Promise<ChainHistory> {
  const sizes = new Map<number, IterationSize>();
  let runs = 0;
  let largestRunBytes = 0;
  let runId: string | undefined = firstRunId;
  for (; runId !== undefined; runs += 1) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { events } = await handle.fetchHistory();
    const described = await handle.describe();
    largestRunBytes = Math.max(largestRunBytes, described.historySize ?? 0);
    measureIterations(events ?? [], sizes);
    runId = successorOf(events ?? []);
  }
  return { sizes, runs, largestRunBytes };
}

interface Windows {
  readonly n: number[];
  readonly bytesPerIteration: number[];
  readonly eventsPerIteration: number[];
}

function windowsOf(sizes: Map<number, IterationSize>, iterations: number): Windows {
  const windows: Windows = { n: [], bytesPerIteration: [], eventsPerIteration: [] };
  let from = 1;
  for (let to = firstWindowEnd; to <= iterations; from = to + 1, to += windowSize) {
    let bytes = 0;
    let events = 0;
    for (let iteration = from; iteration <= to; iteration += 1) {
      bytes += sizes.get(iteration)?.bytes ?? 0;
      events += sizes.get(iteration)?.events ?? 0;
    }
    windows.n.push(to);
    windows.bytesPerIteration.push(Math.round(bytes / (to - from + 1)));
    windows.eventsPerIteration.push(Math.round((events / (to - from + 1)) * 100) / 100);
  }
  return windows;
}

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
