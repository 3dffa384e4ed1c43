/** Installs the peers by their own lock files, outside of the sources, so that no tool of the product sees their packages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { PeerName } from './engines';
import { peerNames } from './engines';

/** The benchmark is run by npm, in the project's root. */
const sources = path.join(process.cwd(), 'bench', 'peers');
const installed = path.join(process.cwd(), '.holdfast', 'peers');

/** Where a file of the peer is when it is installed; the engine of this benchmark is `engine.mjs`. */
export function peerFile(peer: PeerName, file: string): string {
  return path.join(installed, peer, file);
}

async function isCurrent(peer: PeerName): Promise<boolean> {
  const lockOf = (folder: string) => readFile(path.join(folder, peer, 'package-lock.json'), 'utf8');
  if (!existsSync(path.join(installed, peer, 'node_modules', '.package-lock.json'))) return false;
  return (await lockOf(sources)) === (await lockOf(installed));
}

/**
 * Brings the peers into `.holdfast/peers`; those that are there and have the same lock file only get their engine's files.
 *
 * Errors: rejects if `npm ci` fails, with its exit code; npm writes the reason to standard error.
 */
export async function installPeers(): Promise<void> {
  for (const peer of peerNames) {
    const isThere = await isCurrent(peer);
    const folder = path.join(installed, peer);
    await cp(path.join(sources, peer), folder, {
      recursive: true,
      filter: (file) => path.basename(file) !== 'node_modules',
    });
    if (isThere) continue;
    const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = (await once(npm, 'exit')) as [number | null];
    if (code !== 0)
      throw new Error(
        `npm ci of bench/peers/${peer} ended with code ${code ?? '?'}. It needs the npm registry; without it, leave out --peers.`,
      );
  }
}
