/** Spawns one dev server process and waits until it serves. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { open, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { holdfastSearchAttributes } from '../search-attributes';
import { waitUntilServing } from '../connection';
import type { ServerRegistration } from './registration';
import { killProcess } from './server-process';

/** Everything that one start needs. */
export interface LaunchPlan extends Omit<ServerRegistration, 'pid'> {
  readonly executable: string;
  readonly logFile: string;
  readonly namespace: string;
  readonly stateFile?: string;
  /** Pid of the process that the server must not outlive. Absent: it stays until it is stopped. */
  readonly untilExitOf?: number;
  /** Further settings of the server, such as `limit.historyCount.suggestContinueAsNew`. */
  readonly dynamicConfig?: Readonly<Record<string, string | number | boolean>>;
  /** Called when the process runs, and all that is left is to wait. */
  readonly onSpawn?: () => void;
}

/** The process of a server that serves, or why there is none. */
export type LaunchResult =
  { readonly pid: number } | { readonly problem: string; readonly isPortTaken: boolean };

/**
 * Without the first setting each workflow task waits for the transfer queue's slow poll. With the others, the server sends an
 * activity's cancel to its worker at once, not with the answer to the next heartbeat; servers before 1.32 ignore them (ADR 0059).
 *
 * Source: measured, ADR 0048 and `npm run bench -- cancel`.
 */
const baseDynamicConfig = {
  'history.transferProcessorMaxPollRPS': 2000,
  'frontend.WorkerCommandsEnabled': true,
  'system.enableCancelActivityWorkerCommand': true,
} as const;
/** A log larger than this is truncated at the next start. */
const maxLogBytes = 10_000_000;
const pollMs = 25;

/** What the server writes, its user alone reads. The server replaces the shell. */
const privateScript = 'umask 077; exec "$@"';

/**
 * The watchdog: a background shell that ends the server once the owner is gone, however it went. The server itself
 * replaces the shell, so that its pid is the child's.
 */
export const watchdogScript =
  'server=$$; owner=$1; shift; ' +
  '(while kill -0 "$owner" 2>/dev/null; do kill -0 "$server" 2>/dev/null || exit 0; sleep 1; done; ' +
  'kill "$server" 2>/dev/null) </dev/null >/dev/null 2>&1 & ' +
  privateScript;

/** Starts the server; if it does not serve by the deadline, no process is left. */
export async function launchServer(plan: LaunchPlan, deadlineAtMs: number): Promise<LaunchResult> {
  const logBytes = await stat(plan.logFile).then(
    ({ size }) => size,
    () => 0,
  );
  const isLong = logBytes > maxLogBytes;
  const log = await open(plan.logFile, isLong ? 'w' : 'a', 0o600);
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
    plan.onSpawn?.();
  } finally {
    await log.close();
  }
  const readLog = async (): Promise<string> =>
    (await readFile(plan.logFile)).subarray(isLong ? 0 : logBytes).toString('utf8');
  while (ended === undefined && Date.now() < deadlineAtMs) {
    if ((await readLog()).includes('Temporal Server:')) break;
    await delay(pollMs);
  }
  const target = { address: `127.0.0.1:${plan.port}`, namespace: plan.namespace };
  const problem = ended ?? (await waitUntilServing(target, deadlineAtMs, () => ended))?.reason;
  const { pid } = child;
  if (problem === undefined && pid !== undefined) return { pid };
  if (pid !== undefined) await killProcess(pid);
  const written = await readLog();
  const lastLines = written.trim().split('\n').slice(-2).join(' | ').slice(0, 400);
  return {
    problem: [problem ?? 'no process', lastLines].filter((text) => text !== '').join('; '),
    isPortTaken: written.includes('address already in use'),
  };
}

function spawnServer(plan: LaunchPlan, logFd: number): ChildProcess {
  const command = [plan.executable, ...serverArguments(plan)];
  const script =
    plan.untilExitOf === undefined
      ? [privateScript, 'holdfast']
      : [watchdogScript, 'holdfast', String(plan.untilExitOf)];
  return spawn('/bin/sh', ['-c', ...script, ...command], {
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
