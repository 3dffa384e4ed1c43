/** The one scorecard over all areas: counts of faults, rates with their intervals, and what a recovery cost. */
import type { JsonObject } from '../../workflows/core/json';
import { shareText } from '../wilson';
import type { AddedCost, JudgedRow, SectionScore } from './section';

/** Counts of one area, or of all. */
interface FaultCounts {
  readonly faults: number;
  readonly recoverable: number;
  readonly recovered: number;
  readonly stoppedReadably: number;
  /** Rows that check something else. */
  readonly checks: number;
  readonly checksRight: number;
  /** Means over the recovered faults of which it was measured. */
  readonly added?: AddedCost;
}

/** An area with its rows and its own summary. */
interface AreaScore extends SectionScore {
  readonly area: string;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function meanOf(costs: readonly AddedCost[]): { readonly added?: AddedCost } {
  if (costs.length === 0) return {};
  const mean = (of: (cost: AddedCost) => number): number =>
    rounded(costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length);
  return {
    added: {
      calls: mean(({ calls }) => calls),
      tokens: mean(({ tokens }) => tokens),
      seconds: mean(({ seconds }) => seconds),
    },
  };
}

function countsOf(rows: readonly JudgedRow[]): FaultCounts {
  const faults = rows.filter(({ fault }) => fault !== undefined);
  const checks = rows.filter(({ fault }) => fault === undefined);
  const right = (some: readonly JudgedRow[]): readonly JudgedRow[] =>
    some.filter(({ wrong }) => wrong === undefined);
  const recoverable = faults.filter(({ fault }) => fault?.right === 'recovers');
  const recovered = right(recoverable);
  return {
    faults: faults.length,
    recoverable: recoverable.length,
    recovered: recovered.length,
    stoppedReadably: right(faults).length - recovered.length,
    checks: checks.length,
    checksRight: right(checks).length,
    ...meanOf(recovered.flatMap(({ fault }) => fault?.added ?? [])),
  };
}

/** What `--json` prints last where every area runs; the fields are listed in docs/results.md. */
export function scorecardSummary(areas: readonly AreaScore[]): JsonObject {
  const rows = areas.flatMap((each) => each.rows);
  const { faults, recoverable, recovered, stoppedReadably } = countsOf(rows);
  return {
    faults,
    recoverable,
    recovered,
    stoppedReadably,
    wrong: areas.flatMap(({ area, rows: own }) =>
      own.flatMap(({ wrong }) => (wrong === undefined ? [] : [{ area, ...wrong }])),
    ),
    byArea: Object.fromEntries(
      areas.map(({ area, rows: own, summary }) => {
        const { added, ...counts } = countsOf(own);
        return [
          area,
          { ...counts, ...(added === undefined ? {} : { added: { ...added } }), summary },
        ];
      }),
    ),
  };
}

const headings = ['area', 'faults', 'recovered', 'stopped', 'checks', 'added calls/tokens/s'];

function cellsOf(area: string, counts: FaultCounts): readonly string[] {
  const { faults, recoverable, recovered, stoppedReadably, checks, checksRight, added } = counts;
  const of = (right: number, all: number): string =>
    all === 0 ? '–' : `${right}/${all} ${shareText(right, all)}`;
  return [
    area,
    String(faults),
    of(recovered, recoverable),
    of(stoppedReadably, faults - recoverable),
    of(checksRight, checks),
    added === undefined ? '–' : `${added.calls} / ${added.tokens} / ${added.seconds}`,
  ];
}

/** The table: a line for each area, and one for all; each rate with its 95 % interval (Wilson), in percent. */
export function areaTable(areas: readonly AreaScore[]): string {
  const all = areas.flatMap(({ rows }) => rows);
  const lines = [
    headings,
    ...areas.map(({ area, rows }) => cellsOf(area, countsOf(rows))),
    cellsOf('all', countsOf(all)),
  ];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
