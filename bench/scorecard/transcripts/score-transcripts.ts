/** Scores generated transcripts: how many become requests that every vendor takes. */
import fc from 'fast-check';
import type { JudgedRow, SectionScore } from '../section';
import { problemsOf } from './judge-history';
import type { Move, Speaker } from './moves';
import { history, speakers } from './moves';

/** Transcripts that the bar requires (docs/results.md). */
export const barTranscripts = 10_000;

interface Failed {
  readonly moves: readonly Move[];
  readonly problem: string;
}

function rowOf(
  speaker: Speaker,
  seed: number,
  count: number,
  failed: readonly Failed[],
): JudgedRow {
  const id = `${speaker}, seed ${seed}`;
  const expected = `takes ${count} of ${count}`;
  const [first] = failed;
  if (first === undefined) return { id, expected };
  const got = `refused ${failed.length}, the first: ${first.problem} after ${JSON.stringify(first.moves).slice(0, 600)}`;
  return { id, expected, wrong: { id, expected, got } };
}

/** Generates and judges so many transcripts. The seed makes a failure repeatable. */
export function scoreTranscripts(count: number, seed: number): SectionScore {
  const failed = new Map<Speaker, Failed[]>(speakers.map((speaker) => [speaker, []]));
  const kinds = new Map<string, number>();
  for (const moves of fc.sample(history, { numRuns: count, seed })) {
    for (const type of new Set(moves.map(kindOf))) kinds.set(type, (kinds.get(type) ?? 0) + 1);
    const refusedBy = new Map(problemsOf(moves).map(({ speaker, problem }) => [speaker, problem]));
    for (const [speaker, problem] of refusedBy) failed.get(speaker)?.push({ moves, problem });
  }
  const rows = speakers.map((speaker) => rowOf(speaker, seed, count, failed.get(speaker) ?? []));
  return {
    rows,
    summary: {
      transcripts: count,
      seed,
      refused: Object.fromEntries([...failed].map(([speaker, each]) => [speaker, each.length])),
      holding: Object.fromEntries([...kinds].sort()),
    },
  };
}

/** What a move is counted as. */
function kindOf(move: Move): string {
  return move.type === 'reply' && move.recording !== 'whole'
    ? `results ${move.recording}`
    : move.type;
}
