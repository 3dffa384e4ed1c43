/** Jobs about devices: units, ranges and ids that must be looked up. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { Draw, JobFamily, World, Worlds } from '../job';
import { expectAnswer, expectEffects, heldOut, job } from '../job';

const rooms = ['kitchen', 'bath', 'office'] as const;

function checkDevice({ facts }: World, id: string): void {
  if (!Object.values(facts).includes(id))
    throw new ToolError(`There is no device ${JSON.stringify(id)}.`, {
      code: 'invalid_params',
      hint: 'Take an id that list_devices returned.',
    });
}

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'list_devices',
    description: 'Lists the id of the heater of each room.',
    input: z.strictObject({}),
    effect: 'read',
    execute: (_input, { runId }) => {
      const { facts } = worlds(runId);
      return rooms.map((room) => `${room}: ${facts[room] ?? ''}`).join('\n');
    },
  }),
  defineTool({
    name: 'set_heater',
    description: 'Sets the temperature of a heater, in degrees Celsius from 5 to 30.',
    input: z.strictObject({ device_id: z.string(), celsius: z.number().min(5).max(30) }),
    effect: 'keyed',
    execute: ({ device_id: id, celsius }, { runId }) => {
      const world = worlds(runId);
      checkDevice(world, id);
      world.effects.push(`set ${id} ${celsius}`);
      return `Heater ${id} is at ${celsius} degrees Celsius.`;
    },
  }),
  defineTool({
    name: 'switch_heater',
    description: 'Switches a heater on or off.',
    input: z.strictObject({ device_id: z.string(), power: z.enum(['on', 'off']) }),
    effect: 'keyed',
    execute: ({ device_id: id, power }, { runId }) => {
      const world = worlds(runId);
      checkDevice(world, id);
      world.effects.push(`switch ${id} ${power}`);
      return `Heater ${id} is ${power}.`;
    },
  }),
];

function drawDevices({ number }: Draw): Record<string, string> {
  return Object.fromEntries(rooms.map((room, at) => [room, `h${number(10, 39) + 30 * at}`]));
}

/** Heater jobs. */
export const homeJobs: JobFamily = {
  name: 'home',
  instructions:
    'You control the heaters of a house with tools. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('home-set', (draw) => {
      const [ids, room, celsius] = [drawDevices(draw), draw.oneOf(rooms), draw.number(17, 23)];
      return {
        goal: `Set the heater of the ${room} to ${celsius} degrees.`,
        facts: ids,
        check: (world) => expectEffects(world, [`set ${ids[room] ?? ''} ${celsius}`]),
      };
    }),
    job('home-fahrenheit', (draw) => {
      const [ids, room] = [drawDevices(draw), draw.oneOf(rooms)];
      return {
        goal: `Set the heater of the ${room} to 68 degrees Fahrenheit, which is 20 degrees Celsius.`,
        facts: ids,
        check: (world) => expectEffects(world, [`set ${ids[room] ?? ''} 20`]),
      };
    }),
    job('home-off', (draw) => {
      const [ids, room] = [drawDevices(draw), draw.oneOf(rooms)];
      return {
        goal: `Nobody is in the ${room}. Switch its heater off.`,
        facts: ids,
        check: (world) => expectEffects(world, [`switch ${ids[room] ?? ''} off`]),
      };
    }),
    heldOut('home-on-and-set', (draw) => {
      const [ids, celsius] = [drawDevices(draw), draw.number(17, 23)];
      return {
        goal: `Switch the heater of the office on, then set it to ${celsius} degrees.`,
        facts: ids,
        check: (world) =>
          expectEffects(world, [
            `switch ${ids['office'] ?? ''} on`,
            `set ${ids['office'] ?? ''} ${celsius}`,
          ]),
      };
    }),
    heldOut('home-which', (draw) => {
      const [ids, room] = [drawDevices(draw), draw.oneOf(rooms)];
      return {
        goal: `Which id does the heater of the ${room} have?`,
        facts: ids,
        check: (world, answer) => expectAnswer(world, answer, ids[room] ?? ''),
      };
    }),
  ],
};
