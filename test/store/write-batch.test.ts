/** What a batch writes, and when: little waits for its end, and what is large is written at once. */
import { contentHash, canonicalJson, nodeHash } from '../../activities/stores/content-hash';
import { chunkBytes } from '../../activities/stores/content/blob-manifest';
import { maxOutcomeBytes } from '../../activities/stores/store-limits';
import type { Message } from '../../workflows/core/message';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { failureOf, says } from './store-contract';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const intent = { key: 'run/1', tool: 'pay', inputDigest: 'd', startedAtMs: 7 };

test('small blobs and nodes are there at its end, a large blob at once', async () => {
  const { store } = stored;
  const batch = store.batch();
  const small = await batch.putBlob(Buffer.alloc(chunkBytes, 1));
  const large = await batch.putBlob(Buffer.alloc(chunkBytes + 1, 2));
  const head = await batch.appendNode(undefined, says('a'));
  const next = await batch.appendNode(head, says('b'));
  expect([await store.hasBlob(small), await store.hasBlob(large)]).toEqual([false, true]);
  await failureOf(store.loadTranscript(head), 'store_corrupt');
  expect(await batch.loadTranscript(next)).toEqual([...says('a'), ...says('b')]);
  await batch.commit();
  expect(await store.hasBlob(small)).toBe(true);
  expect(await store.loadTranscript(next)).toEqual([...says('a'), ...says('b')]);
  // What it has written is not written again.
  await store.sweep({
    ...{ roots: new Set(), runKeys: new Set(), graceMs: 0, dryRun: false },
    nowMs: Date.now() + 1_000,
  });
  await batch.commit();
  expect(await store.hasBlob(small)).toBe(false);
});

test('a batch reads what is before its own nodes from the store', async () => {
  const { store } = stored;
  const first = await store.appendNode(undefined, says('a'));
  const batch = store.batch();
  const head = await batch.appendNode(first, says('b'));
  expect(await batch.loadTranscript(head)).toEqual([...says('a'), ...says('b')]);
  expect(await batch.loadTranscript(first)).toEqual(says('a'));
});

test('a node whose parent nobody has written fails the batch, and names the parent', async () => {
  const batch = stored.store.batch();
  const absent = nodeHash(undefined, '[]');
  await batch.appendNode(absent, says('a'));
  expect(await failureOf(batch.commit(), 'store_corrupt')).toContain(`${absent} is missing`);
});

test('a parent that is no name is refused at once, and shown up to 60 characters', async () => {
  const refused = stored.store.batch().appendNode('x'.repeat(70), says('a'));
  expect(await failureOf(refused, 'store_corrupt')).toContain(`"${'x'.repeat(60)}" names`);
});

describe('an outcome', () => {
  test('is the first one, with what waits beside it', async () => {
    const { store } = stored;
    await store.beginTool(intent);
    const batch = store.batch();
    const blob = await batch.putBlob('result');
    expect(await batch.finishTool(intent.key, '{"paid":1}')).toBe('{"paid":1}');
    expect(await store.hasBlob(blob)).toBe(true);
    expect(await store.finishTool(intent.key, '{"paid":2}')).toBe('{"paid":1}');
    expect(await store.getTool(intent.key)).toMatchObject({ outcome: '{"paid":1}' });
  });

  test('of a call that never began is refused', async () => {
    expect(await failureOf(stored.store.finishTool('run/2', '{}'), 'store_corrupt')).toContain(
      'run/2 ends but never began',
    );
  });

  test('has a bound in bytes', async () => {
    const { store } = stored;
    await store.beginTool(intent);
    const outcome = (bytes: number): string => JSON.stringify('ö'.repeat((bytes - 2) / 2));
    const refused = store.finishTool(intent.key, outcome(maxOutcomeBytes + 2));
    expect(await failureOf(refused, 'payload_too_large')).toMatch(/65538 bytes.*65536/);
    const largest = outcome(maxOutcomeBytes);
    expect(await store.finishTool(intent.key, largest)).toBe(largest);
  });

  test('keeps characters that a database cannot store, escaped', async () => {
    const { store } = stored;
    await store.beginTool(intent);
    const told = '"\ud800 a 😀 \udc00"';
    const kept = await store.finishTool(intent.key, told);
    expect(kept).toBe('"\\ud800 a 😀 \\udc00"');
    expect(JSON.parse(kept)).toBe(JSON.parse(told));
  });
});

test('bytes of a node are bounded with their names, and the bound counts bytes', async () => {
  const limited = await temporaryStore({ maxNodeBytes: 200 });
  const text = (bytes: number): readonly Message[] => {
    const rest = Buffer.byteLength(canonicalJson(says('')));
    return says('ö'.repeat((bytes - rest) / 2));
  };
  expect(canonicalJson(says('')).length % 2).toBe(0);
  await failureOf(limited.store.appendNode(undefined, text(202)), 'payload_too_large');
  expect(await limited.store.appendNode(undefined, text(200))).toBe(
    contentHash(canonicalJson(text(200))),
  );
  await limited.dispose();
});
