/** An agent of a shop's support for tests: its tools serve the run's customer and nobody else. */
import { z } from 'zod';
import { defineAgent, defineTool, ToolError } from '../../activities/index';

/** Orders by customer. */
const orders: Readonly<Record<string, readonly string[]>> = {
  'C-1': ['A-17', 'A-18'],
  'C-2': ['B-5'],
};

export const customer = z.object({ customerId: z.string().regex(/^C-/), plan: z.string() });

/** What the tools saw, newest last. */
export const seen: unknown[] = [];

export const listOrders = defineTool({
  name: 'list_orders',
  description: "Lists the customer's orders.",
  input: z.object({}),
  effect: 'read',
  context: customer.pick({ customerId: true }),
  execute: (_input, { context, runId, agent, tenant }) => {
    seen.push({ context, runId, agent, tenant });
    return orders[context.customerId] ?? [];
  },
});

export const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order of the customer.',
  input: z.object({ order: z.string() }),
  effect: 'keyed',
  context: customer,
  approval: (_input, { context }) => context.plan !== 'gold',
  hint: (_error, _input, { context }) =>
    `The orders are ${(orders[context.customerId] ?? []).join(', ')}.`,
  execute: ({ order }, { context }) => {
    if (!(orders[context.customerId] ?? []).includes(order))
      throw new ToolError(`There is no order "${order}".`);
    return `refunded ${order} for ${context.customerId}`;
  },
});

const supportOutput = z.object({ refunded: z.array(z.string()).default([]) });

export const supportAgent = defineAgent({
  name: 'support',
  instructions: ({ context, tenant }) =>
    `You support customers of the plan ${context.plan} at ${tenant}.`,
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  context: customer.extend({ plan: z.string().default('basic') }),
  tools: [listOrders, refund],
  completion: 'tool',
  output: supportOutput,
});
