/** Example: a tool with an effect and an approval rule, and a typed result. Code plays the person who approves. */
import { z } from 'zod';
import type { AgentDefinition, Tool } from '../activities/index';
import { createActivities, defineTool, InfraException, ToolError } from '../activities/index';
import type { RunHandle, RunResult } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** A payment service that forgets nothing: the same key gives the same refund. */
export class PaymentService {
  readonly #refunds = new Map<string, string>();

  constructor(private readonly isFrozen = false) {}

  refund(idempotencyKey: string, order: string, euros: number): string {
    if (this.isFrozen)
      throw new InfraException({
        code: 'tool_infrastructure',
        message: 'The payment account is frozen. Ask accounting to open it, then start again.',
      });
    if (!/^A-\d+$/.test(order)) throw new ToolError(`There is no order "${order}".`);
    const known = this.#refunds.get(idempotencyKey);
    if (known !== undefined) return known;
    const receipt = `R-${this.#refunds.size + 1} (${order}, ${euros} euros)`;
    this.#refunds.set(idempotencyKey, receipt);
    return receipt;
  }

  /** Refunds made. */
  get count(): number {
    return this.#refunds.size;
  }
}

/** The tool: `keyed`, so a crash may repeat it with the same key; above 50 euros a person must approve. */
export function refundTool(payments: PaymentService): Tool {
  return defineTool({
    name: 'refund_order',
    description: 'Refunds money for an order. Order numbers look like A-17.',
    input: z.object({
      order: z.string().describe('Number of the order.'),
      euros: z.number().positive().describe('Amount to refund.'),
    }),
    effect: 'keyed',
    approval: ({ euros }) => euros > 50,
    hint: 'Order numbers begin with "A-".',
    label: 'order',
    execute: ({ order, euros }, { idempotencyKey }) =>
      payments.refund(idempotencyKey, order, euros),
  });
}

/** What the run gives back, checked on both sides. */
export const refundOutput = z.object({ order: z.string(), refundedEuros: z.number() });

function refundAgent(payments: PaymentService): AgentDefinition {
  return {
    name: 'refunder',
    instructions: 'You refund orders as asked.',
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
    tools: [refundTool(payments)],
    completion: 'tool',
    output: refundOutput,
  };
}

/** Approves everything that waits, until the run ends: each action by its digest, and no other. */
export async function approveAll(run: Pick<RunHandle, 'events' | 'approve'>): Promise<void> {
  for await (const entry of run.events({ follow: true }))
    if (entry.type === 'WaitStartedEvent' && entry.wait.kind === 'approval')
      await run.approve(entry.wait.id, { digest: entry.wait.digest, by: 'the example' });
}

/** Starts a run, approves its refunds, and returns its typed result. The first order number is wrong, so two are asked for. */
export async function refundOrder(
  world: OfflineWorld,
  payments: PaymentService,
): Promise<RunResult<z.output<typeof refundOutput>>> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'refund_order', input: { order: '17', euros: 80 } }]),
    reply.toolCalls([{ name: 'refund_order', input: { order: 'A-17', euros: 80 } }]),
    reply.toolCalls([
      {
        name: 'complete_task',
        input: { summary: 'Refunded.', result: { order: 'A-17', refundedEuros: 80 } },
      },
    ]),
  ]);
  const agents = [refundAgent(payments)];
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents }),
  });
  return worker.runUntil(async () => {
    const run = await client.start({
      agent: 'refunder',
      goal: 'Refund 80 euros for order 17.',
      output: refundOutput,
    });
    await approveAll(run);
    return run.result();
  });
}

async function main(): Promise<void> {
  const payments = new PaymentService();
  const result = await inOfflineWorld('custom-tool', (world) => refundOrder(world, payments));
  if (result.status !== 'completed') throw new Error(`The run ended as ${result.status}.`);
  const { order, refundedEuros } = result.output;
  console.log(`${refundedEuros} euros refunded for ${order}, ${payments.count} refund made`);
}

if (require.main === module) runAsProgram(main);
