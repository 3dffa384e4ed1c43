/** Example: an agent that delegates parts of its work to others, side by side, under one budget. */
import { z } from 'zod';
import type { AgentDefinition, PriceTable } from '../activities/index';
import { createActivities, defineSubagent, defineTool } from '../activities/index';
import type { RunResult } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const pages: Readonly<Record<string, string>> = {
  retries: 'A model call is retried twice on its route.',
  budgets: 'A budget is reserved before each call and charged after it.',
};

const readPage = defineTool({
  name: 'read_page',
  description: 'Reads a page of the documentation.',
  input: z.object({ page: z.enum(['retries', 'budgets']) }),
  effect: 'read',
  label: 'page',
  execute: ({ page }) => pages[page] ?? '',
});

const chain: AgentDefinition['chain'] = [{ provider: 'anthropic', model: 'claude-sonnet-5' }];

/** The agent that works below. */
const researcher: AgentDefinition = {
  name: 'researcher',
  instructions: 'You read one page and answer in a sentence.',
  chain,
  tools: [readPage],
};

/** The tool by which another agent delegates a task to it. */
const research = defineSubagent({
  name: 'research',
  description: 'Finds out one thing in the docs and answers in a sentence.',
  agent: 'researcher',
  share: 0.3,
});

/** The agent that people talk to: it and everything below it may spend half a dollar. */
const writer: AgentDefinition = {
  name: 'writer',
  instructions: 'You answer with what your researchers find.',
  chain,
  tools: [research],
  budget: { usd: 0.5, tokens: 200_000 },
};

/** Prices of your own, in USD per million tokens; they go before the built-in list. */
const prices: PriceTable = {
  'my-model': { input: 2, output: 10, cacheRead: 0.2 },
  'ollama/': { input: 0, output: 0 },
};

/** What all runs of a tenant may use together: dollars and tokens a UTC day, and runs in progress. */
const tenantCaps = {
  '*': { usd: 50, runs: 20 },
  acme: { usd: 500, tokens: 100_000_000 },
};

/** The model's part, as the emulator plays it: each agent knows itself by its instructions. */
function playModel({ emulator }: OfflineWorld): void {
  emulator.script((request) => {
    const [result] = request.lastToolResults;
    const task = request.lastUserText;
    if (request.systemText.includes('read one page'))
      return result === undefined
        ? reply.toolCalls([{ name: 'read_page', input: { page: task } }])
        : reply.text(`About ${task}: ${pages[task] ?? ''}`);
    return result === undefined
      ? reply.toolCalls(
          ['retries', 'budgets'].map((page) => ({ name: 'research', input: { task: page } })),
        )
      : reply.text(`${request.lastToolResults.length} researchers answered.`);
  });
}

/** Starts a run whose two researchers work side by side, and returns its end. */
export async function askTheWriter(world: OfflineWorld): Promise<RunResult> {
  const { connection, client, taskQueue, store, provider } = world;
  playModel(world);
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({
      store,
      providers: [provider],
      agents: [writer, researcher],
      prices,
      tenantCaps,
    }),
  });
  return worker.runUntil(async () => {
    const run = await client.start({ agent: 'writer', goal: 'What do the docs say?' });
    return run.result();
  });
}

async function main(): Promise<void> {
  const { status, report } = await inOfflineWorld('subagents', askTheWriter);
  console.log(`${status}, ${report.cost.usd ?? 'unknown'} USD in all`);
  for (const { runId, status: end, usd } of report.subagents ?? [])
    console.log(`  ${runId}: ${end}, ${usd ?? 'unknown'} USD`);
}

if (require.main === module) runAsProgram(main);
