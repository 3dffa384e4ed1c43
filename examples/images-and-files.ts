/** Example: a photo and a PDF as input of a run, and an image out of a tool. */
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { Store } from '../activities/index';
import { createActivities, defineAgent, defineTool } from '../activities/index';
import { AgentClient } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** What a camera and an office would write: the smallest PNG, and a PDF of one page. */
const photo = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const policy = Buffer.from(
  '%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n',
);
const drawing = photo;

const estimate = defineTool({
  name: 'repair_estimate',
  description: 'Draws the estimate for a repair.',
  input: z.object({ part: z.string() }),
  effect: 'read',
  execute: ({ part }) => [
    { type: 'text', text: `${part}: 420 EUR` },
    { type: 'image', data: drawing, name: 'estimate.png' },
  ],
});

const claims = defineAgent({
  name: 'claims',
  instructions: 'You settle claims.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [estimate],
});

/** Starts a run with a photo and a PDF; the store gets their bytes, and Temporal their names. */
async function settle(
  temporalClient: Client,
  taskQueue: string,
  store: Store,
): Promise<string | undefined> {
  const client = new AgentClient(temporalClient, { taskQueue, store });
  const run = await client.start(claims, {
    goal: [
      { type: 'text', text: 'Is the damage in this photo covered by the policy?' },
      { type: 'image', data: photo, name: 'fender.png' },
      { type: 'file', data: policy, name: 'policy.pdf' },
    ],
  });
  const result = await run.result();
  return result.status === 'completed' ? result.answer : undefined;
}

/** The run, on a worker with the agent. */
export async function settleClaim(world: OfflineWorld): Promise<string | undefined> {
  const { connection, temporalClient, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'repair_estimate', input: { part: 'fender' } }]),
    reply.text('Yes: 420 EUR for the fender.'),
  ]);
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents: [claims] }),
  });
  return worker.runUntil(() => settle(temporalClient, taskQueue, store));
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('images-and-files', settleClaim));
}

if (require.main === module) runAsProgram(main);
