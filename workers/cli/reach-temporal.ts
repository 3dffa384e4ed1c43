/** Reaches Temporal for a command, or says so in a way that has its own exit code. */
import { readFile } from 'node:fs/promises';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { AgentClient } from '../../client/agent-client';
import type { ConnectOptions } from '../../client/connect-options';
import { ClientError } from '../../client/client-error';
import { connect, openConnection } from '../../client/connect';
import type { Environment } from '../env';
import { readEnvironment } from '../env';
import { defined } from '../../workflows/core/json';
import { reasonOf, SetupError } from '../setup-error';
import type { TemporalServer } from '../temporal-server/open-temporal';
import { openTemporal } from '../temporal-server/open-temporal';
import type { Surroundings } from './command-context';
import type { Encoding } from './data-converter-file';

/** A server, with the data converter of its clients and workers. */
export interface ReachedServer extends TemporalServer {
  readonly dataConverter?: DataConverter;
}

/** A server, and a connection to it. */
interface ReachedTemporal {
  readonly server: ReachedServer;
  readonly connection: Connection;
  readonly client: Client;
}

/** The environment's server, else the embedded one. Errors: `ClientError` with code `unreachable`; a data converter that is none. */
export async function reachTemporal(
  environment: Environment,
  variables: Surroundings['variables'],
  options: { readonly onSpawn?: () => void } = {},
): Promise<ReachedServer> {
  const server = await open(environment, options);
  const { dataConverter } = await environmentEncoding(environment, variables);
  return { ...server, ...defined({ dataConverter }) };
}

/** How the environment encodes payloads and encrypts the store. Loads nothing where it does neither. */
export async function environmentEncoding(
  environment: Environment,
  variables: Surroundings['variables'],
): Promise<Encoding> {
  const { dataConverterFile, encryptionKeys } = environment;
  if (dataConverterFile === undefined && encryptionKeys === undefined) return {};
  const { loadEncoding } = await import('./data-converter-file.ts');
  return loadEncoding(environment, variables);
}

async function open(
  environment: Environment,
  options: { readonly onSpawn?: () => void },
): Promise<TemporalServer> {
  try {
    return await openTemporal(environment, options);
  } catch (thrown) {
    if (!(thrown instanceof SetupError)) throw thrown;
    throw new ClientError('unreachable', thrown.message, { cause: thrown });
  }
}

/** Connects, runs `work`, and always closes the connection. Errors: that nobody answers; what `work` throws. */
export async function withTemporal<Result>(
  { variables, directory }: Surroundings,
  work: (reached: ReachedTemporal) => Promise<Result>,
): Promise<Result> {
  const server = await reachTemporal(readEnvironment(variables, directory), variables);
  const connection = await openConnection(server);
  try {
    const { namespace, dataConverter } = server;
    const client = new Client({ connection, namespace, ...defined({ dataConverter }) });
    return await work({ server, connection, client });
  } finally {
    await connection.close();
  }
}

/** Reaches the server of these surroundings and connects to it; the caller closes the client. */
export async function connectAgentClient(
  surroundings: Surroundings,
  options: Pick<ConnectOptions, 'store' | 'taskQueue' | 'answerTimeoutMs'>,
): Promise<AgentClient> {
  const environment = readEnvironment(surroundings.variables, surroundings.directory);
  const { taskQueue, approvalKeyFile } = environment;
  const approvalKey = approvalKeyFile === undefined ? undefined : await readKey(approvalKeyFile);
  const server = await reachTemporal(environment, surroundings.variables);
  return connect({ ...server, taskQueue, ...options, ...defined({ approvalKey }) });
}

async function readKey(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    throw new SetupError(
      `HOLDFAST_APPROVAL_KEY names ${file}, which cannot be read: ${reasonOf(thrown)}. Set it to the file that \`holdfast approval-key FILE\` wrote.`,
      { cause: thrown },
    );
  }
}

const ignore = (): void => undefined;

/**
 * Starts to reach the server, and returns as soon as all that is left is to wait for it: what loads meanwhile would hold up the
 * start of its process.
 *
 * Contract: `leave` ends a server that this call has started; errors come from `server` alone.
 */
export async function beginReaching(
  environment: Environment,
  variables: Surroundings['variables'],
): Promise<{ readonly server: Promise<ReachedServer>; leave(): Promise<void> }> {
  let onSpawn = (): void => undefined;
  const spawned = new Promise<void>((resolve) => (onSpawn = resolve));
  const server = reachTemporal(environment, variables, { onSpawn });
  await Promise.race([spawned, server.then(ignore, ignore)]);
  return {
    server,
    leave: async () => {
      const reached = await server.catch(() => undefined);
      if (reached?.embedded?.attached === false) await reached.embedded.stop();
    },
  };
}
