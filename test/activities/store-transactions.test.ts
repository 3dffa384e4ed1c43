/** How many transactions an activity costs, and that one wait for the disk serves many runs. */
import Database from 'libsql/promise';
import { openStore } from '../../activities/stores/open-store';
import { oneIteration } from '../support/one-iteration';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
let exec: jest.SpyInstance<unknown, [string]>;
beforeEach(async () => {
  stored = await temporaryStore();
  exec = jest.spyOn(Database.prototype, 'exec');
});
afterEach(async () => {
  exec.mockRestore();
  await stored.dispose();
});

/** Commits while `work` runs. */
async function commitsOf<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly commits: number; readonly result: Result }> {
  exec.mockClear();
  const result = await work();
  return { commits: exec.mock.calls.filter(([sql]) => sql === 'COMMIT').length, result };
}

test.each([
  ['read', 1],
  ['keyed', 2],
  ['irreversible', 3],
] as const)(
  'an iteration with a %s tool commits once for the model and %i times for the tool',
  async (effect, ofTool) => {
    const commits = new Map<string, number>();
    const answered = await oneIteration(stored.store, effect, async (activity, work) => {
      const counted = await commitsOf(work);
      commits.set(activity, counted.commits);
      return counted.result;
    });
    expect(Object.fromEntries(commits)).toEqual({ runTool: ofTool, callModel: 1 });
    const again = await openStore(stored.url);
    const messages = await again.loadTranscript(answered.head);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(await again.loadTranscript(answered.headBefore)).toEqual(messages.slice(0, 3));
    await again.close();
  },
);

test('writes that wait at the same time share commits, and one that fails fails alone', async () => {
  const { store } = stored;
  const texts = Array.from({ length: 50 }, (_, at) => `text ${at}`);
  const wrong = new Error('this one is wrong');
  const { commits, result } = await commitsOf(() =>
    Promise.all([store.putBlob('first'), ...texts.map((text) => store.putBlob(text))]),
  );
  expect(commits).toBeLessThan(10);
  const other = await openStore(stored.url);
  expect((await other.getBlob(result[7] ?? '')).toString()).toBe(texts[6]);

  const settled = await Promise.allSettled([
    store.putBlob('before'),
    store.putBlob('beside'),
    store.patterns.updatePattern('p', () => {
      throw wrong;
    }),
    store.putBlob('behind'),
  ]);
  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  const kept = settled.flatMap((one) =>
    one.status === 'fulfilled' && typeof one.value === 'string' ? [one.value] : [],
  );
  expect(kept).toHaveLength(3);
  for (const hash of kept) expect(await other.hasBlob(hash)).toBe(true);
  await other.close();
});

test('what a batch collects is nowhere else before its end, and all there after it', async () => {
  const { store } = stored;
  const root = await store.appendNode(undefined, [
    { role: 'user', blocks: [{ type: 'text', text: 'root' }] },
  ]);
  const batch = store.batch();
  const blob = await batch.putBlob('a blob');
  const next = [{ role: 'user' as const, blocks: [{ type: 'text' as const, text: 'next' }] }];
  const head = await batch.appendNode(root, next);
  expect(await batch.loadTranscript(head)).toHaveLength(2);
  expect(await store.hasBlob(blob)).toBe(false);
  await expect(store.loadTranscript(head)).rejects.toMatchObject({
    failure: { code: 'store_corrupt' },
  });
  await batch.commit();
  expect(await store.hasBlob(blob)).toBe(true);
  expect(await store.loadTranscript(head)).toHaveLength(2);

  const orphan = store.batch();
  await orphan.appendNode('A'.repeat(43), next);
  await expect(orphan.commit()).rejects.toMatchObject({ failure: { code: 'store_corrupt' } });
});
