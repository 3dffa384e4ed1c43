/** The Temporal server under test, which others have started: where it is, and how to end and start it and its database. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Shell commands that end and start parts of the cluster. */
export interface ClusterControl {
  readonly address: string;
  /** Ends Temporal with the signal in `$SIGNAL`. */
  readonly stopTemporal: string;
  readonly startTemporal: string;
  /** Restarts Temporal's database, as `$MODE` says: `fast` or `immediate`. */
  readonly restartPostgres: string;
}

const variables = {
  address: 'TEMPORAL_ADDRESS',
  stopTemporal: 'CHAOS_STOP_TEMPORAL',
  startTemporal: 'CHAOS_START_TEMPORAL',
  restartPostgres: 'CHAOS_RESTART_POSTGRES',
} as const satisfies Record<keyof ClusterControl, string>;

/** What a cluster's variables lack. */
export class ClusterMissing extends Error {}

/** The control of the environment. Errors: `ClusterMissing` that names each variable that is not set. */
export function readClusterControl(environment: NodeJS.ProcessEnv): ClusterControl {
  const missing = Object.values(variables).filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0)
    throw new ClusterMissing(
      `Chaos needs a Temporal server on Postgres that it may restart: set ${missing.join(', ')}. docs/chaos.md shows how.`,
    );
  const of = (name: string): string => environment[name] ?? '';
  return {
    address: of(variables.address),
    stopTemporal: of(variables.stopTemporal),
    startTemporal: of(variables.startTemporal),
    restartPostgres: of(variables.restartPostgres),
  };
}

const execute = promisify(execFile);

/** Runs a command of the control. Errors: what the command wrote, if it fails. */
export async function control(
  command: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  await execute('bash', ['-c', command], { env: { ...process.env, ...environment } });
}
