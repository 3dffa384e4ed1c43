/** Finds out, before anything is started, whether a program can be: a gate before it would hide the system's own error. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { errorCode } from '../workspace-root';

/** Where a program is looked for. */
export interface ProgramSearch {
  readonly program: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

async function checkFile(path: string): Promise<void> {
  await access(path, constants.X_OK);
  if (!(await stat(path)).isFile())
    throw Object.assign(new Error('not a file'), { code: 'EACCES', syscall: 'access' });
}

/**
 * Resolves when the program is there and may be run.
 *
 * Errors: system errors as starting it would give them: `ENOENT`, `EACCES`, `ENOTDIR`.
 */
export async function checkProgram({ program, folder, environment }: ProgramSearch): Promise<void> {
  if (program.includes('/')) return checkFile(resolve(folder, program));
  let problem: unknown = Object.assign(new Error('not found'), { code: 'ENOENT', syscall: 'stat' });
  for (const place of (environment['PATH'] ?? '').split(delimiter)) {
    try {
      await checkFile(resolve(folder, place, program));
      return;
    } catch (thrown) {
      if (errorCode(thrown) === 'EACCES') problem = thrown;
    }
  }
  throw problem;
}
