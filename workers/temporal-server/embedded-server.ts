/** Temporal's dev server as a child or a shared background process, with its state in a file. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { protectDatabase, protectPath } from '../../activities/lifecycle/protected-paths';
import { waitUntilServing } from '../connection';
import type { Environment } from '../env';
import { readEnvironment } from '../env';
import { withProcessLock } from '../process-lock';
import { SetupError } from '../setup-error';
import { findTemporalProgram } from './find-program';
import type { LaunchPlan } from './launch';
import { launchServer } from './launch';
import type { ServerRegistration } from './registration';
import { findServer, readRegistration, writeRegistration } from './registration';
import { endProcess, exists, killProcess } from './server-process';

/**
 * How an embedded server is run.
 *
 * `stateFile` keeps all runs; absent: memory only. A second caller with the same file gets the running server. The
 * namespace is made at start if it is missing; default `default`. The log is beside the state file; without one,
 * `logFile` says where, by default in the system's folder for temporary files.
 */
export interface EmbeddedServerOptions extends Partial<Omit<LaunchPlan, 'port' | 'uiPort'>> {
  /** Where the program is looked for if `executable` is absent; default: this process's environment. */
  readonly environment?: Pick<Environment, 'cacheDirectory' | 'searchPath'>;
}

/** A server that serves its namespace. */
export interface EmbeddedServer {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  readonly uiUrl: string;
  readonly pid: number;
  /** True if another caller had started it. */
  readonly attached: boolean;
  /** Ends the server, also for others who use it; resolves when its process is gone. */
  stop(): Promise<void>;
  /** The same by SIGKILL. */
  kill(): Promise<void>;
}

/** A loaded machine with a large state file. */
const startTimeoutMs = 60_000;
const stopGraceMs = 10_000;
/** Each try takes fresh ports after another process was faster. */
const portTries = 5;

/**
 * Starts Temporal's dev server, or attaches to the one that serves the same state file.
 *
 * Contract: resolves when the namespace is served and Holdfast's search attributes are known. Two servers never use
 * one state file. After a crash the same state file gives the same runs at the same address, if its port is free.
 * Errors: `SetupError` if no program is found, or it does not serve in time (names the log).
 */
export async function startEmbeddedServer(
  options: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  const { environment, ...given } = options;
  const { namespace = 'default' } = given;
  const plan = async (): Promise<Omit<LaunchPlan, 'port' | 'uiPort' | 'logFile'>> => ({
    ...given,
    namespace,
    executable: given.executable ?? (await findTemporalProgram(environment ?? readEnvironment())),
  });
  if (given.stateFile === undefined) {
    const logFile = given.logFile ?? path.join(tmpdir(), `holdfast-temporal-${randomUUID()}.log`);
    return handleOf(await launch({ ...(await plan()), logFile }), false);
  }
  const stateFile = path.resolve(given.stateFile);
  const logFile = `${stateFile}.log`;
  protectDatabase(stateFile);
  for (const suffix of ['.log', '.lock', '.server.json']) protectPath(stateFile + suffix);
  return withProcessLock(`${stateFile}.lock`, startTimeoutMs * 2, async () => {
    const last = await readRegistration(stateFile);
    const running = await findServer(stateFile);
    const attached = running !== undefined && (await serves(running, namespace, logFile));
    const registration = attached
      ? running
      : await launch({ ...(await plan()), stateFile, logFile }, last);
    await writeRegistration(stateFile, registration);
    return handleOf(registration, attached);
  });
}

/** False if the server was on its way out: its process ended before it served. */
async function serves(
  { pid, port }: ServerRegistration,
  namespace: string,
  logFile: string,
): Promise<boolean> {
  const target = { address: addressOf(port), namespace };
  const problem = await waitUntilServing(target, Date.now() + startTimeoutMs, () =>
    exists(pid) ? undefined : 'its process ended',
  );
  if (problem === undefined || problem.type === 'ended') return problem === undefined;
  throw new SetupError(
    `The embedded Temporal server (pid ${pid}, ${target.address}) runs but does not serve namespace ` +
      `"${namespace}": ${problem.reason}. Stop it (kill ${pid}) and try again; its log is ${logFile}.`,
  );
}

async function launch(
  settings: Omit<LaunchPlan, 'port' | 'uiPort'>,
  last?: ServerRegistration,
): Promise<ServerRegistration> {
  const deadlineAtMs = Date.now() + startTimeoutMs;
  for (let tries = 1; ; tries += 1) {
    const [freePort = 0, freeUiPort = 0] = await findFreePorts(2);
    const { port, uiPort } =
      tries === 1 && last !== undefined ? last : { port: freePort, uiPort: freeUiPort };
    const result = await launchServer({ ...settings, port, uiPort }, deadlineAtMs);
    if ('pid' in result) return { pid: result.pid, port, uiPort };
    if (result.isPortTaken && tries < portTries) continue;
    throw new SetupError(
      `The embedded Temporal server did not start on port ${port} (Web UI ${uiPort}): ${result.problem}. ` +
        `Its log is ${settings.logFile}.`,
    );
  }
}

/**
 * Distinct TCP ports on the loopback interface that nobody listened on.
 *
 * Contract: another process may take one before the caller does; the caller tries again then.
 */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

function handleOf({ pid, port, uiPort }: ServerRegistration, attached: boolean): EmbeddedServer {
  return {
    address: addressOf(port),
    uiUrl: `http://localhost:${uiPort}`,
    pid,
    attached,
    stop: () => endProcess(pid, stopGraceMs),
    kill: () => killProcess(pid),
  };
}

function addressOf(port: number): string {
  return `127.0.0.1:${port}`;
}
