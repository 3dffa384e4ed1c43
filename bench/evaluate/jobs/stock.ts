/** Jobs about goods in two places: what is there decides what can be done. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { Draw, JobFamily, World, Worlds } from '../job';
import { expectAnswer, expectEffects, heldOut, job } from '../job';

const places = ['shop', 'depot'] as const;

function stockOf({ facts, effects }: World, sku: string, place: string): number {
  const first = facts[`${sku}@${place}`];
  if (typeof first !== 'number')
    throw new ToolError(`There is no product ${JSON.stringify(sku)}.`, {
      code: 'invalid_params',
      hint: 'A product is named by SKU- and its number, such as SKU-104.',
    });
  return effects.reduce((sum, effect) => {
    const [, moved, from, to, count] = effect.split(' ');
    if (moved !== sku) return sum;
    return sum + (to === place ? Number(count) : 0) - (from === place ? Number(count) : 0);
  }, first);
}

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'get_stock',
    description: 'How many pieces of a product are in the shop and in the depot.',
    input: z.strictObject({ sku: z.string() }),
    effect: 'read',
    execute: ({ sku }, { runId }) =>
      places.map((place) => `${place}: ${stockOf(worlds(runId), sku, place)}`).join(', '),
  }),
  defineTool({
    name: 'move_stock',
    description: 'Moves pieces of a product from one place to the other.',
    input: z.strictObject({
      sku: z.string(),
      from: z.enum(places),
      to: z.enum(places),
      count: z.int().min(1),
    }),
    effect: 'keyed',
    execute: ({ sku, from, to, count }, { runId }) => {
      const world = worlds(runId);
      const there = stockOf(world, sku, from);
      if (count > there)
        throw new ToolError(`The ${from} has ${there} pieces of ${sku}, not ${count}.`, {
          code: 'invalid_params',
          hint: `Move at most ${there}.`,
        });
      world.effects.push(`move ${sku} ${from} ${to} ${count}`);
      return 'Moved.';
    },
  }),
];

function drawStock({ number }: Draw): { n: number; facts: Record<string, number>; depot: number } {
  const [n, depot] = [number(100, 199), number(12, 40)];
  return { n, depot, facts: { [`SKU-${n}@shop`]: number(1, 9), [`SKU-${n}@depot`]: depot } };
}

/** Stock jobs. */
export const stockJobs: JobFamily = {
  name: 'stock',
  instructions:
    'You keep the stock of a shop with tools. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('stock-move', (draw) => {
      const { n, facts } = drawStock(draw);
      return {
        goal: `Move 5 pieces of product ${n} from the depot to the shop.`,
        facts,
        check: (world) => expectEffects(world, [`move SKU-${n} depot shop 5`]),
      };
    }),
    job('stock-all', (draw) => {
      const { n, facts, depot } = drawStock(draw);
      return {
        goal: `Move all pieces of product ${n} that are in the depot to the shop.`,
        facts,
        check: (world) => expectEffects(world, [`move SKU-${n} depot shop ${depot}`]),
      };
    }),
    job('stock-total', (draw) => {
      const { n, facts } = drawStock(draw);
      const total = Object.values(facts).reduce((sum, count) => sum + count, 0);
      return {
        goal: `How many pieces of product ${n} are there in shop and depot together?`,
        facts,
        check: (world, answer) => expectAnswer(world, answer, total),
      };
    }),
    heldOut('stock-too-many', (draw) => {
      const { n, facts, depot } = drawStock(draw);
      return {
        goal: `Move 50 pieces of product ${n} from the depot to the shop, or as many as there are.`,
        facts,
        check: (world) => expectEffects(world, [`move SKU-${n} depot shop ${depot}`]),
      };
    }),
    heldOut('stock-there-and-back', (draw) => {
      const { n, facts } = drawStock(draw);
      return {
        goal: `Move 4 pieces of product ${n} from the depot to the shop, then 1 of them back.`,
        facts,
        check: (world) =>
          expectEffects(world, [`move SKU-${n} depot shop 4`, `move SKU-${n} shop depot 1`]),
      };
    }),
  ],
};
