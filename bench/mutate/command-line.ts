/** Command line of the mutation test: reads the arguments, mutates, prints. */
import { parseArgs } from 'node:util';
import { keepResult } from '../kept-results';
import { shareText } from '../wilson';
import { reasonOf } from '../../workers/setup-error';
import type { MutationArea } from './areas';
import { mutationAreas } from './areas';
import { disabledMutants } from './disabled';
import { installInstrumenter } from './instrument';
import type { MutantResult } from './run-mutants';
import type { AreaScore } from './score-area';
import { scoreArea } from './score-area';
import type { ProgramOutput } from '../program';
import { wantedAreas, wholeNumber } from '../program';

const usage = [
  'usage: npm run mutate -- [--sample N] [--seed N] [--only AREA] [--json] [--keep]',
  '  --sample N   mutants over all areas, the same number of each (1500)',
  `  --only AREA  ${mutationAreas.map(({ name }) => name).join(', ')}`,
].join('\n');

/** Draws the sample if no seed is given. */
const defaultSeed = '19';

interface Asked {
  readonly areas: readonly MutationArea[];
  readonly seed: number;
  /** Mutants of each area. */
  readonly size: number;
  readonly json: boolean;
  readonly keep: boolean;
}

function read(args: readonly string[]): Asked {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sample: { type: 'string', default: '1500' },
      seed: { type: 'string', default: defaultSeed },
      only: { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  return {
    areas: wantedAreas(mutationAreas, values.only),
    seed: wholeNumber('seed', values.seed, 0),
    size: Math.ceil(wholeNumber('sample', values.sample, 1) / mutationAreas.length),
    json: values.json,
    keep: values.keep,
  };
}

const lives = ({ status }: MutantResult): boolean =>
  status === 'survived' || status === 'unreached';

function countsOf({ results, mutants, disabled }: AreaScore) {
  const of = (wanted: MutantResult['status']): number =>
    results.filter(({ status }) => status === wanted).length;
  return {
    ...{ mutants, disabled, sample: results.length },
    ...{ killed: of('killed'), timeout: of('timeout') },
    ...{ survived: of('survived'), unreached: of('unreached') },
  };
}

/** Percent of the sample that tests killed, with one decimal. */
function percentOf({ results }: AreaScore): number {
  const killed = results.filter((each) => !lives(each)).length;
  return Math.round((1_000 * killed) / Math.max(1, results.length)) / 10;
}

function lineOf(result: MutantResult): string {
  const { file, line, mutator, original, replacement } = result.mutant;
  const short = (code: string): string => code.replace(/\s+/g, ' ').slice(0, 200);
  return `${result.status} ${file}:${line} ${mutator}: ${short(original)} -> ${short(replacement)}`;
}

function summaryText(score: AreaScore): string {
  const { mutants, disabled, sample, killed, timeout, survived, unreached } = countsOf(score);
  return [
    `${score.area}: ${shareText(killed + timeout, sample)} of ${sample} mutants killed (of ${mutants}; ${disabled} more are disabled)`,
    `  ${killed} by a failed test, ${timeout} by a test that did not end; ${survived} survived, ${unreached} are reached by no test`,
  ].join('\n');
}

/** Carries out the command; resolves with its exit code: 0 every score reaches its bar, 1 one does not, 2 wrong usage. */
export async function mutate(args: readonly string[], output: ProgramOutput): Promise<number> {
  let asked: Asked;
  try {
    asked = read(args);
  } catch (thrown) {
    output.people(`${reasonOf(thrown)}\n${usage}`);
    return 2;
  }
  const startedAtMs = Date.now();
  const onResult = (result: MutantResult): void => {
    if (lives(result)) output.people(lineOf(result));
  };
  await installInstrumenter();
  const scores = await Promise.all(
    asked.areas.map(async (area) => {
      const score = await scoreArea(process.cwd(), area, asked, disabledMutants, onResult);
      output.people(summaryText(score));
      return score;
    }),
  );
  const percents = Object.fromEntries(scores.map((score) => [score.area, percentOf(score)]));
  if (asked.json) output.result(JSON.stringify(percents));
  if (asked.keep)
    await keepResult(
      {
        name: 'mutants',
        command: `npm run mutate -- ${args.filter((each) => each !== '--keep').join(' ')}`,
        startedAtMs,
      },
      {
        seed: asked.seed,
        byArea: Object.fromEntries(scores.map((score) => [score.area, countsOf(score)])),
      },
    );
  return asked.areas.every(({ name, bar }) => (percents[name] ?? 0) >= bar) ? 0 : 1;
}
