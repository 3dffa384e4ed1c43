/** Jobs that find a value over several steps. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { JobFamily, Worlds } from '../job';
import { expectAnswer, heldOut, job } from '../job';

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'lookup_key',
    description: 'Looks the value of a key up in one of two stores.',
    input: z.strictObject({ store: z.enum(['config', 'archive']), key: z.string() }),
    effect: 'read',
    execute: ({ store, key }, { runId }) => {
      const { facts } = worlds(runId);
      const value = facts[`${store}/${key}`];
      if (value !== undefined) return `${key} = ${value}`;
      const other = store === 'config' ? 'archive' : 'config';
      throw new ToolError(`The store ${store} has no key ${JSON.stringify(key)}.`, {
        hint: `The store ${other} may have it.`,
      });
    },
  }),
  defineTool({
    name: 'add_numbers',
    description: 'Adds two numbers.',
    input: z.strictObject({ a: z.number(), b: z.number() }),
    effect: 'read',
    execute: ({ a, b }) => `${a + b}`,
  }),
];

/** Lookup jobs. */
export const lookupJobs: JobFamily = {
  name: 'lookup',
  instructions:
    'You answer questions with tools. Never guess a value: look it up. Answer in one short sentence.',
  tools,
  jobs: [
    job('lookup-one', ({ number }) => {
      const value = number(1_000, 9_999);
      return {
        goal: 'What is the value of the key max_users in config?',
        facts: { 'config/max_users': value },
        check: (world, answer) => expectAnswer(world, answer, value),
      };
    }),
    job('lookup-sum', ({ number }) => {
      const [a, b] = [number(1_000, 9_999), number(1_000, 9_999)];
      return {
        goal: 'What is the sum of the keys north and south in config?',
        facts: { 'config/north': a, 'config/south': b },
        check: (world, answer) => expectAnswer(world, answer, a + b),
      };
    }),
    job('lookup-other-store', ({ number }) => {
      const value = number(1_000, 9_999);
      return {
        goal: 'What is the value of the key old_limit? Try config first.',
        facts: { 'archive/old_limit': value },
        check: (world, answer) => expectAnswer(world, answer, value),
      };
    }),
    job('lookup-chain', ({ number, oneOf }) => {
      const [value, name] = [number(1_000, 9_999), oneOf(['red', 'blue', 'green'])];
      return {
        goal: 'The key current in config names another key of config. What is the value of that key?',
        facts: { 'config/current': name, [`config/${name}`]: value },
        check: (world, answer) => expectAnswer(world, answer, value),
      };
    }),
    heldOut('lookup-two-stores', ({ number }) => {
      const [a, b] = [number(100, 999), number(100, 999)];
      return {
        goal: 'Add the value of seats in config and the value of seats in archive. What is the sum?',
        facts: { 'config/seats': a, 'archive/seats': b },
        check: (world, answer) => expectAnswer(world, answer, a + b),
      };
    }),
  ],
};
