/** Command line of the scorecard: which sections run, what people and programs read, the exit code. */
import { parseArgs } from 'node:util';
import { reasonOf } from '../../workers/setup-error';
import { areaTable, scorecardSummary } from './area-score';
import { scoreTable } from './score-table';
import { peersSummary, peersTable } from './peers/peers-table';
import { scorePeers } from './peers/score-peers';
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

/** Faults that every engine meets: all kinds at least twice. */
const peerFaults = 160;
/** Draws them if no seed is given. */
const peerSeed = 19;

type Asked =
  | { readonly peers: true; readonly json: boolean; readonly seed: number }
  | {
      readonly sections: readonly ScorecardSection[];
      readonly json: boolean;
      readonly one: boolean;
      readonly seed: number | undefined;
    }
  | { readonly problem: string };

function readArguments(args: readonly string[], known: readonly ScorecardSection[]): Asked {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        seed: { type: 'string' },
        peers: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const { only, json } = values;
    const seed = values.seed === undefined ? undefined : Number(values.seed);
    if (seed !== undefined && !(Number.isSafeInteger(seed) && seed >= 0))
      return { problem: `--seed is "${values.seed ?? ''}": give a whole number from 0.` };
    if (values.peers) return { peers: true, json, seed: seed ?? peerSeed };
    if (only === undefined) return { sections: known, json, seed, one: false };
    const section = known.find(({ name }) => name === only);
    return section === undefined
      ? { problem: `There is no section "${only}".` }
      : { sections: [section], json, seed, one: true };
  } catch (thrown) {
    return { problem: reasonOf(thrown) };
  }
}

function usage(known: readonly ScorecardSection[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return [
    'usage: npm run scorecard -- [--only SECTION] [--seed N] [--json]',
    '       npm run scorecard -- --peers [--seed N] [--json]',
    'sections:',
    ...known.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
  ].join('\n');
}

/**
 * Runs the asked sections one after the other.
 *
 * Contract: with `--json` the last line of `result` is the summary: of the one section that `--only` names, else the
 * counts over all sections, with each section's own summary in `byArea`. Resolves with the exit code: 0 all right, 1 a row is wrong, 2 wrong usage.
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
  if ('peers' in asked) {
    const score = await scorePeers(peerFaults, asked.seed);
    output.people(peersTable(score));
    if (asked.json) output.result(JSON.stringify(peersSummary(score)));
    return exitRight;
  }
  const scores: (readonly [string, SectionScore])[] = [];
  for (const section of asked.sections) {
    const startedAtMs = Date.now();
    const score = await section.score(asked.seed);
    scores.push([section.name, score]);
    output.people(scoreTable(section.name, score.rows, Date.now() - startedAtMs));
  }
  const areas = scores.map(([area, score]) => ({ area, ...score }));
  if (!asked.one) output.people(areaTable(areas));
  const [first] = areas;
  if (asked.json && first !== undefined)
    output.result(JSON.stringify(asked.one ? first.summary : scorecardSummary(areas)));
  const isRight = scores.every(([, { rows }]) => rows.every(({ wrong }) => wrong === undefined));
  return isRight ? exitRight : exitWrong;
}
