/** What every store must do with the records of tool executions: who owns one, how far it is, and its one outcome. */
import type { Store, ToolIntent } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { ContractEngine } from './store-contract';
import { failureOf } from './store-contract';
import { runStoreProcess } from './store-process';

const intent: ToolIntent = { key: 'run/1/0', tool: 'pay', inputDigest: 'digest', startedAtMs: 7 };

/** Begins an execution as an attempt that was scheduled then; the token is empty if it does not own it. */
async function claimed(
  store: Store,
  key: string,
  scheduledAtMs: number,
): Promise<{ readonly type: string; readonly owner: string }> {
  const claim = await store.beginTool({ ...intent, key }, scheduledAtMs);
  return { type: claim.type, owner: 'owner' in claim ? claim.owner : '' };
}

/** Tests of tool records on one engine. */
export function describeToolRecords(name: string, engine: ContractEngine): void {
  describe(`${name}: a tool record`, () => {
    let url: string;
    let store: Store;
    let other: Store;
    beforeEach(async () => {
      url = await engine.newUrl();
      store = await openStore(url, engine.options);
      other = await openStore(url, engine.options);
    });
    afterEach(() => Promise.all([store.close(), other.close()]));

    it('goes from none to begun to executing to finished, and the first outcome stays', async () => {
      expect(await store.getTool(intent.key)).toEqual({ type: 'none' });
      const { type, owner } = await claimed(store, intent.key, 1);
      expect(type).toBe('begun');
      expect(await store.getTool(intent.key)).toEqual({ type: 'begun', intent });
      expect(await store.moveTool(intent.key, owner, 'executing')).toBe(true);
      expect(await store.moveTool(intent.key, owner, 'executing')).toBe(true);
      const later = { ...intent, startedAtMs: 8 };
      expect(await other.beginTool(later, 2)).toMatchObject({ type: 'executing', intent });
      expect(await store.finishTool(intent.key, '{"n":1}')).toBe('{"n":1}');
      expect(await other.finishTool(intent.key, '{"n":2}')).toBe('{"n":1}');
      const finished = { type: 'finished', intent, outcome: '{"n":1}' };
      expect(await other.beginTool(later, 3)).toEqual(finished);
      expect(await store.getTool(intent.key)).toEqual(finished);
    });

    it('is marked as executing when it is begun, and the claim tells the phase before', async () => {
      const begin = (startedAtMs: number, scheduledAtMs: number) =>
        store.beginTool({ ...intent, startedAtMs }, scheduledAtMs, 'executing');
      const first = await begin(7, 2);
      expect(first).toMatchObject({ type: 'begun', intent });
      expect(await store.getTool(intent.key)).toEqual({ type: 'executing', intent });
      expect(await begin(8, 1)).toEqual({ type: 'taken', intent });
      expect(await begin(8, 3)).toMatchObject({ type: 'executing', intent });
      const owner = 'owner' in first ? first.owner : '';
      expect(await store.moveTool(intent.key, owner, 'begun')).toBe(false);
      // What an earlier execution answers is not started.
      const bound = { ...intent, key: 'run/2/0', source: intent.key };
      expect(await store.beginTool(bound, 1, 'executing')).toMatchObject({ type: 'begun' });
      expect(await store.getTool(bound.key)).toMatchObject({ type: 'begun' });
    });

    it('is found by its action in the tree of its run, and answers one record of another tree', async () => {
      const callers = [{ key: 'run/1/9', iteration: 2 }];
      await store.beginTool({ ...intent, key: 'sub/1/0', callers, startedAtMs: 3, iteration: 4 });
      await store.beginTool(intent);
      await store.beginTool({ ...intent, key: 'run/1/1', inputDigest: 'other' });
      const action = { runKey: 'run/1', tool: 'pay', inputDigest: 'digest' };
      const keys = async (runKey: string): Promise<readonly string[]> =>
        (await other.toolsOf({ ...action, runKey })).map((record) => record.intent.key);
      expect(await keys('run/1')).toEqual(['sub/1/0', 'run/1/0']);
      expect(await keys('sub/1')).toEqual([]);

      const source = 'run/1/0';
      const answered = (key: string) => ({ ...intent, key, source });
      const claims = await Promise.all(
        ['fork/1/0', 'fork/1/1', 'fork/1/2'].map((key, index) =>
          (index === 1 ? other : store).beginTool(answered(key), 1),
        ),
      );
      expect(claims.map(({ type }) => type).sort()).toEqual([
        'begun',
        'source-used',
        'source-used',
      ]);
      const [key = ''] = await keys('fork/1');
      expect(await keys('fork/1')).toEqual([key]);
      // A later attempt keeps the source, whatever it asks for; another tree has its own.
      const later = { ...answered(key), source: 'sub/1/0' };
      expect(await other.beginTool(later, 2)).toMatchObject({ type: 'begun', intent: { source } });
      expect(await store.beginTool(answered('third/1/0'))).toMatchObject({ type: 'begun' });
    });

    it('is taken from an earlier owner, who can neither start the effect nor take its start back', async () => {
      const first = await claimed(store, 'k', 1);
      const second = await claimed(other, 'k', 2);
      expect(second.type).toBe('begun');
      expect(await store.moveTool('k', first.owner, 'executing')).toBe(false);
      expect(await store.getTool('k')).toMatchObject({ type: 'begun' });
      expect(await other.moveTool('k', second.owner, 'executing')).toBe(true);
      expect(await store.moveTool('k', first.owner, 'begun')).toBe(false);
      expect(await claimed(store, 'k', 1)).toEqual({ type: 'taken', owner: '' });
      expect(await other.moveTool('k', second.owner, 'begun')).toBe(true);
      expect((await claimed(store, 'k', 3)).type).toBe('begun');
    });

    it('keeps the outcome of an owner that was taken over, if it is the first, and is not started again', async () => {
      const first = await claimed(store, 'k', 1);
      await store.moveTool('k', first.owner, 'executing');
      const second = await claimed(other, 'k', 2);
      await store.finishTool('k', '"paid"');
      expect(await other.moveTool('k', second.owner, 'executing')).toBe(false);
      expect(await other.finishTool('k', '"unknown"')).toBe('"paid"');
    });

    it('belongs to the latest of many attempts, in whatever order they come, and has one outcome', async () => {
      const rivals = [store, other, store, other];
      for (let n = 0; n < 10; n += 1) {
        const key = `key-${n}`;
        const order = rivals.map((_, at) => (at + n) % rivals.length);
        const claims = await Promise.all(
          rivals.map((rival, at) => claimed(rival, key, order[at] ?? 0)),
        );
        const moves = await Promise.all(
          rivals.map((rival, at) => rival.moveTool(key, claims[at]?.owner ?? '', 'executing')),
        );
        expect(moves).toEqual(order.map((scheduledAtMs) => scheduledAtMs === rivals.length - 1));
        const kept = await Promise.all(
          rivals.map((rival, at) => rival.finishTool(key, String(at))),
        );
        expect(new Set(kept).size).toBe(1);
      }
    });

    it('is started or handed over unstarted, never both, when two processes race', async () => {
      const [earlier, later] = await Promise.all([
        runStoreProcess(url, 'start', '200 1'),
        runStoreProcess(url, 'start', '200 2'),
      ]);
      expect([earlier.length, later.length]).toEqual([200, 200]);
      for (const [at, saidLater] of later.entries()) {
        const isStartedByEarlier = earlier[at]?.endsWith('true') === true;
        expect(saidLater).toBe(isStartedByEarlier ? 'executing true' : 'begun true');
      }
    });

    it('keeps any key and any text, though not more than 64 KB of it', async () => {
      const key = `a\0b\ud800"'${'k'.repeat(5_000)}`;
      await store.beginTool({ ...intent, key });
      await failureOf(store.finishTool(key, `"${'x'.repeat(65_536)}"`), 'payload_too_large');
      await store.finishTool(key, '"\ud800 é"');
      const record = await store.getTool(key);
      expect(record).toMatchObject({ type: 'finished', intent: { key } });
      expect(record.type === 'finished' && JSON.parse(record.outcome)).toBe('\ud800 é');
    });

    it('has a phase that is known, and an outcome only if it began', async () => {
      await store.beginTool(intent);
      await engine.execute(url, `UPDATE ${engine.table('tool_executions')} SET phase = 'done'`);
      await failureOf(store.getTool(intent.key), 'store_corrupt');
      expect(await failureOf(store.finishTool('ghost', '1'), 'store_corrupt')).toContain('ghost');
    });
  });
}
