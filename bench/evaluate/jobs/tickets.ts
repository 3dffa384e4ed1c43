/** Jobs about tickets: several calls in the right order. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { JobFamily, World, Worlds } from '../job';
import { expectEffects, heldOut, job } from '../job';

const teams = ['billing', 'network', 'hardware'] as const;
const customers = ['Ada Lane', 'Bo Chen', 'Cy Diaz'] as const;

function checkTicket({ effects, facts }: World, id: string): void {
  const opened = effects.filter((effect) => effect.startsWith('open ')).length;
  const known = [
    ...Array.from({ length: opened }, (_, n) => `T-${n + 1}`),
    String(facts['ticket']),
  ];
  if (!known.includes(id))
    throw new ToolError(`There is no ticket ${JSON.stringify(id)}.`, {
      code: 'invalid_params',
      hint: 'Take the id as open_ticket returned it, such as T-1.',
    });
  if (effects.some((effect) => effect.startsWith(`close ${id} `)))
    throw new ToolError(`Ticket ${id} is closed.`, { recoverable: false });
}

function change(world: World, id: string, effect: string, said: string): string {
  checkTicket(world, id);
  world.effects.push(effect);
  return said;
}

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'open_ticket',
    description: 'Opens a ticket and returns its id.',
    input: z.strictObject({ customer: z.string(), priority: z.enum(['low', 'normal', 'high']) }),
    effect: 'keyed',
    execute: ({ customer, priority }, { runId }) => {
      const { effects } = worlds(runId);
      const opened = effects.filter((effect) => effect.startsWith('open ')).length;
      effects.push(`open ${customer} ${priority}`);
      return `Ticket T-${opened + 1} is open.`;
    },
  }),
  defineTool({
    name: 'assign_ticket',
    description: 'Gives a ticket to a team.',
    input: z.strictObject({ ticket_id: z.string(), team: z.enum(teams) }),
    effect: 'keyed',
    execute: ({ ticket_id: id, team }, { runId }) =>
      change(worlds(runId), id, `assign ${id} ${team}`, `${id} is with ${team}.`),
  }),
  defineTool({
    name: 'close_ticket',
    description: 'Closes a ticket. Its note says why, in at least three words.',
    input: z.strictObject({ ticket_id: z.string(), note: z.string().regex(/\S+\s+\S+\s+\S+/) }),
    effect: 'keyed',
    execute: ({ ticket_id: id }, { runId }) =>
      change(worlds(runId), id, `close ${id} `, `${id} is closed.`),
  }),
];

/** Ticket jobs. */
export const ticketJobs: JobFamily = {
  name: 'tickets',
  instructions:
    'You run a help desk with tools. Do each thing once. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('tickets-open', ({ oneOf }) => {
      const customer = oneOf(customers);
      return {
        goal: `Open an urgent ticket for ${customer}.`,
        check: (world) => expectEffects(world, [`open ${customer} high`]),
      };
    }),
    job('tickets-assign', ({ oneOf }) => {
      const [customer, team] = [oneOf(customers), oneOf(teams)];
      return {
        goal: `Open a ticket with low priority for ${customer} and give it to the ${team} team.`,
        check: (world) => expectEffects(world, [`open ${customer} low`, `assign T-1 ${team}`]),
      };
    }),
    job('tickets-close', ({ number }) => {
      const id = `T-${number(40, 90)}`;
      return {
        goal: `Ticket ${id} is solved: the router was replaced. Close it.`,
        facts: { ticket: id },
        check: (world) => expectEffects(world, [`close ${id} `]),
      };
    }),
    job('tickets-whole-life', ({ oneOf }) => {
      const [customer, team] = [oneOf(customers), oneOf(teams)];
      return {
        goal: `Open a ticket of normal priority for ${customer}, give it to ${team}, then close it: it was a test.`,
        check: (world) =>
          expectEffects(world, [`open ${customer} normal`, `assign T-1 ${team}`, 'close T-1 ']),
      };
    }),
    heldOut('tickets-two', ({ oneOf }) => {
      const customer = oneOf(customers);
      return {
        goal: `Open two tickets for ${customer}: first one with high priority, then one with low priority.`,
        check: (world) => expectEffects(world, [`open ${customer} high`, `open ${customer} low`]),
      };
    }),
  ],
};
