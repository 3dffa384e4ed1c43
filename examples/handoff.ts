/** Example: a front desk that hands a conversation to a specialist, and checks of what is asked and answered. */
import { z } from 'zod';
import { createActivities, defineAgent, defineTool } from '../activities/index';
import type { RunResult } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const chain = [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }] as const;
const customer = z.object({ customerId: z.string() });

const listInvoices = defineTool({
  name: 'list_invoices',
  description: "Lists the customer's invoices.",
  input: z.object({}),
  effect: 'read',
  context: customer,
  execute: (_input, { context }) => `${context.customerId}: invoice 7, paid by card 4111 1111`,
});

/** Each agent that may answer has it: a handoff loses no check of an answer. */
const noCardNumbers = {
  name: 'no_card_numbers',
  check: ({ text }: { text: string }) =>
    /\d{4} \d{4}/.test(text) ? { correct: 'Leave card numbers out.' } : null,
};

const billing = defineAgent({
  name: 'billing',
  instructions: 'You answer questions about invoices.',
  chain,
  context: customer,
  tools: [listInvoices],
  handoffs: ['front-desk'],
  guardrails: { output: [noCardNumbers] },
});

export const frontDesk = defineAgent({
  name: 'front-desk',
  instructions: 'You greet customers and find out what they need.',
  chain,
  context: customer,
  tools: [],
  handoffs: [{ agent: billing, description: 'For invoices and payments.' }],
  guardrails: {
    input: [
      {
        name: 'is_polite',
        check: (text) => (text.includes('idiot') ? { stop: 'the message is rude' } : null),
      },
    ],
    output: [noCardNumbers],
  },
});

/** One run: the front desk hands it over, and the first answer is not accepted. */
export async function askAboutInvoice(world: OfflineWorld): Promise<RunResult> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'transfer_to_billing', input: { reason: 'It is about a payment.' } }]),
    reply.toolCalls([{ name: 'list_invoices', input: {} }]),
    reply.text('Invoice 7 is paid, by card 4111 1111.'),
    reply.text('Invoice 7 is paid.'),
  ]);
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents: [frontDesk, billing] }),
  });
  return worker.runUntil(async () => {
    const goal = 'Is invoice 7 paid?';
    const run = await client.start(frontDesk, { goal, context: { customerId: 'C-1' } });
    return run.result();
  });
}

async function main(): Promise<void> {
  const result = await inOfflineWorld('handoff', askAboutInvoice);
  console.log(result.status === 'completed' ? result.answer : result.status);
  console.log(`answered by ${result.report.actingAgent ?? result.report.agent}`);
}

if (require.main === module) runAsProgram(main);
