/** What the command and its worker tell each other, as JSON. */

/** A test by its place: the file's path from the root, and its number there in the order of declaration. */
interface TestPlace {
  readonly file: string;
  readonly number: number;
}

/** How often code with a mutant in it was reached, by the mutant's id. */
export type Hits = Readonly<Record<string, number>>;

/** A test with no mutant active. */
interface MeasuredTest extends TestPlace {
  readonly name: string;
  readonly ms: number;
  /** First line of what failed; undefined: it passed. */
  readonly failure?: string;
  readonly hits: Hits;
}

/** A file of tests with no mutant active. */
export interface MeasuredFile {
  readonly file: string;
  readonly tests: readonly MeasuredTest[];
  /** Reached by hooks that run once for several tests. */
  readonly hits: Hits;
  /** Files with mutants that it loads, those that it imports itself first. */
  readonly modules: readonly string[];
}

/** What the worker is asked to do. */
export type WorkerRequest =
  | {
      readonly type: 'measure';
      readonly files: readonly string[];
      /** Pattern of the names of tests that are not run. */
      readonly without: string;
    }
  | {
      readonly type: 'try';
      readonly mutant: string;
      /** A test that reaches the mutant more often does not end. */
      readonly hitLimit: number;
      /** In the order in which they are run. */
      readonly files: readonly { readonly file: string; readonly tests: readonly TestToRun[] }[];
    };

/** A test of a file, and the time after which it counts as failed. */
export interface TestToRun {
  readonly number: number;
  readonly timeoutMs: number;
}

/** What the worker answers. */
export type WorkerAnswer =
  | {
      readonly type: 'measured';
      readonly files: readonly MeasuredFile[];
      /** Reached while files were loaded, before any test. */
      readonly whileLoading: readonly string[];
    }
  | {
      readonly type: 'tried';
      /** The test that failed; undefined: all passed. */
      readonly killedBy?: string;
      /** Nothing is known: no test reached it this time, or one fails without it now, too. */
      readonly isUndecided?: true;
    };
