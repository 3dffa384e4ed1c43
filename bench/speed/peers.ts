/** Installs the peers by their own lock files. */
import path from 'node:path';
import { installLocked } from '../install-locked';
import type { PeerName } from './engines';
import { peerNames } from './engines';

/** The benchmark is run by npm, in the project's root. */
const sources = path.join(process.cwd(), 'bench', 'peers');
const installed = path.join(process.cwd(), '.holdfast', 'peers');

/** Where a file of the peer is when it is installed; the engine of this benchmark is `engine.mjs`. */
export function peerFile(peer: PeerName, file: string): string {
  return path.join(installed, peer, file);
}

/**
 * Brings the peers into `.holdfast/peers`; those that are there and have the same lock file only get their engine's files.
 *
 * Errors: rejects if `npm ci` fails.
 */
export async function installPeers(): Promise<void> {
  for (const peer of peerNames)
    await installLocked(
      path.join(sources, peer),
      path.join(installed, peer),
      '; without it, leave out --peers',
    );
}
