/** Finds the process that serves a state file without the note beside it, which may be damaged, lost or another's. */
import { readdir, readFile } from 'node:fs/promises';
import { runCommand } from './run-command';
import type { ServerRegistration } from './registration';

const psTimeoutMs = 5_000;

/** A process and what it was started with. */
interface Started {
  readonly pid: number;
  readonly args: readonly string[];
}

/**
 * The dev server that runs on this state file; undefined if none, or where processes cannot be listed.
 *
 * Contract: never rejects; sees the processes of this user at least; `stateFile` is absolute, as every server of ours has it.
 */
export async function findServingProcess(
  stateFile: string,
): Promise<ServerRegistration | undefined> {
  for (const { pid, args } of await listProcesses()) {
    const [, command, mode] = args;
    const after = (name: string): string => args[args.indexOf(name) + 1] ?? '';
    if (command !== 'server' || mode !== 'start-dev') continue;
    if (!args.includes('--db-filename') || after('--db-filename') !== stateFile) continue;
    const [port, uiPort] = [Number(after('--port')), Number(after('--ui-port'))];
    if (port > 0 && uiPort > 0) return { pid, port, uiPort, logFile: `${stateFile}.log` };
  }
  return undefined;
}

async function listProcesses(): Promise<readonly Started[]> {
  try {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    return (await Promise.all(pids.map(readProcess))).flat();
  } catch {
    return listByPs();
  }
}

async function readProcess(pid: string): Promise<readonly Started[]> {
  try {
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    return [{ pid: Number(pid), args }];
  } catch {
    // It has ended in the meantime, or belongs to another user.
    return [];
  }
}

/** Without `/proc`: arguments with white space are split, and are then not recognized. */
async function listByPs(): Promise<readonly Started[]> {
  try {
    const { stdout } = await runCommand('ps', ['-axo', 'pid=,command='], psTimeoutMs);
    return stdout.split('\n').map((line) => {
      const [pid = '', ...args] = line.trim().split(/\s+/);
      return { pid: Number(pid), args };
    });
  } catch {
    return [];
  }
}
