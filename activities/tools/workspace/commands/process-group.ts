/** Runs a program as a process group of its own, and ends the whole group with it, or with the worker. */
import { spawn } from 'node:child_process';
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { delimiter, resolve as resolvePath } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from '../workspace-root';

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 2_000;
/** Milliseconds for the last output after the program has ended and its group was killed. */
const drainMs = 1_000;

/** What to run, and its limits. */
export interface ProgramRun {
  readonly program: string;
  readonly programArguments: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Words in front of the program that run it in a sandbox, and what is seen from within. */
  readonly sandbox?: {
    readonly words: readonly string[];
    readonly sees: (realPath: string) => boolean;
  };
  /** Whose rights the program has. Default: the worker's. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly timeLimitMs: number;
  readonly signal: AbortSignal;
  /** Receives the output of both streams in the order of arrival. */
  readonly onOutput: (bytes: Buffer) => void;
}

/** How a program ended. */
export type ProgramEnd =
  | { readonly type: 'exited'; readonly exitCode: number }
  | { readonly type: 'killed'; readonly signalName: string }
  | { readonly type: 'timed-out' }
  | { readonly type: 'aborted' };

/** A gate: waits for a line, then becomes the program; ends if no line comes. So nothing runs before its watchdog does. */
const gateScript = 'read -r word && exec "$@" </dev/null';
/** Kills the group `$1` when the worker, which holds the other end of its input, has ended. */
const watchdogScript = 'read -r word; kill -KILL "-$1"';

/** Of the flags of an open file in `/proc/self/fdinfo`: closed in children. Source: O_CLOEXEC of Linux, octal 2000000. */
const closedInChildren = 0o2_000_000;

/**
 * Standard streams as pipes, and `/dev/null` in the place of every other file that a child would get: those that the worker itself
 * was started with. Node closes what Node opens.
 */
function ownStreams(nothing: number): ('pipe' | 'ignore' | number)[] {
  const streams: ('pipe' | 'ignore' | number)[] = ['pipe', 'pipe', 'pipe'];
  for (const name of existsSync('/proc/self/fdinfo') ? readdirSync('/proc/self/fdinfo') : []) {
    const descriptor = Number(name);
    if (descriptor > 2 && isInherited(name)) streams[descriptor] = nothing;
  }
  return Array.from(
    streams,
    (stream: 'pipe' | 'ignore' | number | undefined) => stream ?? 'ignore',
  );
}

function isInherited(descriptor: string): boolean {
  try {
    const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
    return (parseInt(/^flags:\s*(\d+)/m.exec(text)?.[1] ?? '0', 8) & closedInChildren) === 0;
  } catch {
    // Closed since it was listed.
    return false;
  }
}

/**
 * Starts the program behind the gate, with a watchdog: a worker that is killed cannot clean up, but its pipes close.
 *
 * Contract: the program never runs without a watchdog, which ends with the program.
 */
function startGuarded(run: ProgramRun): {
  readonly child: ChildProcessWithoutNullStreams;
  readonly watchdog: ChildProcess;
} {
  const words = [...(run.sandbox?.words ?? []), run.program, ...run.programArguments];
  const nothing = openSync(devNull, 'r');
  const [input, , , ...others] = ownStreams(nothing);
  const child = spawn('/bin/sh', ['-c', gateScript, 'sh', ...words], {
    cwd: run.folder,
    env: { ...run.environment },
    detached: true,
    stdio: [input, 'pipe', 'pipe', ...others],
    ...run.user,
  }) as ChildProcessWithoutNullStreams;
  const watchdog = spawn('/bin/sh', ['-c', watchdogScript, 'sh', String(child.pid)], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', ...others],
  });
  closeSync(nothing);
  for (const { stdin } of [child, watchdog]) stdin?.on('error', () => undefined);
  watchdog.once('spawn', () => child.stdin.end('go\n'));
  watchdog.once('error', () => {
    killGroup(child.pid, 'SIGKILL');
  });
  return { child, watchdog };
}

async function checkFile(path: string, { sandbox }: ProgramRun): Promise<void> {
  await access(path, constants.X_OK);
  if (sandbox?.sees(await realpath(path)) === false)
    throw Object.assign(new Error('not in the sandbox'), { code: 'ENOENT', syscall: 'access' });
  if (!(await stat(path)).isFile())
    throw Object.assign(new Error('not a file'), { code: 'EACCES', syscall: 'access' });
}

/**
 * Resolves if the program exists and may be run: behind the gate, the system's own error would be lost.
 *
 * Errors: system errors as starting it would give them: `ENOENT`, `EACCES`, `ENOTDIR`.
 */
async function checkProgram(run: ProgramRun): Promise<void> {
  const { program, folder, environment } = run;
  if (program.includes('/')) return checkFile(resolvePath(folder, program), run);
  let problem: unknown = Object.assign(new Error('not found'), { code: 'ENOENT', syscall: 'stat' });
  for (const place of (environment['PATH'] ?? '').split(delimiter)) {
    try {
      await checkFile(resolvePath(folder, place, program), run);
      return;
    } catch (thrown) {
      if (errorCode(thrown) === 'EACCES') problem = thrown;
    }
  }
  throw problem;
}

/**
 * The group that gets the polite signal. Bubblewrap would end at once by it, and everything in the sandbox with it; the first process
 * in the sandbox ignores it and leads the program's group.
 */
function politeGroup({ pid = 0 }: ChildProcess, { sandbox }: ProgramRun): number {
  if (sandbox === undefined) return pid;
  try {
    return parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')) || pid;
  } catch {
    return pid;
  }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/**
 * Runs a program to its end, to the time limit, or until the signal is aborted.
 *
 * Contract: when it resolves, or the worker dies, every process of the group has been killed. A process that left the group
 * (`setsid`) is found in a sandbox only, which ends with all its processes.
 * Errors: the system error if the program cannot be started (`ENOENT`, `EACCES`, `E2BIG`).
 */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  await checkProgram(run);
  const { child, watchdog } = startGuarded(run);
  const closed = new Promise((resolve) => {
    child.once('close', resolve);
  });
  for (const output of [child.stdout, child.stderr]) output.on('data', run.onOutput);
  const deadline = AbortSignal.timeout(run.timeLimitMs);
  const stopping = AbortSignal.any([run.signal, deadline]);
  let finalKill: NodeJS.Timeout | undefined;
  const stop = (): void => {
    killGroup(politeGroup(child, run), 'SIGTERM');
    finalKill = setTimeout(() => {
      killGroup(child.pid, 'SIGKILL');
    }, graceMs);
  };
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  try {
    const [exitCode, signalName] = (await once(child, 'exit')) as [number | null, string | null];
    const isStopped = stopping.aborted;
    killGroup(child.pid, 'SIGKILL');
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    if (isStopped) return { type: deadline.aborted ? 'timed-out' : 'aborted' };
    return exitCode === null
      ? { type: 'killed', signalName: signalName ?? 'an unknown signal' }
      : { type: 'exited', exitCode };
  } finally {
    clearTimeout(finalKill);
    stopping.removeEventListener('abort', stop);
    child.stdout.destroy();
    child.stderr.destroy();
    watchdog.kill('SIGKILL');
  }
}
