/** Connecting: bounded and clear when nobody answers or the namespace is wrong; set-up of search attributes. */
import { msToTs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import { Client } from '@temporalio/client';
import { AgentClient } from '../../client/agent-client';
import { serverOptionsFrom } from '../../workers/connection';
import { connectWorker } from '../../workers/worker-connection';
import { readEnvironment } from '../../workers/env';
import { findFreePorts } from '../../workers/temporal-server/embedded-server';
import { registerSearchAttributes } from '../../workers/search-attributes';
import { openTemporal } from '../../workers/temporal-server/open-temporal';
import { eventually } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { quietTemporal, startDevServer, uniqueName } from '../support/temporal';

let server: DevServer;

beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());

async function newNamespace(): Promise<string> {
  const namespace = uniqueName('namespace');
  await server.connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  return namespace;
}

describe('connecting', () => {
  it('says which server does not answer, and what to do', async () => {
    quietTemporal();
    const [port] = await findFreePorts(1);
    const failing = connectWorker({ address: `127.0.0.1:${port ?? 0}`, connectTimeoutMs: 300 });
    await expect(failing).rejects.toThrow(`Temporal does not answer at 127.0.0.1:${port ?? 0}: `);
    await expect(failing).rejects.toThrow('correct TEMPORAL_ADDRESS');
  });

  it('tells an unknown namespace from a dead server', async () => {
    const failing = connectWorker({
      address: server.address,
      namespace: 'nowhere',
      connectTimeoutMs: 300,
    });
    await expect(failing).rejects.toThrow(/answers, but not for namespace "nowhere": .*not found/i);
  });

  it('names the variable of a certificate that is not there', async () => {
    const { temporal: settings } = readEnvironment(
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca.pem' },
      '/srv',
    );
    await expect(serverOptionsFrom(settings)).rejects.toThrow(
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH is "/nowhere/ca.pem", which cannot be read: ENOENT',
    );
  });

  it('uses the server that the environment names, and starts none', async () => {
    const environment = readEnvironment({ TEMPORAL_ADDRESS: server.address }, '/nowhere');
    const opened = await openTemporal(environment);
    expect(opened).toEqual({ address: server.address, namespace: 'default', tls: false });
  });
});

describe('search attributes', () => {
  it('are there on the embedded server from the start', async () => {
    const result = await registerSearchAttributes(server.connection, 'default');
    expect(result.added).toEqual([]);
    expect(result.present).toHaveLength(7);
  });

  it('are added once, also by two callers at once', async () => {
    const namespace = await newNamespace();
    const both = await Promise.all([
      registerSearchAttributes(server.connection, namespace),
      registerSearchAttributes(server.connection, namespace),
    ]);
    const known = [...both[0].added, ...both[0].present].sort();
    expect(known).toEqual([
      'HoldfastAgent',
      'HoldfastIteration',
      'HoldfastProvider',
      'HoldfastReason',
      'HoldfastStatus',
      'HoldfastTenant',
      'HoldfastUsd',
    ]);
    expect((await registerSearchAttributes(server.connection, namespace)).added).toEqual([]);
  });

  // The embedded server never refuses them. One on Postgres does for up to 2 s.
  it('can be used as soon as they are added', async () => {
    const namespace = await newNamespace();
    const { connection } = server;
    await registerSearchAttributes(connection, namespace);
    const client = new AgentClient(new Client({ connection, namespace }), { taskQueue: 'nobody' });
    const { runId } = await client.start({ agent: 'scout', goal: 'x', tenant: 'acme' });
    const listed = await eventually(
      () => client.list({ tenant: 'acme' }),
      (runs) => runs.length > 0,
    );
    expect(listed).toMatchObject([{ runId, agent: 'scout' }]);
  });

  it('are refused where one exists with another type', async () => {
    const namespace = await newNamespace();
    await server.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: {
        HoldfastReason: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_INT,
      },
    });
    await expect(registerSearchAttributes(server.connection, namespace)).rejects.toThrow(
      /HoldfastReason of namespace ".*" has type INDEXED_VALUE_TYPE_INT, Holdfast needs Keyword\. Remove it/,
    );
  });

  it('say that a namespace is unknown', async () => {
    await expect(registerSearchAttributes(server.connection, 'nowhere')).rejects.toThrow(
      /did not list the search attributes of namespace "nowhere": .*Check TEMPORAL_NAMESPACE/,
    );
  });
});
