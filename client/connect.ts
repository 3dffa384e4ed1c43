/** Connects to Temporal within a bounded time, or says clearly why not. */
import type { ConnectionOptions } from '@temporalio/client';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
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

/** Tries of one request, within two seconds; the SDK's ten take 23 s. */
const maxAttempts = 5;
const firstPauseMs = 100;
/** Asks for the end of a run and for new events; whoever asks has a limit of its own. */
const waitingMethod = /\/GetWorkflowExecutionHistory$/;

/** Ends each request at its deadline, and repeats only within it. */
function boundedBy(answerTimeoutMs: number): NonNullable<ConnectionOptions['interceptors']> {
  const repeat = makeGrpcRetryInterceptor(
    defaultGrpcRetryOptions({ maxAttempts, initialIntervalMs: () => firstPauseMs }),
  );
  return [
    (options, nextCall) => {
      const { deadline = Date.now() + answerTimeoutMs, method_definition: method } = options;
      return repeat(waitingMethod.test(method.path) ? options : { ...options, deadline }, nextCall);
    },
  ];
}

/** The connection of `connect`, for the command line. Errors: as `connect`. */
export async function openConnection({
  address,
  namespace,
  apiKey,
  tls,
  metadata,
  connectTimeoutMs = defaultConnectTimeoutMs,
  answerTimeoutMs,
}: ConnectOptions & { readonly address: string; readonly namespace: string }): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({
      address,
      connectTimeout: connectTimeoutMs,
      channelArgs: largeAnswers,
      plugins: [closedConnection],
      ...defined({ apiKey, tls, metadata }),
      ...(answerTimeoutMs === undefined ? {} : { interceptors: boundedBy(answerTimeoutMs) }),
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
