/** Connects to Temporal within a bounded time, or says clearly why not. */
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { ConnectOptions } from './connect-options';
import { AgentClient } from './agent-client';
import { checkConnectOptions } from './connect-options';
import { defined } from '../workflows/core/json';
import { ClientError } from './client-error';
import { closedConnection } from './closed-connection';
import { dataConverterProblem } from './data-converter';
import { largeAnswers } from './history/pages';
import { checkSdk } from './sdk-check';
import { asClientError, unreachable } from './temporal-failure';

const defaultAddress = 'localhost:7233';
const defaultConnectTimeoutMs = 10_000;

/**
 * Connects and checks the namespace.
 *
 * Errors: `unreachable` within `connectTimeoutMs`, naming the address and the remedy; `invalid-input` for an option that
 * cannot work.
 */
export async function connect(options: ConnectOptions = {}): Promise<AgentClient> {
  checkConnectOptions(options);
  const { address = defaultAddress, namespace = 'default' } = options;
  checkSdk((message) => new ClientError('sdk-mismatch', message));
  const dataConverter = dataConverterFrom(options);
  const connection = await openConnection({ ...options, address, namespace });
  const client = new Client({ connection, namespace, ...defined({ dataConverter }) });
  return new AgentClient(client, { ...options, address });
}

function dataConverterFrom({
  encryption,
  dataConverter,
}: ConnectOptions): DataConverter | undefined {
  const problem = dataConverterProblem(dataConverter);
  if (problem !== undefined)
    throw new ClientError('invalid-input', `connect: dataConverter: ${problem}.`);
  if (encryption === undefined) return dataConverter;
  if (dataConverter === undefined) return encryption.dataConverter;
  throw new ClientError(
    'invalid-input',
    'connect: encryption is given beside dataConverter, which it replaces: give one of the two. A converter of your own can be { ...encryption.dataConverter, payloadConverterPath }.',
  );
}

/** The connection of `connect`, for the command line. Errors: as `connect`. */
export async function openConnection({
  address,
  namespace,
  apiKey,
  tls,
  metadata,
  connectTimeoutMs = defaultConnectTimeoutMs,
}: ConnectOptions & { readonly address: string; readonly namespace: string }): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({
      address,
      connectTimeout: connectTimeoutMs,
      channelArgs: largeAnswers,
      plugins: [closedConnection],
      ...defined({ apiKey, tls, metadata }),
    });
    const { workflowService } = connection;
    await connection.withDeadline(Date.now() + connectTimeoutMs, () =>
      workflowService.describeNamespace({ namespace }),
    );
    return connection;
  } catch (thrown) {
    if (connection === undefined) throw unreachable({ address }, thrown);
    await connection.close();
    throw asClientError(thrown, { address, namespace });
  }
}
