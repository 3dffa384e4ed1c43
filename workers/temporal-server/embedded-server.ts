/** Temporal's dev server as a child or a shared background process, with its state in a file. */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEnvironment } from '../env';
import { findFreePorts } from './free-ports';
import { withProcessLock } from '../process-lock';
import type { LaunchPlan } from './launch';
import { launchServer } from './launch';
import { waitUntilServing } from '../connection';
import { endProcess, exists, killProcess } from './server-process';
import type { ServerRegistration } from './registration';
import { findServer, readRegistration, writeRegistration } from './registration';
import { SetupError } from '../setup-error';
import { findTemporalProgram } from './find-program';

/** How an embedded server is run. */
export interface EmbeddedServerOptions {
  /** File that keeps all runs; absent: memory only. A second caller with the same file gets the running server. */
  readonly stateFile?: string;
  /** Default: the port that this state file had before, else any free one. */
  readonly port?: number;
  readonly uiPort?: number;
  /** Made at start if it is missing. Default `default`. */
  readonly namespace?: string;
  /** Pid of the process that the server must not outlive. Absent: it stays until it is stopped. */
  readonly untilExitOf?: number;
  /** Default: beside the state file, or in the system's folder for temporary files. */
  readonly logFile?: string;
  /** The `temporal` program; default: found as `findTemporalProgram` does. */
  readonly executable?: string;
  /** Further settings of the server, such as `limit.historyCount.suggestContinueAsNew`. */
  readonly dynamicConfig?: Readonly<Record<string, string | number | boolean>>;
  /** Default 60,000: a loaded machine with a large state file. */
  readonly startTimeoutMs?: number;
}

/** A server that serves its namespace. */
export interface EmbeddedServer {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  readonly uiUrl: string;
  readonly pid: number;
  readonly logFile: string;
  /** True if another caller had started it. */
  readonly attached: boolean;
  /** Ends the server, also for others who use it; resolves when its process is gone. */
  stop(): Promise<void>;
  /** The same by SIGKILL. */
  kill(): Promise<void>;
}

const defaultStartTimeoutMs = 60_000;
const stopGraceMs = 10_000;
/** Each try takes fresh ports after another process was faster. */
const portTries = 5;

/**
 * Starts Temporal's dev server, or attaches to the one that serves the same state file.
 *
 * Contract: resolves when the namespace is served and Holdfast's search attributes are known. Two servers never use
 * one state file. After a crash the same state file gives the same runs at the same address, if its port is free.
 * Errors: `SetupError` if no program is found, an asked port is taken, or it does not serve in time (names the log).
 */
export async function startEmbeddedServer(
  options: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  const executable = options.executable ?? (await findExecutable());
  const { stateFile } = options;
  if (stateFile === undefined) {
    const logFile = options.logFile ?? path.join(tmpdir(), `holdfast-temporal-${randomUUID()}.log`);
    return handleOf(await launch(executable, logFile, options, undefined), false);
  }
  const file = path.resolve(stateFile);
  await mkdir(path.dirname(file), { recursive: true });
  const startTimeoutMs = options.startTimeoutMs ?? defaultStartTimeoutMs;
  return withProcessLock(`${file}.lock`, startTimeoutMs * 2, async () => {
    const last = await readRegistration(file);
    const serving = await findServer(file, last?.logFile);
    if (serving !== undefined) {
      const running = await attach(serving, options);
      if (running !== undefined) {
        await writeRegistration(file, serving);
        return running;
      }
    }
    const registration = await launch(
      executable,
      options.logFile ?? `${file}.log`,
      { ...options, stateFile: file },
      last,
    );
    await writeRegistration(file, registration);
    return handleOf(registration, false);
  });
}

async function findExecutable(): Promise<string> {
  const { cacheDirectory, searchPath } = readEnvironment();
  return (await findTemporalProgram('temporal', { cacheDirectory, searchPath })).path;
}

/** Undefined if the server was on its way out: its process ended before it served. */
async function attach(
  running: ServerRegistration,
  options: EmbeddedServerOptions,
): Promise<EmbeddedServer | undefined> {
  if (options.port !== undefined && options.port !== running.port) {
    throw new SetupError(
      `The state file is served on port ${running.port} already (pid ${running.pid}), asked was ${options.port}. ` +
        'Use that port, or stop the running server first.',
    );
  }
  const timeoutMs = options.startTimeoutMs ?? defaultStartTimeoutMs;
  const target = { address: addressOf(running.port), namespace: options.namespace ?? 'default' };
  const problem = await waitUntilServing(target, Date.now() + timeoutMs, () =>
    exists(running.pid) ? undefined : 'its process ended',
  );
  if (problem?.type === 'ended') return undefined;
  if (problem !== undefined) {
    throw new SetupError(
      `The embedded Temporal server (pid ${running.pid}, ${target.address}) runs but does not serve namespace ` +
        `"${target.namespace}": ${problem.reason}. Stop it (kill ${running.pid}) and try again; its log is ${running.logFile}.`,
    );
  }
  return handleOf(running, true);
}

async function launch(
  executable: string,
  logFile: string,
  options: EmbeddedServerOptions,
  last: ServerRegistration | undefined,
): Promise<ServerRegistration> {
  await mkdir(path.dirname(logFile), { recursive: true });
  const deadlineAtMs = Date.now() + (options.startTimeoutMs ?? defaultStartTimeoutMs);
  for (let tries = 1; ; tries += 1) {
    const plan = await planLaunch(executable, logFile, options, tries === 1 ? last : undefined);
    const result = await launchServer(plan, deadlineAtMs);
    if (result.type === 'serving') {
      return { pid: result.pid, port: plan.port, uiPort: plan.uiPort, logFile };
    }
    const mayChoose = options.port === undefined || options.uiPort === undefined;
    if (result.type === 'port-taken' && mayChoose && tries < portTries) continue;
    throw new SetupError(
      `The embedded Temporal server did not start on port ${plan.port} (Web UI ${plan.uiPort}): ${result.reason}. ` +
        `Its log is ${logFile}.`,
    );
  }
}

async function planLaunch(
  executable: string,
  logFile: string,
  options: EmbeddedServerOptions,
  last: ServerRegistration | undefined,
): Promise<LaunchPlan> {
  const [freePort, freeUiPort] = await findFreePorts(2);
  return {
    executable,
    logFile,
    port: options.port ?? last?.port ?? freePort ?? 0,
    uiPort: options.uiPort ?? last?.uiPort ?? freeUiPort ?? 0,
    namespace: options.namespace ?? 'default',
    dynamicConfig: options.dynamicConfig ?? {},
    stateFile: options.stateFile,
    untilExitOf: options.untilExitOf,
  };
}

function handleOf(registration: ServerRegistration, attached: boolean): EmbeddedServer {
  return {
    address: addressOf(registration.port),
    uiUrl: `http://localhost:${registration.uiPort}`,
    pid: registration.pid,
    logFile: registration.logFile,
    attached,
    stop: () => endProcess(registration.pid, stopGraceMs),
    kill: () => killProcess(registration.pid),
  };
}

function addressOf(port: number): string {
  return `127.0.0.1:${port}`;
}
