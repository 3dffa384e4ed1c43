/** Connects to Temporal within a bounded time, or says clearly why not. */
import type { ConnectionOptions } from '@temporalio/client';
import { Client, Connection } from '@temporalio/client';
import type { ConnectOptions } from './agent-client';
import { AgentClient } from './agent-client';
import { defined } from '../workflows/core/json';
import { ClientError, reasonOf } from './client-error';
import { largeAnswers } from './history/pages';
import { checkSdk } from './sdk-check';
import { asClientError, isNotFound } from './temporal-failure';

const defaultAddress = 'localhost:7233';
const defaultConnectTimeoutMs = 10_000;

/**
 * Connects and checks the namespace.
 *
 * Errors: `unreachable` within `connectTimeoutMs`, naming the address and the remedy; `run-not-found` never.
 */
export async function connect(options: ConnectOptions = {}): Promise<AgentClient> {
  const { address = defaultAddress, namespace = 'default', dataConverter } = options;
  checkSdk((message) => new ClientError('sdk-mismatch', message));
  const connection = await openConnection({ ...options, address, namespace });
  const client = new Client({ connection, namespace, ...defined({ dataConverter }) });
  return new AgentClient(client, { ...options, address });
}

/** The connection of `connect`, for the command line. Errors: as `connect`. */
export async function openConnection({
  address,
  namespace,
  apiKey,
  tls,
  connectTimeoutMs = defaultConnectTimeoutMs,
}: ConnectOptions & { readonly address: string; readonly namespace: string }): Promise<Connection> {
  const connection = await open({
    address,
    connectTimeout: connectTimeoutMs,
    channelArgs: largeAnswers,
    ...defined({ apiKey, tls }),
  });
  try {
    await connection.withDeadline(Date.now() + connectTimeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return connection;
  } catch (thrown) {
    await connection.close();
    throw isNotFound(thrown)
      ? unknownNamespace(address, namespace)
      : asClientError(thrown, { address, namespace });
  }
}

async function open(options: ConnectionOptions & { address: string }): Promise<Connection> {
  try {
    return await Connection.connect(options);
  } catch (thrown) {
    throw new ClientError(
      'unreachable',
      `Temporal does not answer at ${options.address}: ${reasonOf(thrown)}. Start a server there, or give another address (TEMPORAL_ADDRESS, with TEMPORAL_TLS=true if it wants TLS).`,
      { cause: thrown },
    );
  }
}

function unknownNamespace(address: string, namespace: string): ClientError {
  return new ClientError(
    'unreachable',
    `Temporal at ${address} has no namespace "${namespace}". Give another (TEMPORAL_NAMESPACE), or create it: \`temporal operator namespace create --namespace ${namespace}\`.`,
  );
}
