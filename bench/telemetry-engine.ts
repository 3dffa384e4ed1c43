/** A worker process of the telemetry benchmark: runs one run for each message, and answers with the processor time since its last answer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { anthropicProvider } from '../activities/providers/anthropic/anthropic-provider';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { startTelemetry } from '../telemetry/index';
import { readEnvironment } from '../workers/env';
import { createWorker } from '../workers/worker';
import { connectWorker } from '../workers/worker-connection';
import { agentRunWorkflow } from '../workflows/contract';
import type { RunOutcome } from '../workflows/core/run/outcome';

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  execute: ({ n }) => `${n} `.padEnd(1_024, `entry ${n} `),
});

async function run(client: Client, taskQueue: string): Promise<void> {
  const { status } = (await client.workflow.execute(agentRunWorkflow, {
    taskQueue,
    workflowId: `telemetry-${crypto.randomUUID()}`,
    args: [{ request: { agent: 'looker', goal: 'Look things up.' } }],
  })) as RunOutcome;
  if (status !== 'completed') throw new Error(`a run ended as ${status}`);
}

async function main(name: string, address: string, vendor: string, calls: number): Promise<void> {
  const environment = { ...readEnvironment(), logLevel: 'info' } as const;
  const telemetry = await startTelemetry(environment);
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-telemetry-'));
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const connection = await connectWorker({ address });
  const taskQueue = `telemetry-${name}`;
  const worker = await createWorker(
    telemetry.configureWorker({
      connection,
      taskQueue,
      cacheDirectory: environment.cacheDirectory,
      activities: createActivities({
        store,
        providers: [
          anthropicProvider({ name: 'anthropic', apiKey: 'telemetry-bench-key', baseUrl: vendor }),
        ],
        agents: [
          {
            name: 'looker',
            instructions: 'You look things up.',
            chain: [{ provider: 'anthropic', model: 'm', windowTokens: 10_000_000 }],
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
  let before = process.cpuUsage();
  async function answer(): Promise<void> {
    await run(client, taskQueue);
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    process.send?.((user + system) / 1_000);
  }

  process.on('message', (message) => {
    (message === 'end' ? end() : answer()).catch(fail);
  });
  process.send?.('ready');
}

function fail(thrown: unknown): void {
  process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? '') : String(thrown)}\n`);
  process.exit(1);
}

const [name = '', address = '', vendor = '', calls = ''] = process.argv.slice(2);
main(name, address, vendor, Number(calls)).catch(fail);
