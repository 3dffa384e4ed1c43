/** The Temporal server to use: the one that the environment names, else the embedded one. */
import path from 'node:path';
import type { ConnectOptions } from '../connection';
import { connectOptionsFrom, requireServing } from '../connection';
import type { EmbeddedServer } from './embedded-server';
import { startEmbeddedServer } from './embedded-server';
import type { Environment } from '../env';
import { findTemporalProgram } from './find-program';

/** How an embedded server is run where one is needed. */
export interface OpenTemporalOptions {
  /** Default: `temporal.db` in the state folder. */
  readonly stateFile?: string;
  /** Pid of the process that the embedded server must not outlive. Absent: it stays for later commands. */
  readonly untilExitOf?: number;
}

/** A server that serves the namespace. */
export interface TemporalServer {
  readonly address: string;
  readonly namespace: string;
  /** Known for the embedded server only. */
  readonly uiUrl?: string;
  readonly embedded?: EmbeddedServer;
  /** For `connectWorker` and `connectClient`. */
  readonly connect: ConnectOptions;
}

/**
 * Finds or starts the server.
 *
 * Contract: with TEMPORAL_ADDRESS nothing is ever started or fetched.
 * Errors: `SetupError`: the named server does not answer; or no program for the embedded one, with all that was tried.
 */
export async function openTemporal(
  environment: Environment,
  options: OpenTemporalOptions = {},
): Promise<TemporalServer> {
  const { namespace, address } = environment.temporal;
  if (address !== undefined) {
    const connect = await connectOptionsFrom(environment.temporal, address);
    await requireServing(connect);
    return { address, namespace, connect };
  }
  const program = await findTemporalProgram('temporal', {
    cacheDirectory: environment.cacheDirectory,
    searchPath: environment.searchPath,
    triedBefore: [{ place: 'TEMPORAL_ADDRESS', result: 'not set' }],
  });
  const embedded = await startEmbeddedServer({
    stateFile: options.stateFile ?? path.join(environment.stateDirectory, 'temporal.db'),
    namespace,
    executable: program.path,
    ...(options.untilExitOf === undefined ? {} : { untilExitOf: options.untilExitOf }),
  });
  return {
    address: embedded.address,
    namespace,
    uiUrl: embedded.uiUrl,
    embedded,
    connect: { address: embedded.address, namespace, tls: false },
  };
}
