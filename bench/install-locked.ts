/** Packages of a folder with a lock file of its own, installed outside of the sources, so that no tool of the product sees them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';

async function isCurrent(sources: string, installed: string): Promise<boolean> {
  const lockOf = (folder: string) => readFile(path.join(folder, 'package-lock.json'), 'utf8');
  if (!existsSync(path.join(installed, 'node_modules', '.package-lock.json'))) return false;
  return (await lockOf(sources)) === (await lockOf(installed));
}

/**
 * Copies the folder `sources` to `installed`, and installs its packages there, unless they are there by the same lock file.
 *
 * Errors: rejects if `npm ci` fails, with its exit code and `remedy`; npm writes the reason to standard error.
 */
export async function installLocked(
  sources: string,
  installed: string,
  remedy = '',
): Promise<void> {
  const isThere = await isCurrent(sources, installed);
  await cp(sources, installed, {
    recursive: true,
    filter: (file) => path.basename(file) !== 'node_modules',
  });
  if (isThere) return;
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: installed,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0)
    throw new Error(
      `npm ci of ${path.relative(process.cwd(), sources)} ended with code ${code ?? '?'}. It needs the npm registry${remedy}.`,
    );
}
