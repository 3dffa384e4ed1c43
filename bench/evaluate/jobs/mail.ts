/** Jobs about mail: an address must be found before anything is sent. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { Draw, JobFamily, Worlds } from '../job';
import { expectAnswer, expectEffects, heldOut, job } from '../job';

const people = ['Ada', 'Bo', 'Cy', 'Di'] as const;

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'find_contact',
    description: 'Finds the mail address of a person by first name.',
    input: z.strictObject({ name: z.string() }),
    effect: 'read',
    execute: ({ name }, { runId }) => {
      const address = worlds(runId).facts[name];
      if (address !== undefined) return `${name}: ${address}`;
      throw new ToolError(`There is no contact ${JSON.stringify(name)}.`, {
        code: 'invalid_params',
        hint: `The contacts are ${people.join(', ')}.`,
      });
    },
  }),
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.strictObject({
      to: z.email(),
      subject: z.string().min(1).max(60),
      body: z.string().min(1),
    }),
    effect: 'keyed',
    execute: ({ to, body }, { runId }) => {
      const { facts, effects } = worlds(runId);
      if (!Object.values(facts).includes(to))
        throw new ToolError(`${to} is not an address of a contact.`, {
          code: 'invalid_params',
          hint: 'Take the address that find_contact returned.',
        });
      const word = String(facts['word'] ?? '');
      effects.push(`mail ${to}${body.includes(word) ? '' : ' without the word'}`);
      return 'Sent.';
    },
  }),
];

function drawContacts({ number }: Draw): Record<string, string> {
  return Object.fromEntries(
    people.map((name) => [name, `${name.toLowerCase()}.${number(100, 999)}@example.com`]),
  );
}

/** Mail jobs. */
export const mailJobs: JobFamily = {
  name: 'mail',
  instructions:
    'You send mail with tools. Send each mail once. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('mail-one', (draw) => {
      const [contacts, name] = [drawContacts(draw), draw.oneOf(people)];
      return {
        goal: `Write to ${name} that the meeting is moved to Monday.`,
        facts: { ...contacts, word: 'Monday' },
        check: (world) => expectEffects(world, [`mail ${contacts[name] ?? ''}`]),
      };
    }),
    job('mail-two', (draw) => {
      const contacts = drawContacts(draw);
      return {
        goal: 'Write to Ada, then to Bo, that lunch is at Fir.',
        facts: { ...contacts, word: 'Fir' },
        check: (world) =>
          expectEffects(world, [`mail ${contacts['Ada'] ?? ''}`, `mail ${contacts['Bo'] ?? ''}`]),
      };
    }),
    job('mail-address', (draw) => {
      const [contacts, name] = [drawContacts(draw), draw.oneOf(people)];
      return {
        goal: `What is the mail address of ${name}?`,
        facts: contacts,
        check: ({ effects }, answer) => {
          if (effects.length > 0) return `changed: ${effects.join('; ')}; right: nothing`;
          const right = contacts[name] ?? '';
          return answer.includes(right) ? undefined : `the answer does not name ${right}`;
        },
      };
    }),
    job('mail-number', (draw) => {
      const [contacts, n] = [drawContacts(draw), draw.number(1_000, 9_999)];
      return {
        goal: `Send Di the code ${n}.`,
        facts: { ...contacts, word: n },
        check: (world) => expectEffects(world, [`mail ${contacts['Di'] ?? ''}`]),
      };
    }),
    heldOut('mail-whose', (draw) => {
      const [contacts, name] = [drawContacts(draw), draw.oneOf(people)];
      const number = /\d+/.exec(contacts[name] ?? '')?.[0] ?? '';
      return {
        goal: `The mail address of ${name} holds a number. Which one?`,
        facts: contacts,
        check: (world, answer) => expectAnswer(world, answer.replaceAll(/[.@]/g, ' '), number),
      };
    }),
  ],
};
