/** Measures whether an iteration costs more the longer the conversation is: CPU of the worker at 20 and at 2,000 messages. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { anthropicProvider } from '../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../activities/providers/openai/openai-provider';
import type { Provider } from '../activities/providers/provider';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { scriptedProvider } from '../testing/scripted-provider';
import { readEnvironment } from '../workers/env';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';
import { createWorker } from '../workers/worker';
import { connectWorker } from '../workers/worker-connection';
import { agentRunWorkflow } from '../workflows/contract';
import type { Head, Message } from '../workflows/core/message';
import type { RunOutcome } from '../workflows/core/run/outcome';

/** Messages in the middle of a measured run. */
const lengths = [20, 2_000] as const;

/** Tool calls of one run, each two messages. The first ones warm up, and load what the worker does not know. */
const calls = 20;
const warmUpCalls = 4;

/** Characters of each tool result. */
const resultChars = 1_024;

/** What one provider costs. */
interface GrowthRow {
  readonly provider: string;
  /** Milliseconds of the worker's CPU per iteration, median of the rounds, at each of `lengths`. */
  readonly cpuMs: readonly number[];
  /** The last of them over the first. */
  readonly ratio: number;
}

/** What the benchmark found. */
export interface GrowthBenchResult {
  readonly messages: typeof lengths;
  readonly rounds: number;
  readonly rows: readonly GrowthRow[];
  readonly worstRatio: number;
}

const cpuAtCall: number[] = [];

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const textOf = (n: number): string => `${n} `.padEnd(resultChars, `entry ${n} `);

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ n: z.number() }),
  effect: 'read',
  execute: ({ n }) => {
    cpuAtCall.push(cpuMs());
    return textOf(n);
  },
});

function providersAt(url: string): readonly Provider[] {
  const apiKey = 'growth-bench-key';
  const scripted = scriptedProvider('scripted', (_request, index) =>
    index % (calls + 1) < calls
      ? { toolCalls: [{ name: 'look', input: { n: index } }] }
      : { text: 'done' },
  );
  const wires = ['counted', 'silent'].flatMap((mount) => [
    anthropicProvider({ name: `anthropic-${mount}`, apiKey, baseUrl: `${url}/${mount}` }),
    ...(['responses', 'chat'] as const).map((api) =>
      openaiProvider({ name: `${api}-${mount}`, api, apiKey, baseUrl: `${url}/${mount}/v1` }),
    ),
  ]);
  return [scripted, ...wires];
}

/** A conversation of so many messages that ends with a tool's result. */
function conversationOf(length: number): readonly Message[] {
  const turns = Array.from({ length: Math.floor((length - 1) / 2) }, (_, n): readonly Message[] => {
    const toolCallId = `call-${n}`;
    const call = { type: 'tool-call', toolCallId, name: 'look', input: { n } } as const;
    const result = { toolCallId, name: 'look', content: textOf(n), isError: false };
    return [
      { role: 'assistant', vendor: 'earlier', model: 'earlier', blocks: [call] },
      { role: 'tool', results: [{ type: 'tool-result', ...result }] },
    ];
  });
  return [{ role: 'user', blocks: [{ type: 'text', text: 'Look things up.' }] }, ...turns.flat()];
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}

interface World {
  readonly client: Client;
  readonly taskQueue: string;
  readonly heads: readonly Head[];
}

/** CPU of one iteration of a run that continues a conversation. */
async function iterationMs(
  { client, taskQueue }: World,
  agent: string,
  head: Head,
): Promise<number> {
  cpuAtCall.length = 0;
  const request = { agent, goal: 'Look things up.', head, message: '' };
  const outcome = (await client.workflow.execute(agentRunWorkflow, {
    taskQueue,
    workflowId: `growth-${crypto.randomUUID()}`,
    args: [{ request }],
  })) as RunOutcome;
  const seen = cpuAtCall.length;
  if (outcome.status !== 'completed' || seen !== calls)
    throw new Error(`a run of ${agent} ended as ${outcome.status} after ${seen} of ${calls} calls`);
  const [first = 0, last = 0] = [cpuAtCall[warmUpCalls], cpuAtCall.at(-1)];
  return (last - first) / (calls - 1 - warmUpCalls);
}

async function measured(world: World, agent: string, rounds: number): Promise<GrowthRow> {
  const seen = lengths.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [at, head] of world.heads.entries()) {
      const cost = await iterationMs(world, agent, head);
      // The first round compiles code.
      if (round > 0) seen[at]?.push(cost);
    }
  const costs = seen.map((each) => Math.round(median(each) * 10) / 10);
  const ratio = Math.round(((costs.at(-1) ?? NaN) / (costs[0] ?? NaN)) * 100) / 100;
  return { provider: agent, cpuMs: costs, ratio };
}

/** Runs the real loop with each provider at both lengths in turn; `only` names some of the providers. */
export async function growthBench(
  rounds: number,
  only: readonly string[] = [],
): Promise<GrowthBenchResult> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-growth-'));
  const vendors = fork(path.join(__dirname, 'growth-emulator.js'), [String(calls)]);
  const [url] = (await once(vendors, 'message')) as [string];
  const stateFile = path.join(directory, 'temporal.db');
  const server = await startEmbeddedServer({ stateFile, untilExitOf: process.pid });
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const connection = await connectWorker({ address: server.address });
  const all = providersAt(url);
  const providers = all.filter(({ name }) => only.length === 0 || only.includes(name));
  const taskQueue = 'growth';
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    taskQueue,
    activities: createActivities({
      store,
      providers,
      agents: providers.map(({ name }) => ({
        name,
        instructions: 'You look things up.',
        chain: [{ provider: name, model: 'm', windowTokens: 10_000_000 }],
        tools: [look],
        limits: { maxIterations: calls + 1, maxEvents: 1_000, maxToolCalls: calls },
      })),
    }),
  });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const heads: Head[] = [];
  for (const length of lengths)
    heads.push(await store.appendNode(undefined, conversationOf(length - calls)));
  const rows = await worker.runUntil(async () => {
    const found: GrowthRow[] = [];
    for (const { name } of providers)
      found.push(await measured({ client, taskQueue, heads }, name, rounds));
    return found;
  });
  await client.connection.close();
  await connection.close();
  await store.close();
  await server.stop();
  vendors.disconnect();
  await rm(directory, { recursive: true, force: true });
  const worstRatio = Math.max(...rows.map(({ ratio }) => ratio));
  return { messages: lengths, rounds, rows, worstRatio };
}
