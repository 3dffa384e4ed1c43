/** Counts which labeled call traces the guard takes for loops. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore } from '../../../activities/stores/open-store';
import type { JudgedRow, SectionScore } from '../section';
import type { CallTrace } from './call-trace';
import { playTrace } from './play-trace';
import type { PlayedTrace } from './play-trace';

/** The reasons with which the guard ends a loop (R-GUARD-5, R-GUARD-6). */
const endings = ['guard_loop', 'guard_file_edits'];

/** A loop must be ended as one; anything else must be neither ended nor warned of. */
function judge(trace: CallTrace, played: PlayedTrace): JudgedRow {
  const expected = trace.label === 'loop' ? 'ended as a loop' : 'left alone';
  const { endedBy, warned, calls } = played;
  const seen =
    trace.label === 'loop' ? endings.includes(endedBy ?? '') : endedBy === undefined && !warned;
  const { id } = trace;
  const row: JudgedRow =
    trace.label === 'loop' ? { id, expected, fault: { right: 'stops' } } : { id, expected };
  if (seen) return row;
  const got = `${endedBy ?? 'ran on'}${warned ? ', warned' : ''} after ${calls} calls`;
  return { ...row, wrong: { id, expected, got } };
}

/**
 * Plays every trace.
 *
 * Contract: `summary` has exactly the fields of docs/results.md; recall is a share of the loops, false positives of the rest.
 */
export async function scoreLoops(traces: readonly CallTrace[]): Promise<SectionScore> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-loops-'));
  const store = await openStore(`sqlite:${path.join(folder, 'loops.db')}`);
  try {
    const rows: JudgedRow[] = [];
    for (const trace of traces) rows.push(judge(trace, await playTrace(store, trace)));
    const share = (isLoop: boolean, isWrong: boolean): number => {
      const own = rows.filter((_, index) => (traces[index]?.label === 'loop') === isLoop);
      return own.filter(({ wrong }) => (wrong !== undefined) === isWrong).length / own.length;
    };
    return {
      rows,
      summary: {
        traces: rows.length,
        recall: share(true, false),
        falsePositives: share(false, true),
      },
    };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}
