/** Command line of the scorecard: which sections run, what people and programs read, the exit code. */
import { parseArgs } from 'node:util';
import { reasonOf } from '../../workers/setup-error';
import { scoreTable } from './score-table';
import type { ScorecardSection, SectionScore } from './section';
import { sections as allSections } from './sections';

/** Where the scorecard writes. */
export interface ScorecardOutput {
  /** One line for programs: standard output. */
  readonly result: (line: string) => void;
  /** For people: standard error. */
  readonly people: (text: string) => void;
}

const exitRight = 0;
const exitWrong = 1;
const exitUsage = 2;

type Asked =
  | {
      readonly sections: readonly ScorecardSection[];
      readonly json: boolean;
      readonly one: boolean;
    }
  | { readonly problem: string };

function readArguments(args: readonly string[], known: readonly ScorecardSection[]): Asked {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { only: { type: 'string' }, json: { type: 'boolean', default: false } },
    });
    const { only, json } = values;
    if (only === undefined) return { sections: known, json, one: false };
    const section = known.find(({ name }) => name === only);
    return section === undefined
      ? { problem: `There is no section "${only}".` }
      : { sections: [section], json, one: true };
  } catch (thrown) {
    return { problem: reasonOf(thrown) };
  }
}

function usage(known: readonly ScorecardSection[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return [
    'usage: npm run scorecard -- [--only SECTION] [--json]',
    'sections:',
    ...known.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
  ].join('\n');
}

/**
 * Runs the asked sections one after the other.
 *
 * Contract: with `--json` the last line of `result` is the summary: of the one section that `--only` names, else an
 * object with one summary per section. Resolves with the exit code: 0 all right, 1 a row is wrong, 2 wrong usage.
 */
export async function runScorecard(
  args: readonly string[],
  output: ScorecardOutput,
  known: readonly ScorecardSection[] = allSections,
): Promise<number> {
  const asked = readArguments(args, known);
  if ('problem' in asked) {
    output.people(`${asked.problem}\n${usage(known)}`);
    return exitUsage;
  }
  const scores: (readonly [string, SectionScore])[] = [];
  for (const section of asked.sections) {
    const startedAtMs = Date.now();
    const score = await section.score();
    scores.push([section.name, score]);
    output.people(scoreTable(section.name, score.rows, Date.now() - startedAtMs));
  }
  const summaries = scores.map(([name, { summary }]) => [name, summary] as const);
  const [first] = summaries;
  if (asked.json && first !== undefined)
    output.result(JSON.stringify(asked.one ? first[1] : Object.fromEntries(summaries)));
  const isRight = scores.every(([, { rows }]) => rows.every(({ wrong }) => wrong === undefined));
  return isRight ? exitRight : exitWrong;
}
