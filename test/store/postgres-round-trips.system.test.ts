/** What an activity asks of a Postgres server: how often it waits for an answer, and that what it writes together stays together. */
import { Client } from 'pg';
import { createEncryption } from '../../activities/index';
import { openStore } from '../../activities/stores/open-store';
import { oneIteration } from '../support/one-iteration';
import { startPostgres, type TestPostgres } from '../support/postgres';
import { startCountingProxy } from './counting-proxy';
import { failureOf, says } from './store-contract';

let server: TestPostgres;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server.stop();
});

const cases = [
  // What was read and written: the result.
  { effect: 'read', runTool: { roundTrips: 1, statements: 2 } },
  // The intent, and the result with the outcome.
  { effect: 'keyed', runTool: { roundTrips: 2, statements: 4 } },
  // The intent, the mark before the effect, and the result with the outcome.
  { effect: 'irreversible', runTool: { roundTrips: 3, statements: 5 } },
] as const;
const encryption = createEncryption({ keyId: 'one', keys: { one: '1a'.repeat(32) } });

test.each([
  ...cases.map((given) => ({ ...given, kept: 'in the clear', options: {} })),
  ...cases.map((given) => ({ ...given, kept: 'encrypted', options: { encryption } })),
])(
  'an iteration with a $effect tool, $kept, waits for the server only where something must be durable, and once to read',
  async ({ effect, runTool, options }) => {
    const url = new URL(await server.newDatabase());
    const proxy = await startCountingProxy(Number(url.port));
    url.port = String(proxy.port);
    const store = await openStore(url.href, options);
    const asked = new Map<string, unknown>();
    const { head } = await oneIteration(store, effect, async (activity, work) => {
      const before = proxy.counts();
      const result = await work();
      const after = proxy.counts();
      asked.set(activity, {
        roundTrips: after.roundTrips - before.roundTrips,
        statements: after.statements - before.statements,
      });
      return result;
    });
    // The route's health; the pending result and the reply.
    const callModel = { roundTrips: 2, statements: 3 };
    expect(Object.fromEntries(asked)).toEqual({ runTool, callModel });
    await store.close();
    proxy.close();
    const again = await openStore(url.href.replace(url.port, new URL(server.url).port), options);
    expect(await again.loadTranscript(head)).toHaveLength(4);
    await again.close();
  },
);

test('what is written together is there together, or not at all', async () => {
  const url = await server.newDatabase();
  const store = await openStore(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('ALTER TABLE holdfast.nodes ADD CONSTRAINT none CHECK (false) NOT VALID');
  const batch = store.batch();
  const blob = await batch.putBlob('a blob');
  await batch.appendNode(undefined, says('a'));
  await failureOf(batch.commit(), 'store_unavailable');
  expect(await store.hasBlob(blob)).toBe(false);
  await client.query('ALTER TABLE holdfast.nodes DROP CONSTRAINT none');
  const second = store.batch();
  await second.putBlob('a blob');
  const head = await second.appendNode(undefined, says('a'));
  await second.commit();
  expect(await store.hasBlob(blob)).toBe(true);
  expect(await store.loadTranscript(head)).toEqual(says('a'));
  await Promise.all([store.close(), client.end()]);
});
