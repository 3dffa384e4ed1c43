/** Example: the agents of a shop's service, and its tools over the shop's own tables. */
import { Pool } from 'pg';
import { z } from 'zod';
import type { AgentDefinition, McpTools } from '../../activities/index';
import { defineAgent, defineSubagent, defineTool, ToolError } from '../../activities/index';

/** For whom a run works. The model never sees it, so it cannot ask for the orders of others. */
export const customer = z.object({ customerId: z.string(), plan: z.enum(['basic', 'gold']) });

/** Has the tables of shop.sql. Connects with the first query. */
const shop = new Pool({ connectionString: process.env['SHOP_DATABASE'], allowExitOnIdle: true });

const listOrders = defineTool({
  name: 'list_orders',
  description: "Lists the customer's orders.",
  input: z.object({}),
  effect: 'read',
  context: customer,
  execute: async (_input, { context }) => {
    const text = 'SELECT id, euros FROM orders WHERE customer = $1 ORDER BY id';
    const { rows } = await shop.query<{ id: string; euros: number }>(text, [context.customerId]);
    return rows;
  },
});

const refundOrder = defineTool({
  name: 'refund_order',
  description: "Refunds one of the customer's orders.",
  input: z.object({ order: z.string() }),
  // Repeated with the same key after a crash, so the key makes it one refund.
  effect: 'keyed',
  context: customer,
  label: 'order',
  approval: (_input, { context }) => context.plan !== 'gold',
  execute: async ({ order }, { context, idempotencyKey }) => {
    const text = `INSERT INTO refunds SELECT $1, id FROM orders WHERE id = $2 AND customer = $3
      ON CONFLICT (key) DO UPDATE SET key = excluded.key`;
    const { rowCount } = await shop.query(text, [idempotencyKey, order, context.customerId]);
    if (rowCount === 0) throw new ToolError(`There is no order "${order}".`);
    return `Refunded ${order}.`;
  },
});

const openTicket = defineTool({
  name: 'open_ticket',
  description: 'Opens a ticket for the staff.',
  input: z.object({ subject: z.string().max(200) }),
  effect: 'keyed',
  context: customer,
  execute: async ({ subject }, { context, idempotencyKey }) => {
    const text = 'INSERT INTO tickets VALUES ($1, $2, $3) ON CONFLICT DO NOTHING';
    await shop.query(text, [idempotencyKey, context.customerId, subject]);
    return 'The staff will see it.';
  },
});

const chain = [{ provider: 'anthropic', model: 'claude-sonnet-5' }] as const;

/** Answers from the shop's policies, which an MCP server has. */
export function policyAgent(policies: McpTools): AgentDefinition {
  return {
    name: 'policies',
    instructions: "You answer one question from the shop's policies.",
    chain,
    tools: [policies],
  };
}

/** Importing it starts nothing, so the web server may import it, too. */
export const supportAgent = defineAgent({
  name: 'support',
  instructions: ({ context }) => `You support a customer of the plan ${context.plan}.`,
  chain,
  context: customer,
  tools: [
    listOrders,
    refundOrder,
    openTicket,
    defineSubagent({
      name: 'ask_policies',
      description: "Answers a question about the shop's policies.",
      agent: 'policies',
    }),
  ],
  // Only such an agent can ask questions in the middle of its work.
  completion: 'tool',
  output: z.object({ refunded: z.array(z.string()) }),
  budget: { usd: 1 },
  approvals: { expiresAfterMs: 86_400_000, onExpiry: 'reject' },
});
