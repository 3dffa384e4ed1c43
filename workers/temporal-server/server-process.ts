/** Processes of embedded servers: is it alive, is it ours, end it. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf, SetupError } from '../setup-error';

const pollMs = 20;

/** True if the process exists, as a zombie too. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return errorCodeOf(thrown) === 'EPERM';
  }
}

/** True if the process exists and is not a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  if (!exists(pid)) return false;
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // It may have gone since; and not every system has such files.
  return status === undefined ? exists(pid) : !/^\d+ \(.*\) Z/s.test(status);
}

/** Resolves when the process is gone; false if it is still there at the deadline. */
export async function waitForExit(pid: number, deadlineAtMs: number): Promise<boolean> {
  while (await isAlive(pid)) {
    if (Date.now() >= deadlineAtMs) return false;
    await delay(pollMs);
  }
  return true;
}

/** Sends SIGTERM, and SIGKILL after `graceMs`; resolves when the process is gone. */
export async function endProcess(pid: number, graceMs: number): Promise<void> {
  signal(pid, 'SIGTERM');
  if (await waitForExit(pid, Date.now() + graceMs)) return;
  await killProcess(pid);
}

/** Sends SIGKILL; resolves when the process is gone. Errors: `SetupError` if it does not go within 10 s. */
export async function killProcess(pid: number): Promise<void> {
  signal(pid, 'SIGKILL');
  if (!(await waitForExit(pid, Date.now() + 10_000))) {
    throw new SetupError(
      `Process ${pid} does not end on SIGKILL. Look at it with \`ps -p ${pid}\`.`,
    );
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (thrown) {
    if (errorCodeOf(thrown) !== 'ESRCH') throw thrown;
  }
}
