/** What a section of the scorecard is: a set of real faults, each judged against what is right. */
import type { JsonObject } from '../../workflows/core/json';

/** A row whose run was not what the row declares as right. */
interface WrongRow {
  readonly id: string;
  readonly expected: string;
  readonly got: string;
}

/** What a recovered fault cost beyond the same run without it. */
export interface AddedCost {
  /** Requests to the vendor. */
  readonly calls: number;
  /** Tokens that the vendor billed for the requests that the fault spoiled. */
  readonly tokens: number;
  /** From the first spoiled request to the one that took its place. */
  readonly seconds: number;
}

/** The fault of a row, as it is declared before its run (R-SCORE-1). */
interface DeclaredFault {
  /** Recoverable, or to be stopped readably or handed over. */
  readonly right: 'recovers' | 'stops';
  /** Absent where it was not measured. */
  readonly added?: AddedCost;
}

/** A row as people see it. */
export interface JudgedRow {
  readonly id: string;
  /** What is right, in a few words. */
  readonly expected: string;
  /** Absent where it was right. */
  readonly wrong?: WrongRow;
  /** Absent where the row checks something other than what a run makes of a fault. */
  readonly fault?: DeclaredFault;
}

/** What a section found. */
export interface SectionScore {
  /** The section's line for programs; its fields are listed in docs/results.md. */
  readonly summary: JsonObject;
  readonly rows: readonly JudgedRow[];
}

/** A section: to add one, write its folder and name it in `sections.ts`. */
export interface ScorecardSection {
  /** As `--only` takes it. */
  readonly name: string;
  /** One line for the usage text. */
  readonly about: string;
  /**
   * Contract: real servers only, each ended before it resolves; rejects where the section itself could not run. A section that
   * draws its rows draws them by the seed, or by one of its own.
   */
  readonly score: (seed: number | undefined) => Promise<SectionScore>;
}
