/** A worker process of the telemetry benchmark: runs one run for each message, and answers with its user CPU per iteration. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { startTelemetry } from '../telemetry/index';
import { scriptedProvider } from '../testing/scripted-provider';
import { readEnvironment } from '../workers/env';
import { createWorker } from '../workers/worker';
import { connectWorker } from '../workers/worker-connection';
import { agentRunWorkflow } from '../workflows/contract';
import type { RunOutcome } from '../workflows/core/run/outcome';

/** Tool calls of one run; the first ones warm up. */
const calls = 40;
const warmUpCalls = 5;

const userMsAtCall: number[] = [];

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  execute: ({ n }) => {
    userMsAtCall.push(process.cpuUsage().user / 1_000);
    return `${n} `.padEnd(1_024, `entry ${n} `);
  },
});

/** Runs one run; its milliseconds of user CPU per iteration. */
async function iterationMs(client: Client, taskQueue: string): Promise<number> {
  userMsAtCall.length = 0;
  const outcome = (await client.workflow.execute(agentRunWorkflow, {
    taskQueue,
    workflowId: `telemetry-${crypto.randomUUID()}`,
    args: [{ request: { agent: 'looker', goal: 'Look things up.' } }],
  })) as RunOutcome;
  if (outcome.status !== 'completed' || userMsAtCall.length !== calls)
    throw new Error(`a run ended as ${outcome.status} after ${userMsAtCall.length} calls`);
  const [first = 0, last = 0] = [userMsAtCall[warmUpCalls], userMsAtCall.at(-1)];
  return (last - first) / (calls - 1 - warmUpCalls);
}

async function main(name: string, address: string): Promise<void> {
  const environment = { ...readEnvironment(), logLevel: 'info' } as const;
  const telemetry = await startTelemetry(environment);
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-telemetry-'));
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const connection = await connectWorker({ address });
  const provider = scriptedProvider('scripted', (_request, index) =>
    index % (calls + 1) < calls
      ? { toolCalls: [{ name: 'look', input: { n: index } }] }
      : { text: 'done' },
  );
  const taskQueue = `telemetry-${name}`;
  const worker = await createWorker(
    telemetry.configureWorker({
      connection,
      taskQueue,
      cacheDirectory: environment.cacheDirectory,
      activities: createActivities({
        store,
        providers: [provider],
        agents: [
          {
            name: 'looker',
            instructions: 'You look things up.',
            chain: [{ provider: 'scripted', model: 'm', windowTokens: 10_000_000 }],
            tools: [look],
            recovery: { mode: 'off' },
            limits: { maxIterations: calls + 1, maxEvents: 1_000, maxToolCalls: calls },
          },
        ],
      }),
    }),
  );
  const client = new Client({ connection: await Connection.connect({ address }) });
  const running = worker.run();

  async function end(): Promise<void> {
    worker.shutdown();
    await running;
    await telemetry.shutdown();
    await client.connection.close();
    await connection.close();
    await store.close();
    await rm(directory, { recursive: true, force: true });
    process.exit(0);
  }

  process.on('disconnect', () => process.exit(1));
  process.on('message', (message) => {
    const work =
      message === 'end' ? end() : iterationMs(client, taskQueue).then((ms) => process.send?.(ms));
    work.catch(fail);
  });
  process.send?.('ready');
}

function fail(thrown: unknown): void {
  process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? '') : String(thrown)}\n`);
  process.exit(1);
}

const [name = '', address = ''] = process.argv.slice(2);
main(name, address).catch(fail);
