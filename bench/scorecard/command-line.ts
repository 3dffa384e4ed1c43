/** Command line of the scorecard: which sections run, what people and programs read, the exit code. */
import { parseArgs } from 'node:util';
import { keepResult } from '../kept-results';
import { reasonOf } from '../../workers/setup-error';
import { areaTable, scorecardSummary } from './area-score';
import { scoreTable } from './score-table';
import { peersSummary, peersTable } from './peers/peers-table';
import { scorePeers } from './peers/score-peers';
import type { ScorecardSection, SectionScore } from './section';
import { sections as allSections } from './sections';
import type { ProgramOutput } from '../program';

const exitRight = 0;
const exitWrong = 1;
const exitUsage = 2;

/** Faults that every engine meets: all kinds at least twice. */
const peerFaults = 160;
/** Draws them if no seed is given. */
const peerSeed = 19;

type Asked =
  | { readonly peers: true; readonly json: boolean; readonly keep: boolean; readonly seed: number }
  | {
      readonly sections: readonly ScorecardSection[];
      readonly json: boolean;
      readonly one: boolean;
      readonly keep: boolean;
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
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const { only, json, keep } = values;
    const seed = values.seed === undefined ? undefined : Number(values.seed);
    if (seed !== undefined && !(Number.isSafeInteger(seed) && seed >= 0))
      return { problem: `--seed is "${values.seed ?? ''}": give a whole number from 0.` };
    if (values.peers) return { peers: true, json, keep, seed: seed ?? peerSeed };
    if (only === undefined) return { sections: known, json, keep, seed, one: false };
    const names = only.split(',');
    const unknown = names.find((each) => !known.some(({ name }) => name === each));
    return unknown === undefined
      ? {
          sections: known.filter(({ name }) => names.includes(name)),
          ...{ json, keep, seed, one: names.length === 1 },
        }
      : { problem: `There is no section "${unknown}".` };
  } catch (thrown) {
    return { problem: reasonOf(thrown) };
  }
}

function usage(known: readonly ScorecardSection[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return [
    'usage: npm run scorecard -- [--only SECTION,…] [--seed N] [--json] [--keep]',
    '       npm run scorecard -- --peers [--seed N] [--json] [--keep]',
    'sections:',
    ...known.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
  ].join('\n');
}

async function comparePeers(
  { seed, json, keep }: Extract<Asked, { peers: true }>,
  output: ProgramOutput,
  command: string,
): Promise<number> {
  const startedAtMs = Date.now();
  const score = await scorePeers(peerFaults, seed);
  const summary = peersSummary(score);
  output.people(peersTable(score));
  if (json) output.result(JSON.stringify(summary));
  if (keep) await keepResult({ name: 'peers', command, startedAtMs }, summary);
  return exitRight;
}

/**
 * Runs the asked sections one after the other.
 *
 * Contract: with `--json` the last line of `result` is the summary: of the one section that `--only` names, else the counts over
 * all sections, with each section's own summary in `byArea`. `--keep` also appends it to `bench/results.jsonl`. Resolves with the
 * exit code: 0 all right, 1 a row is wrong, 2 wrong usage.
 */
export async function runScorecard(
  args: readonly string[],
  output: ProgramOutput,
  known: readonly ScorecardSection[] = allSections,
): Promise<number> {
  const asked = readArguments(args, known);
  if ('problem' in asked) {
    output.people(`${asked.problem}\n${usage(known)}`);
    return exitUsage;
  }
  const startedAtMs = Date.now();
  const command = `npm run scorecard -- ${args.filter((each) => each !== '--keep').join(' ')}`;
  if ('peers' in asked) return comparePeers(asked, output, command);
  const scores: (readonly [string, SectionScore])[] = [];
  for (const section of asked.sections) {
    const sectionAtMs = Date.now();
    const score = await section.score(asked.seed);
    scores.push([section.name, score]);
    output.people(scoreTable(section.name, score.rows, Date.now() - sectionAtMs));
  }
  const areas = scores.map(([area, score]) => ({ area, ...score }));
  if (!asked.one) output.people(areaTable(areas));
  const [first] = areas;
  if (asked.json && first !== undefined)
    output.result(JSON.stringify(asked.one ? first.summary : scorecardSummary(areas)));
  if (asked.keep && !asked.one)
    await keepResult({ name: 'scorecard', command, startedAtMs }, scorecardSummary(areas));
  const isRight = scores.every(([, { rows }]) => rows.every(({ wrong }) => wrong === undefined));
  return isRight ? exitRight : exitWrong;
}
