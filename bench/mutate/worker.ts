/**
 * A process that holds the tests and the code with all mutants in it, and runs tests while one mutant is active.
 *
 * It stands in for a worker of jest, with jest's own test runner and assertions, and loads each file once instead of once per mutant.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { inspect } from 'node:util';
import { jestExpect } from '@jest/expect';
import fc from 'fast-check';
import * as circus from 'jest-circus';
import { ModuleMocker } from 'jest-mock';
import type { Hits, MeasuredFile, TestToRun, WorkerAnswer, WorkerRequest } from './protocol';

type CircusTest = Extract<circus.Event, { name: 'test_done' }>['test'];
type DescribeBlock = CircusTest['parent'];

interface LoadedFile {
  readonly state: circus.State;
  readonly tests: readonly CircusTest[];
}

/** The object through which Stryker's instrumented code learns which mutant is active, and says what was reached. */
interface Switchboard {
  activeMutant: string | undefined;
  currentTestId: string | undefined;
  hitCount: number | undefined;
  hitLimit: number | undefined;
  readonly mutantCoverage: {
    readonly static: Record<string, number>;
    readonly perTest: Record<string, Record<string, number>>;
  };
}

const [root = '', codeFolder = '', fixedMutant] = process.argv.slice(2);

const switchboard: Switchboard = {
  activeMutant: fixedMutant,
  currentTestId: undefined,
  hitCount: undefined,
  hitLimit: undefined,
  mutantCoverage: { static: {}, perTest: {} },
};

const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus;
Object.assign(globalThis, {
  ...{ describe, it, test, beforeAll, beforeEach, afterAll, afterEach },
  expect: jestExpect,
  jest: new ModuleMocker(globalThis),
  __stryker__: switchboard,
});

/** Milliseconds for a test with no mutant active; a machine may be busy. */
const calmTimeoutMs = 600_000;
/** Seed of all properties: a mutant that survives meets the same cases as one that is killed. */
const propertySeed = 1;

const load = createRequire(__filename);

const loaded = new Map<string, LoadedFile>();
let running: CircusTest | undefined;
let stopsAtFailure = false;
let isReached = false;
const wasReached = (): boolean => isReached;

function failRunning(error: unknown): void {
  running?.errors.push(error);
}
process.on('uncaughtException', failRunning);
process.on('unhandledRejection', failRunning);

circus.addEventHandler((event) => {
  if (event.name === 'test_start') {
    running = event.test;
    switchboard.hitCount = 0;
  }
  if (event.name !== 'test_done') return;
  running = undefined;
  isReached ||= (switchboard.hitCount ?? 0) > 0;
  if (!stopsAtFailure || event.test.errors.length === 0) return;
  for (const each of testsOf(circus.getState().rootDescribeBlock)) each.mode = 'skip';
});

function testsOf(block: DescribeBlock): CircusTest[] {
  return block.children.flatMap((child) => (child.type === 'test' ? [child] : testsOf(child)));
}

function loadFile(file: string): LoadedFile {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  circus.resetState();
  load(path.join(root, file));
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: propertySeed, endOnFailure: true });
  const state = circus.getState();
  const fresh = { state, tests: testsOf(state.rootDescribeBlock) };
  loaded.set(file, fresh);
  return fresh;
}

/** Runs the tests of these numbers; resolves with those that failed. */
async function runTests(file: string, wanted: readonly TestToRun[]): Promise<CircusTest[]> {
  const { state, tests } = loadFile(file);
  circus.setState(state);
  state.hasFocusedTests = true;
  state.testTimeout = calmTimeoutMs;
  state.unhandledErrors = [];
  for (const each of tests) Object.assign(each, { mode: undefined, errors: [], status: null });
  for (const { number, timeoutMs } of wanted)
    Object.assign(tests[number] ?? {}, { mode: 'only', timeout: timeoutMs });
  await circus.run();
  const failed = tests.filter(({ errors }) => errors.length > 0);
  const first = tests[wanted[0]?.number ?? 0];
  return failed.length === 0 && state.unhandledErrors.length > 0 && first ? [first] : failed;
}

function nameOf(file: string, { name, parent }: CircusTest): string {
  const names = [name];
  for (let block: DescribeBlock = parent; block.parent; block = block.parent)
    names.unshift(block.name);
  return `${file}: ${names.join(' ')}`;
}

function failureOf({ errors }: CircusTest): string | undefined {
  const [first] = (errors as readonly unknown[]).flat();
  if (first === undefined) return undefined;
  return first instanceof Error ? first.message : inspect(first);
}

function takeHits(id: string): Hits {
  const { perTest } = switchboard.mutantCoverage;
  const hits = perTest[id] ?? {};
  perTest[id] = {};
  return hits;
}

/** Files with mutants behind a file's imports, nearest first. */
function modulesBehind(file: string): readonly string[] {
  const seen = new Set<NodeJS.Module>();
  let layer = [load.cache[path.join(root, file)]].filter((each) => each !== undefined);
  while (layer.length > 0) {
    for (const each of layer) seen.add(each);
    layer = [...new Set(layer.flatMap(({ children }) => children))].filter(
      (each) => !seen.has(each) && !each.filename.includes('node_modules'),
    );
  }
  return [...seen]
    .map(({ filename }) => filename)
    .map((filename) => path.relative(root, filename))
    .filter((name) => existsSync(path.join(codeFolder, name)));
}

async function measureFile(file: string, without: RegExp): Promise<MeasuredFile> {
  const numbered = loadFile(file).tests.map((each, number) => ({ each, number }));
  const tests = numbered.filter(({ each }) => !without.test(nameOf(file, each)));
  const hitsOf = new Map<CircusTest, Hits>();
  const hooks = 'hooks';
  const attribute = (event: circus.Event): void => {
    if (event.name === 'test_start') switchboard.currentTestId = 'test';
    if (event.name !== 'test_done') return;
    hitsOf.set(event.test, takeHits('test'));
    switchboard.currentTestId = hooks;
  };
  circus.addEventHandler(attribute);
  switchboard.currentTestId = hooks;
  await runTests(
    file,
    tests.map(({ number }) => ({ number, timeoutMs: calmTimeoutMs })),
  );
  switchboard.currentTestId = undefined;
  circus.removeEventHandler(attribute);
  return {
    file,
    hits: takeHits(hooks),
    modules: modulesBehind(file),
    tests: tests.map(({ each, number }) => {
      const failure = failureOf(each);
      return {
        ...{ file, number, name: nameOf(file, each), ms: each.duration ?? 0 },
        hits: hitsOf.get(each) ?? {},
        ...(failure === undefined ? {} : { failure }),
      };
    }),
  };
}

async function measure({
  files,
  without,
}: Extract<WorkerRequest, { type: 'measure' }>): Promise<WorkerAnswer> {
  for (const file of files) loadFile(file);
  const whileLoading = Object.keys(switchboard.mutantCoverage.static);
  const measured: MeasuredFile[] = [];
  for (const file of files) measured.push(await measureFile(file, new RegExp(without)));
  return { type: 'measured', files: measured, whileLoading };
}

/** Loads a file while no mutant is active, unless one is from the start: that one may be why the file cannot be loaded. */
function loadProblem(file: string): string | undefined {
  switchboard.activeMutant = fixedMutant;
  try {
    loadFile(file);
    return undefined;
  } catch (error) {
    if (fixedMutant === undefined) throw error;
    return `${file} cannot be loaded: ${String(error)}`;
  }
}

async function tryMutant({
  mutant,
  hitLimit,
  files,
}: Extract<WorkerRequest, { type: 'try' }>): Promise<WorkerAnswer> {
  stopsAtFailure = true;
  isReached = false;
  for (const { file, tests } of files) {
    const problem = loadProblem(file);
    if (problem !== undefined) return { type: 'tried', killedBy: problem };
    Object.assign(switchboard, { activeMutant: mutant, hitLimit });
    const [failed] = await runTests(file, tests);
    if (failed === undefined) continue;
    const killedBy = nameOf(file, failed);
    if (fixedMutant !== undefined) return { type: 'tried', killedBy };
    switchboard.activeMutant = undefined;
    const number = loadFile(file).tests.indexOf(failed);
    const again = await runTests(file, [{ number, timeoutMs: calmTimeoutMs }]);
    return again.length > 0 ? { type: 'tried', isUndecided: true } : { type: 'tried', killedBy };
  }
  switchboard.activeMutant = fixedMutant;
  return wasReached() ? { type: 'tried' } : { type: 'tried', isUndecided: true };
}

process.on('message', (request: WorkerRequest) => {
  const answer = request.type === 'measure' ? measure(request) : tryMutant(request);
  answer.then(
    (each) => process.send?.(each),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
