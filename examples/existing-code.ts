/** Example: code that you have already as tools: an activity, a workflow, and a tool of the Vercel AI SDK. */
import { z } from 'zod';
import type { AgentDefinition } from '../activities/index';
import { defineTool, fromAiSdk } from '../activities/index';
import type { RunResult } from '../client/index';
import { reply } from '../testing/index';
import { ticketWorker } from './existing-worker';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const ticket = z.object({ ticket: z.string(), queue: z.enum(['billing', 'technical']) });

/** The activity `fileUnder(ticket, queue)`: one attempt, since nothing says that a second one would do no harm. */
const fileNow = defineTool({
  name: 'file_ticket',
  description: 'Files a ticket in a queue.',
  input: ticket,
  execute: {
    activity: 'fileUnder',
    args: ({ ticket, queue }) => [ticket, queue],
    result: z.string(),
  },
});

/** The workflow `fileTicket(ticket, queue)`: a child of the run; a person approves each. */
const fileByWorkflow = defineTool({
  name: 'file_by_workflow',
  description: 'Files a ticket by the process of the support team.',
  input: ticket,
  approval: ({ queue }) => queue === 'billing',
  timeoutMs: 3_600_000,
  execute: { workflow: 'fileTicket', args: ({ ticket, queue }) => [ticket, queue] },
});

/** What `tool({ … })` of the package `ai` returns is its argument. */
const findCustomer = {
  description: 'Finds the customer of an order.',
  inputSchema: z.object({ order: z.string() }),
  execute: ({ order }: { order: string }) => Promise.resolve({ order, customer: 'Ada' }),
};

const filer: AgentDefinition = {
  name: 'filer',
  instructions: 'You file tickets of customers.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [
    fileNow,
    fileByWorkflow,
    ...fromAiSdk({ find_customer: findCustomer }, { find_customer: { effect: 'read' } }),
  ],
};

/** Files a ticket on a worker that has the activity and the workflow, and returns the run's result. */
export async function fileTickets(world: OfflineWorld): Promise<RunResult> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'find_customer', input: { order: 'A-17' } }]),
    reply.toolCalls([
      { name: 'file_ticket', input: { ticket: 'Ada was charged twice', queue: 'billing' } },
      { name: 'file_by_workflow', input: { ticket: 'The site is slow', queue: 'technical' } },
    ]),
    reply.text('Both tickets are filed.'),
  ]);
  const worker = await ticketWorker({ connection, taskQueue }, { store, providers: [provider] }, [
    filer,
  ]);
  return worker.runUntil(async () => {
    const run = await client.start({ agent: 'filer', goal: 'File what the customers wrote.' });
    return run.result();
  });
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('existing-code', fileTickets));
}

if (require.main === module) runAsProgram(main);
