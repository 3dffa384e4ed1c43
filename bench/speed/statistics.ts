/** Medians, spreads, and ratios to the floor of the same round. */
import type { Measure, Row } from './cells';
import { measures } from './cells';

/** Values of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Three digits after the point are more than any run here reproduces. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** The spread of at least one value, undefined for none; of an even number of values the median is the middle of two. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return undefined;
  const upper = sorted[Math.floor(sorted.length / 2)] ?? min;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? min;
  return { median: rounded((lower + upper) / 2), min: rounded(min), max: rounded(max) };
}

/** What one engine did at one cell. */
export interface CellSummary {
  readonly measured: Readonly<Partial<Record<Measure, Spread>>>;
  /** Over the floor, round by round. */
  readonly overFloor: Readonly<Partial<Record<Measure, Spread>>>;
  /** Why it failed; absent where it did not. */
  readonly failed?: string;
}

/** By cell, then by engine. */
export type SpeedSummary = Readonly<Record<string, Readonly<Record<string, CellSummary>>>>;

/** Ratios of two engines at a cell, one for each round in which both measured it. */
export function ratiosOf(
  rows: readonly Row[],
  cell: string,
  engine: string,
  base: string,
  measure: Measure,
): readonly number[] {
  const of = (name: string) => rows.filter((row) => row.cell === cell && row.engine === name);
  return of(engine).flatMap(({ round, measured }) => {
    const value = measured[measure];
    const against = of(base).find((row) => row.round === round)?.measured[measure];
    return value === undefined || against === undefined || against === 0 ? [] : [value / against];
  });
}

function present<Value>(
  valueOf: (measure: Measure) => Value | undefined,
): Partial<Record<Measure, Value>> {
  return Object.fromEntries(
    measures.flatMap((measure) => {
      const value = valueOf(measure);
      return value === undefined ? [] : [[measure, value]];
    }),
  );
}

/** Medians and spreads of all rows. */
export function summarize(rows: readonly Row[], floor: string): SpeedSummary {
  const summary: Record<string, Record<string, CellSummary>> = {};
  for (const { cell, engine } of rows) {
    const inCell = (summary[cell] ??= {});
    if (inCell[engine] !== undefined) continue;
    const own = rows.filter((row) => row.cell === cell && row.engine === engine);
    const failed = own.find((row) => row.failed !== undefined)?.failed;
    inCell[engine] = {
      measured: present((name) => spreadOf(own.flatMap(({ measured }) => measured[name] ?? []))),
      overFloor: present((name) => spreadOf(ratiosOf(rows, cell, engine, floor, name))),
      ...(failed === undefined ? {} : { failed }),
    };
  }
  return summary;
}
