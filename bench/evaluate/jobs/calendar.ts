/** Jobs about rooms: dates and times have a form that the goal does not have. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { Draw, JobFamily, Worlds } from '../job';
import { expectAnswer, expectEffects, heldOut, job } from '../job';

const rooms = { Elm: 4, Oak: 8, Fir: 20 } as const;
const months = ['March', 'April', 'May'] as const;

const format = (pattern: RegExp, said: string): z.ZodType<string> =>
  z.string().regex(pattern, { error: `must be ${said}` });

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'find_rooms',
    description: 'Lists the rooms that have at least so many seats, the smallest first.',
    input: z.strictObject({ seats: z.int().min(1) }),
    effect: 'read',
    execute: ({ seats }) => {
      const fit = Object.entries(rooms).filter(([, size]) => size >= seats);
      if (fit.length === 0)
        throw new ToolError(`No room has ${seats} seats.`, { hint: 'The largest has 20.' });
      return fit.map(([name, size]) => `${name}: ${size} seats`).join('\n');
    },
  }),
  defineTool({
    name: 'book_room',
    description: 'Books a room.',
    input: z.strictObject({
      room: z.enum(['Elm', 'Oak', 'Fir']),
      date: format(/^\d{4}-\d\d-\d\d$/, 'a date as YYYY-MM-DD'),
      start: format(/^\d\d:\d\d$/, 'a time of 24 hours as HH:MM'),
      minutes: z.int().min(15).max(480).multipleOf(15),
    }),
    effect: 'keyed',
    execute: ({ room, date, start, minutes }, { runId }) => {
      worlds(runId).effects.push(`book ${room} ${date} ${start} ${minutes}`);
      return `${room} is booked.`;
    },
  }),
];

interface Day {
  readonly said: string;
  readonly date: string;
}

function drawDay({ number, oneOf }: Draw): Day {
  const [day, month] = [number(10, 28), oneOf(months)];
  return { said: `${month} ${day}, 2027`, date: `2027-0${months.indexOf(month) + 3}-${day}` };
}

/** Room jobs. */
export const calendarJobs: JobFamily = {
  name: 'calendar',
  instructions:
    'You book rooms with tools. Book only what is asked for. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('calendar-morning', (draw) => {
      const { said, date } = drawDay(draw);
      return {
        goal: `Book the room Elm on ${said} at 9 am for one hour.`,
        check: (world) => expectEffects(world, [`book Elm ${date} 09:00 60`]),
      };
    }),
    job('calendar-seats', (draw) => {
      const { said, date } = drawDay(draw);
      return {
        goal: `Book the smallest room with seats for ${draw.number(5, 8)} people on ${said} at 10:30 for 45 minutes.`,
        check: (world) => expectEffects(world, [`book Oak ${date} 10:30 45`]),
      };
    }),
    job('calendar-afternoon', (draw) => {
      const { said, date } = drawDay(draw);
      return {
        goal: `Book Fir on ${said} from 2 pm to 4 pm.`,
        check: (world) => expectEffects(world, [`book Fir ${date} 14:00 120`]),
      };
    }),
    job('calendar-two', (draw) => {
      const { said, date } = drawDay(draw);
      return {
        goal: `On ${said}, book Oak at 08:00 and again at 13:00, each time for 30 minutes.`,
        check: (world) =>
          expectEffects(world, [`book Oak ${date} 08:00 30`, `book Oak ${date} 13:00 30`]),
      };
    }),
    heldOut('calendar-largest', (draw) => ({
      goal: `How many seats does the smallest room have that fits ${draw.number(9, 20)} people?`,
      check: (world, answer) => expectAnswer(world, answer, 20),
    })),
  ],
};
