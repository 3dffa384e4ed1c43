/** A lock between processes that the operating system releases when its holder dies. */
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { errorCodeOf, SetupError } from './setup-error';

const pollMs = 50;

/**
 * Runs `work` while no other process or caller that uses the same `lockFile` does.
 *
 * An exclusive SQLite transaction holds the lock: the kernel drops it when the process ends, however it ends, so there
 * is never a stale lock to guess about. The file stays; it is empty.
 *
 * Errors: `SetupError` if the lock is not free within `waitMs`; whatever `work` throws.
 */
export async function withProcessLock<T>(
  lockFile: string,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(path.dirname(lockFile), { recursive: true, mode: 0o700 });
  await (await open(lockFile, 'a', 0o600)).close();
  const database = new Database(lockFile);
  try {
    await acquire(database, lockFile, waitMs);
    return await work();
  } finally {
    database.close();
  }
}

async function acquire(
  database: Database.Database,
  lockFile: string,
  waitMs: number,
): Promise<void> {
  const deadline = Date.now() + waitMs;
  while (!tryBegin(database)) {
    if (Date.now() >= deadline) {
      throw new SetupError(
        `Another process has held ${lockFile} for over ${Math.round(waitMs / 1000)} s. ` +
          'If none is at work, delete the file and try again.',
      );
    }
    await delay(pollMs);
  }
}

function tryBegin(database: Database.Database): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'SQLITE_BUSY') return false;
    throw thrown;
  }
}
