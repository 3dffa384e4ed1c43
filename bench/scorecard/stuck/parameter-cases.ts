/** Situations in which the tool is right and a parameter is wrong; an earlier result holds the right value. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import type { StuckCase } from './stuck-case';
import {
  advisedInput,
  calls,
  clueless,
  fails,
  plans,
  tool,
  treasure,
  untilTreasure,
} from './stuck-case';

interface ParameterCase {
  readonly id: string;
  readonly goal: string;
  /** Tells what is known; called first, without input. */
  readonly source: { readonly name: string; readonly says: string };
  readonly target: string;
  readonly parameter: string;
  /** What the model tries, one after the other and round again. */
  readonly wrong: readonly JsonObject[];
  readonly right: string;
  readonly error: string;
  /** How a planner finds the right value in its prompt. */
  readonly tells: RegExp;
}

const text = z.object({});

function nextWrong(wrong: readonly JsonObject[], last: JsonObject | undefined): JsonObject {
  const index = wrong.findIndex((input) => JSON.stringify(input) === JSON.stringify(last));
  return wrong[(index + 1) % wrong.length] ?? {};
}

function parameterCase(stuckCase: ParameterCase): StuckCase {
  const { source, target, parameter, right } = stuckCase;
  const schema = z.object({ [parameter]: z.string() });
  return {
    id: stuckCase.id,
    right: 'recovers',
    goal: stuckCase.goal,
    tools: [
      tool(source.name, 'Tells what is known about the task.', text, () => source.says),
      tool(target, `Does the work for one ${parameter}.`, schema, (input) =>
        input[parameter] === right ? `${treasure} of ${right}` : fails(stuckCase.error),
      ),
    ],
    model: untilTreasure((view) => {
      const advised = advisedInput(view);
      if (advised !== undefined) return calls(target, advised);
      if (!view.text.includes(source.says)) return calls(source.name, {});
      const last = view.lastCall?.name === target ? view.lastCall.input : undefined;
      return calls(target, nextWrong(stuckCase.wrong, last));
    }),
    planner: (prompt) => {
      const [, value] = stuckCase.tells.exec(prompt) ?? [];
      return value === undefined
        ? clueless()
        : plans('parameter-adjustment', 0.85, {
            toolName: target,
            parameters: { [parameter]: value },
          });
    },
  };
}

/** Thirteen situations with a wrong parameter, and three with a missing one. */
export const parameterCases: readonly StuckCase[] = [
  ...['invoice', 'tracker', 'router'].map((name, seed) =>
    parameterCase({
      id: `wrong path ${seed + 1}`,
      goal: `Say what ${name} does.`,
      source: {
        name: 'search',
        says: `packages/p${seed}/src/${name}.ts:${seed + 3}: class ${name}`,
      },
      target: 'read',
      parameter: 'path',
      wrong: [{ path: `${name}.ts` }],
      right: `packages/p${seed}/src/${name}.ts`,
      error: 'ENOENT: no such file or directory',
      tells: /(packages\/[\w/]+\.ts):\d/,
    }),
  ),
  ...['4711', 'x-99'].map((id, seed) =>
    parameterCase({
      id: `stale id ${seed + 1}`,
      goal: 'Ship the order of Ada.',
      source: { name: 'list_orders', says: `Orders now open: number=${id} buyer=Ada` },
      target: 'ship_status',
      parameter: 'order',
      wrong: [{ order: `old-${seed}` }],
      right: id,
      error: 'no such order',
      tells: /number=([\w-]+) buyer=Ada/,
    }),
  ),
  ...['31/12/2026', 'Dec 31 26'].map((date, seed) =>
    parameterCase({
      id: `wrong format ${seed + 1}`,
      goal: 'Book the room for the last day of the year.',
      source: { name: 'room_rules', says: 'Dates are written as in 2026-12-31.' },
      target: 'find_room',
      parameter: 'date',
      wrong: [{ date }],
      right: '2026-12-31',
      error: 'bad date',
      tells: /as in (\d{4}-\d\d-\d\d)/,
    }),
  ),
  ...['p1', 'page-a'].map((page, seed) =>
    parameterCase({
      id: `off-by-one paging ${seed + 1}`,
      goal: 'Read the first page.',
      source: { name: 'describe_list', says: `The first page is called <${page}>, the last <z>.` },
      target: 'read_page',
      parameter: 'page',
      wrong: [{ page: 'p0' }, { page: 'p-1' }],
      right: page,
      error: 'page out of range',
      tells: /first page is called <([\w-]+)>/,
    }),
  ),
  ...['packages/app', 'services/web'].map((folder, seed) =>
    parameterCase({
      id: `wrong working directory ${seed + 1}`,
      goal: 'Run the tests.',
      source: { name: 'project_map', says: `Tests live in folder ${folder}; the root has none` },
      target: 'run_tests',
      parameter: 'cwd',
      wrong: [{ cwd: '.' }, { cwd: './' }],
      right: folder,
      error: 'no test found here',
      tells: /in folder ([\w/]+)/,
    }),
  ),
  ...['HIGH', 'Sev1'].map((level, seed) =>
    parameterCase({
      id: `wrong word of a list ${seed + 1}`,
      goal: 'Count the urgent tickets.',
      source: { name: 'ticket_levels', says: `Levels: ${level} (urgent), OTHER (the rest)` },
      target: 'count_tickets',
      parameter: 'level',
      wrong: [{ level: 'urgent' }, { level: 'high' }, { level: 'critical' }],
      right: level,
      error: 'unknown level',
      tells: /Levels: (\w+) \(urgent\)/,
    }),
  ),
  ...['c-204', 'c-205', 'team-x'].map((channel, seed) =>
    parameterCase({
      id: `missing parameter ${seed + 1}`,
      goal: 'Post the news to the team.',
      source: { name: 'list_channels', says: `Channel of the team: ${channel}.` },
      target: 'read_channel',
      parameter: 'channel',
      wrong: [{}],
      right: channel,
      error: 'not reached: the schema refuses the call',
      tells: /Channel of the team: ([\w-]+)\./,
    }),
  ),
];
