/** Example: tools that serve the customer of their run and nobody else, and a conversation of several runs. */
import { z } from 'zod';
import { createActivities, defineAgent, defineTool, ToolError } from '../activities/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** Who may refund which order: what the shop's database would say. */
const ownerOf: Readonly<Record<string, string>> = { 'A-17': 'C-1', 'B-5': 'C-2' };

const customer = z.object({ customerId: z.string(), plan: z.enum(['basic', 'gold']) });

const refundOrder = defineTool({
  name: 'refund_order',
  description: "Refunds one of the customer's orders.",
  input: z.object({ order: z.string() }),
  effect: 'keyed',
  context: customer,
  approval: (_input, { context }) => context.plan !== 'gold',
  execute: ({ order }, { context }) => {
    // The model chooses the order, but never whose orders there are.
    if (ownerOf[order] !== context.customerId) throw new ToolError(`There is no order "${order}".`);
    return `Refunded ${order}.`;
  },
});

/** Importing it starts nothing, so that a web server may import it too. */
export const supportAgent = defineAgent({
  name: 'support',
  instructions: ({ context }) => `You support a customer of the plan ${context.plan}.`,
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  context: customer,
  tools: [refundOrder],
});

/** Two runs of one conversation. In the first, the model also tries somebody else's order. */
export async function refundInConversation(world: OfflineWorld): Promise<readonly string[]> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'refund_order', input: { order: 'B-5' } }]),
    reply.toolCalls([{ name: 'refund_order', input: { order: 'A-17' } }]),
    reply.text('A-17 is refunded; there is no order B-5.'),
    reply.text('You are welcome.'),
  ]);
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents: [supportAgent] }),
  });
  return worker.runUntil(async () => {
    const answers: string[] = [];
    for (const goal of ['Refund A-17 and B-5.', 'Thanks!']) {
      const customerId = 'C-1';
      const thread = client.thread(`support/${customerId}`);
      const run = await thread.start(supportAgent, { goal, context: { customerId, plan: 'gold' } });
      const result = await run.result();
      answers.push(result.status === 'completed' ? result.answer : result.status);
    }
    return answers;
  });
}

async function main(): Promise<void> {
  console.log((await inOfflineWorld('customer-context', refundInConversation)).join('\n'));
}

if (require.main === module) runAsProgram(main);
