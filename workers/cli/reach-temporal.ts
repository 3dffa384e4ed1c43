/** Reaches Temporal for a command, or says so in a way that has its own exit code. */
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { AgentClient } from '../../client/agent-client';
import { largeAnswers } from '../../client/history/pages';
import { connectClient } from '../connection';
import type { Environment } from '../env';
import { readEnvironment } from '../env';
import { SetupError } from '../setup-error';
import type { TemporalServer } from '../temporal-server/open-temporal';
import { openTemporal } from '../temporal-server/open-temporal';
import type { Surroundings } from './command-context';
import { TemporalUnreachable } from './command-context';

/** A server, and a connection to it. */
export interface ReachedTemporal {
  readonly server: TemporalServer;
  readonly connection: Connection;
  readonly client: Client;
}

async function orUnreachable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof SetupError) throw new TemporalUnreachable(thrown);
    throw thrown;
  }
}

/** The environment's server, else the embedded one. Errors: `TemporalUnreachable`. */
export function reachTemporal(environment: Environment): Promise<TemporalServer> {
  return orUnreachable(openTemporal(environment));
}

async function connectTo(server: TemporalServer): Promise<ReachedTemporal> {
  const connection = await orUnreachable(connectClient(server, largeAnswers));
  return { server, connection, client: new Client({ connection, namespace: server.namespace }) };
}

/** Connects, runs `work`, and always closes the connection. Errors: `TemporalUnreachable`; what `work` throws. */
export async function withTemporal<Result>(
  environment: Environment,
  work: (reached: ReachedTemporal) => Promise<Result>,
): Promise<Result> {
  const reached = await connectTo(await reachTemporal(environment));
  try {
    return await work(reached);
  } finally {
    await reached.connection.close();
  }
}

/** A client of this server; the caller closes it. Errors: `TemporalUnreachable`. */
export async function agentClientOf(
  server: TemporalServer,
  { taskQueue }: Environment,
): Promise<AgentClient> {
  const { client } = await connectTo(server);
  return new AgentClient(client, { address: server.address, taskQueue });
}

/** Reaches the server of these surroundings and connects to it; the caller closes the client. */
export async function connectAgentClient(surroundings: Surroundings): Promise<AgentClient> {
  const environment = readEnvironment(surroundings.variables, surroundings.directory);
  return agentClientOf(await reachTemporal(environment), environment);
}
