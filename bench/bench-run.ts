/** One long run with a server, a worker and a store of its own: what the benchmarks measure. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import type { AgentDefinition } from '../activities/definitions/agent';
import { createActivities } from '../activities/index';
import type { Provider } from '../activities/providers/provider';
import { openStore } from '../activities/stores/open-store';
import { readEnvironment } from '../workers/env';
import { connectWorker } from '../workers/worker-connection';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';
import { createWorker } from '../workers/worker';
import { agentRunWorkflow } from '../workflows/contract';
import type { Limits } from '../workflows/core/limits';
import type { RunOutcome } from '../workflows/core/run/outcome';
import type { ChainHistory } from './history-sizes';
import { readChain } from './history-sizes';

/** What is run. */
export interface BenchRun {
  readonly agent: Omit<AgentDefinition, 'limits'>;
  readonly provider: Provider;
  readonly goal: string;
  /** Iterations that the run may take; its other limits follow. */
  readonly iterations: number;
  /** A server that is there, and a task queue that nobody else polls. Default: an embedded server that is ended with the run. */
  readonly place?: BenchPlace;
}

/** Where a run takes place. */
export interface BenchPlace {
  readonly address: string;
  readonly taskQueue: string;
}

/** What was seen of it. */
export interface SeenRun {
  readonly outcome: RunOutcome;
  readonly chain: ChainHistory;
  readonly seconds: number;
}

/** Lifts every limit so far that only the number of iterations ends a run. */
function limitsFor(iterations: number): Partial<Limits> {
  return {
    maxIterations: iterations + 1,
    maxEvents: iterations * 10,
    maxToolCalls: iterations,
    maxActiveMs: 86_400_000,
  };
}

async function outcomeOf(result: Promise<unknown>): Promise<RunOutcome> {
  try {
    return (await result) as RunOutcome;
  } catch (thrown) {
    if (!(thrown instanceof WorkflowFailedError)) throw thrown;
    const details = (thrown.cause as { details?: readonly unknown[] } | undefined)?.details ?? [];
    if (details[0] === undefined) throw thrown;
    return details[0] as RunOutcome;
  }
}

async function play(
  { agent, provider, goal, iterations }: BenchRun,
  { address, taskQueue }: BenchPlace,
  storeUrl: string,
): Promise<SeenRun> {
  const startedAt = Date.now();
  const store = await openStore(storeUrl);
  const connection = await connectWorker({ address });
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    taskQueue,
    activities: createActivities({
      store,
      providers: [provider],
      agents: [{ ...agent, limits: limitsFor(iterations) }],
    }),
  });
  const client = new Client({ connection: await Connection.connect({ address }) });
  const handle = await client.workflow.start(agentRunWorkflow, {
    taskQueue,
    workflowId: `bench-${startedAt}`,
    args: [{ request: { agent: agent.name, goal } }],
  });
  const outcome = await worker.runUntil(outcomeOf(handle.result()));
  const chain = await readChain(client, handle.workflowId, handle.firstExecutionRunId);
  await connection.close();
  await store.close();
  await client.connection.close();
  return { outcome, chain, seconds: Math.round((Date.now() - startedAt) / 100) / 10 };
}

/** Runs it to its end, however it ends, and leaves nothing behind. */
export async function playBenchRun(run: BenchRun): Promise<SeenRun> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-bench-'));
  const storeUrl = `sqlite:${path.join(directory, 'store.db')}`;
  try {
    if (run.place !== undefined) return await play(run, run.place, storeUrl);
    const stateFile = path.join(directory, 'temporal.db');
    const server = await startEmbeddedServer({ stateFile, untilExitOf: process.pid });
    const seen = await play(run, { address: server.address, taskQueue: 'bench' }, storeUrl);
    await server.stop();
    return seen;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
