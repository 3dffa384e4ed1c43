/** The Temporal server to use: the one that the environment names, else the embedded one. */
import path from 'node:path';
import { z } from 'zod';
import { checkOptions } from '../../activities/lifecycle/check-options';
import { defined } from '../../workflows/core/json';
import type { ServerOptions } from '../connection';
import { requireServing, serverOptionsFrom } from '../connection';
import type { Environment } from '../env';
import { reasonOf, SetupError } from '../setup-error';
import type { EmbeddedServer } from './embedded-server';
import { startEmbeddedServer } from './embedded-server';

/** A server that serves the namespace: pass it to `connectWorker` and `connect` unchanged. */
export interface TemporalServer extends ServerOptions {
  readonly namespace: string;
  /** Only of the embedded server. */
  readonly uiUrl?: string;
  readonly embedded?: EmbeddedServer;
}

const optionsShape = z.strictObject({
  stateFile: z.string({ error: 'give the path of a file' }).optional(),
  untilExitOf: z.int({ error: 'give the pid of a process, such as process.pid' }).optional(),
  onSpawn: z.unknown().optional(),
});

/** A server that was to end with a process must not outlive it. Errors: `SetupError`. */
function checkServerOptions(options: unknown): void {
  try {
    checkOptions('openTemporal', '', optionsShape, options, 'Known: stateFile, untilExitOf.');
  } catch (thrown) {
    throw new SetupError(reasonOf(thrown), { cause: thrown });
  }
}

/**
 * Finds or starts the server.
 *
 * `stateFile` of an embedded server is `temporal.db` in the state folder by default. With `untilExitOf` it ends when the
 * process with that pid has ended; without, it keeps running for later commands.
 *
 * Contract: with TEMPORAL_ADDRESS or TEMPORAL_PROFILE nothing is ever started or downloaded.
 * Errors: `SetupError`: the named server does not answer; or no program for the embedded one, with all that was tried.
 */
export async function openTemporal(
  environment: Environment,
  options: {
    readonly stateFile?: string;
    readonly untilExitOf?: number;
    /** @internal */
    readonly onSpawn?: () => void;
  } = {},
): Promise<TemporalServer> {
  if (typeof (environment as Partial<Environment> | undefined)?.temporal !== 'object')
    throw new SetupError('openTemporal takes an environment: openTemporal(readEnvironment()).');
  checkServerOptions(options);
  const { namespace, address, configuration } = environment.temporal;
  if (address !== undefined || configuration !== undefined) {
    const server = await serverOptionsFrom(environment.temporal);
    await requireServing(server);
    return server;
  }
  const embedded = await startEmbeddedServer({
    environment,
    stateFile: options.stateFile ?? path.join(environment.stateDirectory, 'temporal.db'),
    namespace,
    ...defined({ untilExitOf: options.untilExitOf, onSpawn: options.onSpawn }),
  });
  const { uiUrl } = embedded;
  return { address: embedded.address, namespace, tls: false, uiUrl, embedded };
}
