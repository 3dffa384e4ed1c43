/** Replaces a file whole or not at all: a new file beside it, made durable, then renamed over it. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { entryPath, errorCode } from './workspace-root';
import type { Place } from './workspace-root';

const temporaryName = /^\.holdfast-[0-9a-f]{16}\.tmp$/;

/** True for the unfinished file of a write that was cut. */
export function isTemporaryName(name: string): boolean {
  return temporaryName.test(name);
}

/** What is written, and over what. */
export interface AtomicWrite {
  readonly bytes: Buffer;
  readonly mode: number;
  /** The same for each attempt, so that a later attempt clears what an earlier one left. */
  readonly key: string;
  /** Version of the file that the content was made from; `undefined` = no file was there. */
  readonly expected: { readonly version: string | undefined } | 'any';
}

async function versionNow(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path);
    return [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join();
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') {
      return undefined;
    }
    throw thrown;
  }
}

/**
 * Writes a file. Returns false, with nothing changed, if the file is not any more what the content was made from.
 *
 * Contract: a reader sees the old content or the new one, never a part; a link that was swapped in is replaced, not followed.
 * Errors: system errors as they are.
 */
export async function writeAtomically(
  place: Place,
  { bytes, mode, key, expected }: AtomicWrite,
): Promise<boolean> {
  const { folder, name } = place;
  const digest = createHash('sha256').update(`${key}\0${name}`).digest('hex').slice(0, 16);
  const target = entryPath(folder, name);
  const temporary = entryPath(folder, `.holdfast-${digest}.tmp`);
  await rm(temporary, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.chmod(mode);
    await handle.sync();
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  } finally {
    await handle.close();
  }
  if (expected !== 'any' && (await versionNow(target)) !== expected.version) {
    await rm(temporary, { force: true });
    return false;
  }
  await rename(temporary, target);
  await folder.handle.sync();
  return true;
}
