/** Jobs about orders and refunds: ids and reasons have a form that the goal does not have. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { Draw, JobFamily, World, Worlds } from '../job';
import { expectAnswer, expectEffects, heldOut, job } from '../job';

function centsOf({ facts }: World, id: string): number {
  if (!/^A-\d+$/.test(id))
    throw new ToolError(`${JSON.stringify(id)} is not an order id.`, {
      code: 'invalid_params',
      hint: 'An order id is A- and the number, such as A-12.',
    });
  const cents = facts[id];
  if (typeof cents !== 'number') throw new ToolError(`There is no order ${id}.`);
  return cents;
}

function refund(world: World, id: string, cents: number, reason: string): string {
  const paid = centsOf(world, id);
  if (cents > paid)
    throw new ToolError(`Order ${id} was ${paid} cents; ${cents} cents cannot be refunded.`, {
      code: 'invalid_params',
      hint: `Refund at most ${paid}.`,
    });
  if (world.effects.some((effect) => effect.startsWith(`refund ${id} `)))
    throw new ToolError(`Order ${id} was refunded already.`, { recoverable: false });
  world.effects.push(`refund ${id} ${cents} ${reason}`);
  return `Refunded ${cents} cents of order ${id}.`;
}

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'get_order',
    description: 'Looks an order up: what was paid for it, in cents.',
    input: z.strictObject({ order_id: z.string() }),
    effect: 'read',
    execute: ({ order_id: id }, { runId }) => `Order ${id}: ${centsOf(worlds(runId), id)} cents`,
  }),
  defineTool({
    name: 'refund_order',
    description: 'Refunds an order, whole or in part.',
    input: z.strictObject({
      order_id: z.string(),
      cents: z.int().min(1),
      reason: z.enum(['damaged', 'late', 'other']),
    }),
    effect: 'keyed',
    execute: ({ order_id: id, cents, reason }, { runId }) =>
      refund(worlds(runId), id, cents, reason),
  }),
];

function drawOrders({ number }: Draw): readonly [first: number, price: number] {
  return [number(10, 80), number(5, 40) * 200];
}

/** Order jobs. */
export const orderJobs: JobFamily = {
  name: 'orders',
  instructions:
    'You help a shop with its orders, with tools. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('orders-broken', (draw) => {
      const [n, cents] = drawOrders(draw);
      return {
        goal: `Order ${n} arrived broken. Refund it in full.`,
        facts: { [`A-${n}`]: cents },
        check: (world) => expectEffects(world, [`refund A-${n} ${cents} damaged`]),
      };
    }),
    job('orders-half', (draw) => {
      const [n, cents] = drawOrders(draw);
      return {
        goal: `Order ${n} came two weeks late. Refund half of what was paid.`,
        facts: { [`A-${n}`]: cents },
        check: (world) => expectEffects(world, [`refund A-${n} ${cents / 2} late`]),
      };
    }),
    job('orders-dearest', (draw) => {
      const [n, cents] = drawOrders(draw);
      const prices = [cents, cents + 700, cents - 300];
      return {
        goal: `Which of the orders ${n}, ${n + 1} and ${n + 2} cost most? Answer with its id.`,
        facts: Object.fromEntries(prices.map((price, at) => [`A-${n + at}`, price])),
        check: (world, answer) => expectAnswer(world, answer, `A-${n + 1}`),
      };
    }),
    job('orders-two', (draw) => {
      const [n, cents] = drawOrders(draw);
      return {
        goal: `Refund the orders ${n} and ${n + 5} in full: the customer changed their mind.`,
        facts: { [`A-${n}`]: cents, [`A-${n + 5}`]: cents + 150 },
        check: (world) =>
          expectEffects(world, [
            `refund A-${n} ${cents} other`,
            `refund A-${n + 5} ${cents + 150} other`,
          ]),
      };
    }),
    heldOut('orders-price', (draw) => {
      const [n, cents] = drawOrders(draw);
      return {
        goal: `How many cents were paid for order ${n}?`,
        facts: { [`A-${n}`]: cents },
        check: (world, answer) => expectAnswer(world, answer, cents),
      };
    }),
  ],
};
