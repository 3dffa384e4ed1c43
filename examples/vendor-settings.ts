/** Example: routes with settings of their own, an account at a cloud, and an answer with a schema. */
import { AzureOpenAI } from 'openai';
import { z } from 'zod';
import type { Provider } from '../activities/index';
import { createActivities, defineAgent, openaiProvider } from '../activities/index';
import type { RunResult } from '../client/index';
import { fault, reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const ticket = z.object({
  topic: z.enum(['billing', 'delivery', 'other']),
  summary: z.string().min(1),
  order: z.string().optional(),
});

export const triage = defineAgent({
  name: 'triage',
  instructions: 'Sort the ticket.',
  chain: [
    {
      provider: 'anthropic',
      model: 'claude-sonnet-5',
      reasoning: { effort: 'high' },
      promptCache: '1h',
    },
    {
      provider: 'azure',
      model: 'gpt-4.1',
      temperature: 0,
      parallelToolCalls: false,
      extraBody: { seed: 7 },
    },
  ],
  tools: [],
  output: ticket,
});

function azure(baseURL: string, apiKey: string): Provider {
  return openaiProvider({
    name: 'azure',
    api: 'chat',
    apiKey,
    client: (options) =>
      new AzureOpenAI({ ...options, baseURL, apiKey, apiVersion: '2025-04-01-preview' }),
  });
}

/** Sorts one ticket. Anthropic refuses the key, so Azure answers, in the form that was asked for. */
export async function sortTicket(world: OfflineWorld): Promise<RunResult<z.output<typeof ticket>>> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    fault.http(401),
    reply.text('{"topic": "billing", "summary": "Charged twice for A-17.", "order": "A-17"}'),
  ]);
  const providers = [provider, azure(`${emulator.url}/openai`, 'a-key-of-azure')];
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers, agents: [triage] }),
  });
  return worker.runUntil(async () => {
    const run = await client.start(triage, { goal: 'I was charged twice for order A-17.' });
    return run.result();
  });
}

async function main(): Promise<void> {
  const result = await inOfflineWorld('vendor-settings', sortTicket);
  if (result.status !== 'completed') throw new Error(`The run ended as ${result.status}.`);
  console.log(`${result.output.topic}: ${result.output.summary}`);
}

if (require.main === module) runAsProgram(main);
