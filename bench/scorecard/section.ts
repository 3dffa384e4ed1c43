/** What a section of the scorecard is: a set of real faults, each judged against what is right. */
import type { JsonObject } from '../../workflows/core/json';

/** A row whose run was not what the row declares as right. */
interface WrongRow {
  readonly id: string;
  readonly expected: string;
  readonly got: string;
}

/** A row as people see it. */
export interface JudgedRow {
  readonly id: string;
  /** What is right, in a few words. */
  readonly expected: string;
  /** Absent where it was right. */
  readonly wrong?: WrongRow;
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
  /** Contract: real servers only, each ended before it resolves; rejects where the section itself could not run. */
  readonly score: () => Promise<SectionScore>;
}
