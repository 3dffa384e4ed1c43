/** The contract on Postgres, and what is Postgres's own: a server that goes away and comes back. */
import { Client } from 'pg';
import { createEncryption } from '../../activities/index';
import { startPostgres, type TestPostgres } from '../support/postgres';
import { openStore } from '../../activities/stores/open-store';
import { startReplyLosingProxy } from './reply-losing-proxy';
import { describeLiveTexts } from './live-text-contract';
import { describePatternStore } from './pattern-store-contract';
import { describeSharedHealth } from './share-health-contract';
import { describeTenants } from './tenant-contract';
import { describeSweep } from './sweep-contract';
import { describeToolRecords } from './tool-record-contract';
import { describeStoreContract, failureOf, says, type ContractEngine } from './store-contract';

let server: TestPostgres;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(async () => {
  await server.stop();
});

const engine: ContractEngine = {
  newUrl: () => server.newDatabase(),
  execute: async (url, sql) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(sql);
    await client.end();
  },
  table: (name) => `holdfast.${name}`,
  bytes: (value) => `'\\x${value.toString('hex')}'::bytea`,
};

describeStoreContract('Postgres', engine);
describeSharedHealth('Postgres', engine);
describePatternStore('Postgres', engine);
describeSweep('Postgres', engine);
describeToolRecords('Postgres', engine);
describeLiveTexts('Postgres', engine);

const encrypted: ContractEngine = {
  ...engine,
  options: { encryption: createEncryption({ keyId: 'one', keys: { one: '1a'.repeat(32) } }) },
};
describeStoreContract('Postgres, encrypted', encrypted);
describeTenants('Postgres', engine);
describePatternStore('Postgres, encrypted', encrypted);
describeSweep('Postgres, encrypted', encrypted);

describe('Postgres server', () => {
  it('is named without its password', async () => {
    const url = await server.newDatabase();
    const store = await openStore(url);
    expect(store.label).toMatch(/^postgres:127\.0\.0\.1:\d+\/store_\d+$/);
    await store.close();
  });

  it.each([
    ['a wrong password', (url: URL) => (url.password = 'hunter2'), /password/],
    [
      'a database that does not exist',
      (url: URL) => (url.pathname = '/nowhere'),
      /Create the database/,
    ],
  ])('refuses %s as configuration', async (_, change, reason) => {
    const url = new URL(server.url);
    change(url);
    const message = await failureOf(openStore(url.href), 'config_invalid');
    expect(message).toMatch(reason);
    expect(message).not.toMatch(/hunter2|secret-of-test/);
  });

  it('is missed at once when nothing listens', async () => {
    const message = await failureOf(
      openStore('postgres://me:hunter2@127.0.0.1:1/x'),
      'store_unavailable',
    );
    expect(message).toMatch(/postgres:127\.0\.0\.1:1\/x.*ECONNREFUSED/);
    expect(message).not.toContain('hunter2');
  });

  it('uses a schema that was made for a user without the right to make one', async () => {
    const url = await server.newDatabase();
    const role = `guest_${String(Date.now())}`;
    await engine.execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'guest'`);
    const guest = new URL(url);
    guest.username = role;
    guest.password = 'guest';
    expect(await failureOf(openStore(guest.href), 'config_invalid')).toMatch(/Grant/);
    await engine.execute(url, `CREATE SCHEMA holdfast AUTHORIZATION ${role}`);
    const store = await openStore(guest.href);
    await store.check();
    await store.close();
  });

  it('ends a statement that another holds up, and goes on afterwards', async () => {
    const url = await server.newDatabase();
    const store = await openStore(url, { statementTimeoutMs: 200 });
    const rival = new Client({ connectionString: url });
    await rival.connect();
    await rival.query('BEGIN; LOCK TABLE holdfast.nodes IN ACCESS EXCLUSIVE MODE');
    const message = await failureOf(store.appendNode(undefined, says('a')), 'store_unavailable');
    expect(message).toMatch(/statement timeout/);
    await rival.query('ROLLBACK');
    await rival.end();
    expect(await store.loadTranscript(await store.appendNode(undefined, says('a')))).toHaveLength(
      1,
    );
    await store.close();
  });

  it('sends a statement again when its connection was cut, and begins an execution once', async () => {
    const url = await server.newDatabase();
    const store = await openStore(url, { maxConnections: 2 });
    const cutter = new Client({ connectionString: url });
    await cutter.connect();
    const cut = (): Promise<unknown> => {
      return cutter.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'holdfast' AND datname = current_database()`,
      );
    };
    let begun = 0;
    for (let n = 0; n < 20; n += 1) {
      const intent = { key: `key-${n}`, tool: 't', inputDigest: 'd', startedAtMs: n };
      const [record] = await Promise.all([store.beginTool(intent), cut()]);
      if (record.type === 'begun') begun += 1;
    }
    expect(begun).toBe(20);
    await cutter.end();
    await store.close();
  });

  it('knows its own beginning again when the reply to it was lost', async () => {
    const url = new URL(await server.newDatabase());
    const direct = await openStore(url.href);
    const proxy = await startReplyLosingProxy(
      Number(url.port),
      'INSERT INTO holdfast.tool_executions',
    );
    url.port = String(proxy.port);
    const store = await openStore(url.href);
    const intent = { key: 'k', tool: 't', inputDigest: 'd', startedAtMs: 1 };
    const claim = await store.beginTool(intent, 5);
    expect(claim).toMatchObject({ type: 'begun', intent });
    expect(proxy.lostReplies()).toBe(1);
    expect(await direct.beginTool(intent, 4)).toEqual({ type: 'taken', intent });
    expect('owner' in claim && (await direct.moveTool('k', claim.owner, 'executing'))).toBe(true);
    expect(await direct.beginTool(intent, 6)).toMatchObject({ type: 'executing', intent });
    await Promise.all([store.close(), direct.close()]);
    proxy.close();
  });

  it('has a failure whose reply was lost, and a repeated report of it changes the count alone', async () => {
    const url = new URL(await server.newDatabase());
    const direct = await openStore(url.href);
    const proxy = await startReplyLosingProxy(Number(url.port), 'COMMIT');
    url.port = String(proxy.port);
    const store = await openStore(url.href);
    const rest = { cooldownUntilMs: 60, probeFromMs: 30, atMs: 1 };
    const failure = { route: 'a/1', reason: 'rate_limit', message: 'm', status: 'down' } as const;
    await failureOf(store.reportFailure({ ...failure, ...rest }), 'store_unavailable');
    expect(proxy.lostReplies()).toBe(1);
    const [once] = await direct.readHealth(['a/1']);
    expect(once).toMatchObject({ errorCount: 1, cooldownUntilMs: 60, lastFailureAtMs: 1 });
    const twice = await store.reportFailure({ ...failure, ...rest });
    expect(twice).toEqual({ ...once, errorCount: 2 });
    await Promise.all([store.close(), direct.close()]);
    proxy.close();
  });

  it('leaves a route free for others when a report is cut off half-way', async () => {
    const url = new URL(await server.newDatabase());
    const direct = await openStore(url.href);
    const proxy = await startReplyLosingProxy(
      Number(url.port),
      'INSERT INTO holdfast.route_health',
    );
    url.port = String(proxy.port);
    const store = await openStore(url.href);
    const lease = { route: 'a/1', holder: 'run 1', atMs: 1, untilMs: 2 };
    await failureOf(store.acquireProbe(lease), 'store_unavailable');
    expect(proxy.lostReplies()).toBe(1);
    expect(await direct.acquireProbe({ ...lease, holder: 'run 2' })).toBe(true);
    expect(await store.acquireProbe(lease)).toBe(false);
    await Promise.all([store.close(), direct.close()]);
    proxy.close();
  });

  it('notices a database that was made anew under its feet', async () => {
    const url = await server.newDatabase();
    const store = await openStore(url);
    await engine.execute(url, 'DROP SCHEMA holdfast CASCADE');
    expect(await failureOf(store.check(), 'store_unavailable')).toMatch(/tables are gone/);
    const other = await openStore(url);
    expect(await failureOf(store.check(), 'store_mismatch')).toContain(other.id);
    await Promise.all([store.close(), other.close()]);
  });

  it('may be killed and restarted while stores are open, and has all that was reported', async () => {
    const own = await startPostgres();
    const { url } = own;
    const store = await openStore(url);
    let head = await store.appendNode(undefined, says('before'));
    await own.restart();
    head = await store.appendNode(head, says('after a restart'));
    const blob = await store.putBlob('x'.repeat(1_000_000));
    const lease = { route: 'a/1', holder: 'run 1', atMs: 1, untilMs: 2 };
    await store.acquireProbe(lease);
    await own.kill();
    await failureOf(store.readHealth(['a/1']), 'store_unavailable');
    await failureOf(store.acquireProbe(lease), 'store_unavailable');
    const message = await failureOf(store.appendNode(head, says('lost')), 'store_unavailable');
    expect(message).not.toContain('secret-of-test');
    await failureOf(store.check(), 'store_unavailable');
    await failureOf(openStore(url), 'store_unavailable');
    await own.restart();
    await store.check();
    head = await store.appendNode(head, says('after a kill'));
    const cold = await openStore(url);
    expect(await cold.acquireProbe({ ...lease, holder: 'run 2' })).toBe(false);
    expect(await cold.loadTranscript(head)).toHaveLength(3);
    expect((await cold.getBlob(blob)).length).toBe(1_000_000);
    await Promise.all([store.close(), cold.close()]);
    await own.stop();
  });
});
