/** Slips that a model corrects itself once it has read the error: at its first retry, or only at its second. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import type { StuckCase } from './stuck-case';
import { calls, clueless, fails, tool, treasure, untilTreasure } from './stuck-case';

/** A slip, and whether the first retry corrects it. */
export interface SlipCase extends StuckCase {
  readonly atFirstRetry: boolean;
}

/** What a model calls first, what it must read to correct itself, and what it calls then. */
interface Slip {
  readonly id: string;
  readonly tool: string;
  readonly wrong: JsonObject;
  readonly told: string;
  readonly right: JsonObject;
  /** What it calls in between. */
  readonly halfway?: JsonObject;
}

const notes = tool(
  'read_note',
  'Reads a note.',
  z.object({ path: z.string(), page: z.enum(['first', 'last']) }),
  ({ path }) =>
    path === 'notes/2026/plan.md' ? treasure : fails('There is only notes/2026/plan.md.'),
);
const orders = tool('find_order', 'Finds an order.', z.object({ id: z.string() }), ({ id }) =>
  id === 'A-17' ? treasure : fails(`"${String(id)}" is no order; ids look like A-17.`),
);

const page = 'first';
const path = 'notes/2026/plan.md';
const slips: readonly Slip[] = [
  {
    id: 'bare name',
    tool: 'read_note',
    wrong: { path: 'plan.md', page },
    told: path,
    right: { path, page },
  },
  {
    id: 'missing parameter',
    tool: 'read_note',
    wrong: { path },
    told: 'page',
    right: { path, page },
  },
  {
    id: 'word of a list',
    tool: 'read_note',
    wrong: { path, page: '1' },
    told: 'first',
    right: { path, page },
  },
  { id: 'wrong id', tool: 'find_order', wrong: { id: '17' }, told: 'A-17', right: { id: 'A-17' } },
  {
    id: 'unknown tool',
    tool: 'look_up',
    wrong: { id: 'A-17' },
    told: 'find_order',
    right: { id: 'A-17' },
  },
  {
    id: 'wrong type',
    tool: 'find_order',
    wrong: { id: 17 },
    told: 'string',
    right: { id: 'A-17' },
  },
  {
    id: 'half-read path',
    tool: 'read_note',
    wrong: { path: 'plan.md', page },
    told: path,
    halfway: { path: 'notes/plan.md', page },
    right: { path, page },
  },
  {
    id: 'half-read id',
    tool: 'find_order',
    wrong: { id: '17' },
    told: 'A-17',
    halfway: { id: 'A17' },
    right: { id: 'A-17' },
  },
];

/** The slips as situations. */
export const slipCases: readonly SlipCase[] = slips.map(
  ({ id, tool: name, wrong, told, halfway, right }) => ({
    id: `slip: ${id}`,
    right: 'recovers',
    atFirstRetry: halfway === undefined,
    goal: 'Find the treasure.',
    tools: [notes, orders],
    planner: clueless,
    model: untilTreasure(({ last, lastCall }) => {
      if (!last.includes(told)) return calls(name, wrong);
      const isFirst = Object.entries(wrong).every(([key, value]) => lastCall?.input[key] === value);
      if (halfway !== undefined && isFirst) return calls(name, halfway);
      return calls(name === 'look_up' ? 'find_order' : name, right);
    }),
  }),
);
