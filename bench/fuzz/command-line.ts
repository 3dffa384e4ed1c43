/** Command line of the fuzzer: reads the arguments, plays, prints. */
import { parseArgs } from 'node:util';
import type { JsonObject } from '../../workflows/core/json';
import { keepResult } from '../kept-results';
import { reasonOf } from '../../workers/setup-error';
import { argumentsArea } from './areas/arguments';
import { gatewayRequestsArea } from './areas/gateway-requests';
import { historiesArea } from './areas/histories';
import { mcpFramesArea } from './areas/mcp-frames';
import { storeFilesArea } from './areas/store-files';
import { streamAreas } from './areas/streams';
import type { Finding, FuzzArea } from './fuzz-area';
import type { FoundCase, FuzzPlan } from './run-fuzz';
import { runFuzz } from './run-fuzz';
import type { ProgramOutput } from '../program';
import { wantedAreas, wholeNumber } from '../program';

/** Every area, in the order in which they are played. */
export const fuzzAreas: readonly FuzzArea[] = [
  ...streamAreas,
  argumentsArea,
  mcpFramesArea,
  gatewayRequestsArea,
  historiesArea,
  storeFilesArea,
];

const usage = [
  'usage: npm run fuzz -- [--minutes N] [--seed N] [--only AREA] [--case N] [--json] [--keep]',
  'areas:',
  ...fuzzAreas.map(({ name, about }) => `  ${name.padEnd(16)}  ${about}`),
].join('\n');

const msPerMinute = 60_000;

function read(
  args: readonly string[],
): FuzzPlan & { readonly json: boolean; readonly keep: boolean } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string' },
      case: { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is "${values.minutes}": give a number above 0.`);
  const from = values.case === undefined ? {} : { from: Number(values.case), cases: 1 };
  return {
    areas: wantedAreas(fuzzAreas, values.only),
    seed: wholeNumber('seed', values.seed, 0),
    budgetMs: minutes * msPerMinute,
    ...from,
    json: values.json,
    keep: values.keep,
  };
}

function lineOf({ area, seed, case: index, kind, what, base, mutations }: FoundCase): string {
  return [
    `${kind.toUpperCase()} npm run fuzz -- --only ${area} --seed ${seed} --case ${index}`,
    `  input ${base}, after: ${mutations.join('; ')}`,
    `  ${what}`,
  ].join('\n');
}

/** Carries out the command; resolves with its exit code: 0 nothing found, 1 something found, 2 wrong usage. */
export async function fuzz(args: readonly string[], output: ProgramOutput): Promise<number> {
  let plan: ReturnType<typeof read>;
  try {
    plan = read(args);
  } catch (thrown) {
    output.people(`${reasonOf(thrown)}\n${usage}`);
    return 2;
  }
  const startedAtMs = Date.now();
  const onArea = (name: string, cases: number): void => {
    output.people(`${name}: ${cases} cases with seed ${plan.seed}`);
  };
  const { cases, found } = await runFuzz({ ...plan, onArea });
  for (const each of found) output.people(lineOf(each));
  const of = (kind: Finding['kind']) =>
    found.filter((each) => each.kind === kind).map(({ kind: _, ...each }) => each);
  const summary = {
    cases,
    crashes: of('crash'),
    hangs: of('hang'),
    falseSuccesses: of('false success'),
  };
  output.result(plan.json ? JSON.stringify(summary) : `${cases} cases, ${found.length} findings`);
  if (plan.keep)
    await keepResult(
      {
        name: 'fuzz',
        command: `npm run fuzz -- ${args.filter((each) => each !== '--keep').join(' ')}`,
        startedAtMs,
      },
      JSON.parse(JSON.stringify(summary)) as JsonObject,
    );
  return found.length === 0 ? 0 : 1;
}
