/** Runs the tests that reach a mutant, mutant by mutant, cheap tests first, until one fails. */
import type { Mutant } from './instrument';
import type { MeasuredFile, TestToRun, WorkerAnswer } from './protocol';
import type { MutationWorker, WorkerPlace } from './worker-process';
import { startWorker } from './worker-process';

/** What became of a mutant. */
export interface MutantResult {
  readonly mutant: Mutant;
  /** A test failed or did not end; `survived`: tests reach the mutant, and all passed. */
  readonly status: 'killed' | 'timeout' | 'survived' | 'unreached';
  /** The test that failed. */
  readonly killedBy?: string;
}

/** Milliseconds for the load of all tests and a run of each. */
const measureDeadlineMs = 1_800_000;
/** A test may take this much, and this many times what it took with no mutant active: a machine may be busy. */
const testFloorMs = 15_000;
const testFactor = 20;
/** Tests of a file that take less are run before the others of the file. */
const quickTimeoutMs = testFloorMs + testFactor * 500;
/** Milliseconds beside the tests' own: loading files. */
const loadMs = 120_000;
/** A test that reaches a mutant this many times as often as without it does not end. */
const hitFactor = 100;
const hitFloor = 10_000;
/** Failed tests leave timers, servers and memory behind. */
const mutantsPerWorker = 150;

type ToTry = readonly { readonly file: string; readonly tests: readonly TestToRun[] }[];

interface Measured {
  readonly files: readonly MeasuredFile[];
  readonly whileLoading: ReadonlySet<string>;
}

/** The tests that have to notice mutants. */
export interface NoticingTests {
  /** From the root. */
  readonly files: readonly string[];
  /** Pattern of the names of those that are not run; a name begins with its file. */
  readonly without: string;
}

async function measure(worker: MutationWorker, tests: NoticingTests): Promise<Measured> {
  const answer = await worker.ask({ type: 'measure', ...tests }, measureDeadlineMs);
  if (typeof answer === 'string' || answer.type !== 'measured')
    throw new Error('The tests ended their process, or did not end, with no mutant active.');
  const failed = answer.files.flatMap((file) => file.tests).filter(({ failure }) => failure);
  if (failed.length > 0) {
    const lines = failed.map(({ name, failure = '' }) => `  ${name}\n    ${failure}`);
    throw new Error(`Tests fail with no mutant active:\n${lines.join('\n')}`);
  }
  return { files: answer.files, whileLoading: new Set(answer.whileLoading) };
}

/** The tests of a file that can notice a mutant; all of them if code that loads the file or serves several tests holds it. */
function testsToTry({ id, file }: Mutant, measured: MeasuredFile, isStatic: boolean): TestToRun[] {
  const isForAll = id in measured.hits || (isStatic && measured.modules.includes(file));
  return measured.tests
    .filter(({ hits }) => isForAll || id in hits)
    .map(({ number, ms }) => ({ number, timeoutMs: testFloorMs + testFactor * ms }));
}

/** Milliseconds of the tests, times a factor. */
function costOf(tests: readonly TestToRun[]): number {
  return tests.reduce((sum, { timeoutMs }) => sum + timeoutMs - testFloorMs, 0);
}

/** Files and tests for a mutant: cheap files first, or, for one that acts while files are loaded, those that import it themselves. */
function planFor(mutant: Mutant, { files, whileLoading }: Measured): ToTry {
  const isStatic = whileLoading.has(mutant.id);
  return files
    .map((each) => ({ ...each, toRun: testsToTry(mutant, each, isStatic) }))
    .filter(({ toRun }) => toRun.length > 0)
    .flatMap(({ file, toRun, modules }) => {
      const isQuick = ({ timeoutMs }: TestToRun): boolean => timeoutMs < quickTimeoutMs;
      const groups = [toRun.filter(isQuick), toRun.filter((each) => !isQuick(each))];
      return groups
        .filter((tests) => tests.length > 0)
        .map((tests) => ({
          ...{ file, tests },
          cost: costOf(tests) * (isStatic ? modules.indexOf(mutant.file) : 1),
        }));
    })
    .toSorted((left, right) => left.cost - right.cost);
}

function requestFor({ id }: Mutant, files: ToTry, measured: Measured) {
  const hits = measured.files.flatMap((each) => [
    each.hits[id] ?? 0,
    ...each.tests.map((test) => test.hits[id] ?? 0),
  ]);
  const hitLimit = Math.max(hitFloor, hitFactor * Math.max(...hits));
  return { type: 'try' as const, mutant: id, hitLimit, files };
}

function deadlineFor(files: ToTry): number {
  return loadMs + costOf(files.flatMap(({ tests }) => tests));
}

/** Tries mutants one after the other; call `stop` at the end. */
class MutantTrial {
  readonly #place: WorkerPlace;
  #worker: MutationWorker;
  #tried = 0;
  #measured: Measured | undefined;

  constructor(place: WorkerPlace) {
    this.#place = place;
    this.#worker = startWorker(place);
  }

  async prepare(tests: NoticingTests): Promise<void> {
    this.#measured = await measure(this.#worker, tests);
  }

  async judge(mutant: Mutant): Promise<MutantResult> {
    const measured = this.#measured;
    if (measured === undefined) throw new Error('Prepare first.');
    const files = planFor(mutant, measured);
    if (files.length === 0) return { mutant, status: 'unreached' };
    const request = requestFor(mutant, files, measured);
    const answer = measured.whileLoading.has(mutant.id)
      ? undefined
      : await this.#ask(request, deadlineFor(files));
    if (answer === 'timeout') return { mutant, status: 'timeout' };
    if (typeof answer === 'object' && answer.killedBy !== undefined)
      return { mutant, status: 'killed', killedBy: answer.killedBy };
    if (typeof answer === 'object' && !answer.isUndecided) return { mutant, status: 'survived' };
    // In a process of its own: what modules keep for themselves hides a mutant, or blames a wrong one.
    return this.#judgeAlone(mutant, files, request);
  }

  async #judgeAlone(
    mutant: Mutant,
    files: ToTry,
    request: ReturnType<typeof requestFor>,
  ): Promise<MutantResult> {
    const worker = startWorker(this.#place, mutant.id);
    const answer = await worker.ask(request, deadlineFor(files));
    await worker.stop();
    if (answer === 'timeout') return { mutant, status: 'timeout' };
    if (answer === 'ended') return { mutant, status: 'killed', killedBy: 'the process ended' };
    if (answer.type === 'measured' || answer.killedBy === undefined)
      return { mutant, status: 'survived' };
    return { mutant, status: 'killed', killedBy: answer.killedBy };
  }

  async #ask(
    request: ReturnType<typeof requestFor>,
    deadlineMs: number,
  ): Promise<Extract<WorkerAnswer, { type: 'tried' }> | 'timeout' | 'ended'> {
    const answer = await this.#worker.ask(request, deadlineMs);
    if (typeof answer === 'object' && answer.type === 'measured')
      throw new Error('The worker answered another request.');
    this.#tried += 1;
    const isSpent = this.#tried % mutantsPerWorker === 0;
    if (typeof answer === 'string' || answer.isUndecided || isSpent) {
      await this.#worker.stop();
      this.#worker = startWorker(this.#place);
    }
    return answer;
  }

  async stop(): Promise<void> {
    await this.#worker.stop();
  }
}

/**
 * Resolves with what became of each mutant; `onResult` hears of it at once.
 *
 * Errors: rejects if a test fails with no mutant active, naming it.
 */
export async function runMutants(
  place: WorkerPlace,
  tests: NoticingTests,
  mutants: readonly Mutant[],
  onResult: (result: MutantResult) => void,
): Promise<readonly MutantResult[]> {
  const trial = new MutantTrial(place);
  try {
    await trial.prepare(tests);
    const results: MutantResult[] = [];
    for (const mutant of mutants) {
      const result = await trial.judge(mutant);
      onResult(result);
      results.push(result);
    }
    return results;
  } finally {
    await trial.stop();
  }
}
