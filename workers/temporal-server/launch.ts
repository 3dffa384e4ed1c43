/** Spawns one dev server process and waits until it serves. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { open, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { holdfastSearchAttributes } from '../search-attributes';
import { waitUntilServing } from '../connection';
import { killProcess } from './server-process';

/** Everything that one start needs. */
export interface LaunchPlan {
  readonly executable: string;
  readonly logFile: string;
  readonly port: number;
  readonly uiPort: number;
  readonly namespace: string;
  readonly dynamicConfig: Readonly<Record<string, string | number | boolean>>;
  readonly stateFile: string | undefined;
  readonly untilExitOf: number | undefined;
}

/** The result of a start. */
export type LaunchResult =
  | { readonly type: 'serving'; readonly pid: number }
  | { readonly type: 'port-taken'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string };

/**
 * Without the first setting each workflow task waits for the transfer queue's slow poll.
 *
 * Source: measured, `peerbench/RESULTS.md`.
 */
const baseDynamicConfig = { 'history.transferProcessorMaxPollRPS': 2000 } as const;
/** A log larger than this is truncated at the next start. */
const maxLogBytes = 10_000_000;
const pollMs = 25;

/**
 * The watchdog: a background shell that ends the server once the owner is gone, however it went. The server itself
 * replaces the shell, so that its pid is the child's.
 */
const watchdogScript =
  'server=$$; owner=$1; shift; ' +
  '(while kill -0 "$owner" 2>/dev/null; do kill -0 "$server" 2>/dev/null || exit 0; sleep 1; done; ' +
  'kill "$server" 2>/dev/null) </dev/null >/dev/null 2>&1 & ' +
  'exec "$@"';

/** Starts the server; on any other result than `serving` no process is left. */
export async function launchServer(plan: LaunchPlan, deadlineAtMs: number): Promise<LaunchResult> {
  const logOffset = await prepareLog(plan.logFile);
  const log = await open(plan.logFile, 'a');
  let child: ChildProcess;
  let ended: string | undefined;
  try {
    child = spawnServer(plan, log.fd);
    // Before anything is awaited: a program that ends at once would end unheard.
    child.once('error', (error) => (ended = error.message));
    child.once(
      'exit',
      (code, signal) => (ended = `it ended with ${signal ?? `exit code ${code ?? '?'}`}`),
    );
    child.unref();
  } finally {
    await log.close();
  }
  const readLog = async (): Promise<string> =>
    (await readFile(plan.logFile)).subarray(logOffset).toString('utf8');
  while (ended === undefined && Date.now() < deadlineAtMs) {
    if ((await readLog()).includes('Temporal Server:')) break;
    await delay(pollMs);
  }
  const target = { address: `127.0.0.1:${plan.port}`, namespace: plan.namespace };
  const problem = ended ?? (await waitUntilServing(target, deadlineAtMs, () => ended))?.reason;
  if (problem === undefined && child.pid !== undefined) return { type: 'serving', pid: child.pid };
  if (child.pid !== undefined) await killProcess(child.pid);
  return failureFrom(problem ?? 'no process', await readLog());
}

function spawnServer(plan: LaunchPlan, logFd: number): ChildProcess {
  const args = serverArguments(plan);
  const [file, fileArgs] =
    plan.untilExitOf === undefined
      ? [plan.executable, args]
      : [
          '/bin/sh',
          ['-c', watchdogScript, 'holdfast', String(plan.untilExitOf), plan.executable, ...args],
        ];
  return spawn(file, fileArgs, {
    stdio: ['ignore', logFd, logFd],
    detached: true,
    env: { HOME: homedir(), PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
}

function serverArguments(plan: LaunchPlan): string[] {
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--log-level', 'warn'];
  args.push('--port', String(plan.port), '--ui-port', String(plan.uiPort));
  args.push('--ui-disable-news-fetch', '--namespace', plan.namespace);
  for (const [key, value] of Object.entries({ ...baseDynamicConfig, ...plan.dynamicConfig })) {
    args.push('--dynamic-config-value', `${key}=${JSON.stringify(value)}`);
  }
  for (const [name, type] of Object.entries(holdfastSearchAttributes)) {
    args.push('--search-attribute', `${name}=${type}`);
  }
  if (plan.stateFile !== undefined) args.push('--db-filename', plan.stateFile);
  return args;
}

/** Where in the log this start begins. */
async function prepareLog(logFile: string): Promise<number> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= maxLogBytes) return size;
  const log = await open(logFile, 'w');
  await log.close();
  return 0;
}

function failureFrom(problem: string, log: string): LaunchResult {
  const lastLines = log.trim().split('\n').slice(-2).join(' | ').slice(0, 400);
  const reason = lastLines === '' ? problem : `${problem}; ${lastLines}`;
  const type = log.includes('address already in use') ? 'port-taken' : 'failed';
  return { type, reason };
}
