/** What a sweep promises, run against both engines. */
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { SweepOptions } from '../../activities/stores/content/sweep';
import type { Message } from '../../workflows/core/message';
import { failureOf, type ContractEngine } from './store-contract';

const said = (text: string): Message => ({ role: 'user', blocks: [{ type: 'text', text }] });

/** Tests of the sweep on one engine. */
export function describeSweep(name: string, engine: ContractEngine): void {
  describe(`${name}: a sweep`, () => {
    let url: string;
    let store: Store;
    beforeEach(async () => {
      url = await engine.newUrl();
      store = await openStore(url, engine.options);
    });
    afterEach(() => store.close());

    /** Everything written so far is old. */
    async function age(): Promise<void> {
      for (const table of ['nodes', 'blobs', 'chunks', 'tool_executions'])
        await engine.execute(url, `UPDATE ${engine.table(table)} SET touched_ms = 1000`);
    }

    const sweep = (more: Partial<SweepOptions> = {}): ReturnType<Store['sweep']> =>
      store.sweep({
        roots: new Set(),
        runKeys: new Set(),
        graceMs: 3_600_000,
        dryRun: false,
        nowMs: Date.now(),
        ...more,
      });

    async function chain(parent: string | undefined, ...texts: string[]): Promise<string[]> {
      const heads: string[] = [];
      for (const text of texts)
        heads.push(await store.appendNode(heads.at(-1) ?? parent, [said(text)]));
      return heads;
    }

    it('removes health, knowledge and counts that nobody has used for a month, and keeps what was used since', async () => {
      const success = { startedAtMs: 1, atMs: 2 };
      for (const route of ['old/1', 'used/1']) await store.reportSuccess({ ...success, route });
      for (const digest of ['old', 'used']) await store.patterns.keepKnowledge(digest, '1');
      const place = { namespace: 'default', runId: 'run', sinceMs: 1 };
      for (const tenant of ['old', 'used']) await store.tenants.enter(tenant, place, 1);
      for (const table of ['route_health', 'tool_knowledge', 'tenant_usage'])
        await engine.execute(url, `UPDATE ${engine.table(table)} SET touched_ms = 1000`);
      await store.reportSuccess({ startedAtMs: 20_000, atMs: 20_001, route: 'used/1' });
      expect(await store.patterns.knowledge('used')).toBe('1');
      expect(await store.tenants.enter('used', place, 1)).toBeUndefined();
      expect((await sweep({ dryRun: true })).others).toBe(0);
      expect((await sweep()).others).toBe(3);
      expect((await store.listHealth()).map(({ route }) => route)).toEqual(['used/1']);
      expect(await store.patterns.knowledge('old')).toBeUndefined();
      expect(await store.patterns.knowledge('used')).toBe('1');
      expect((await sweep()).others).toBe(0);
    });

    it('of some runs alone removes what only they have, however young, and nothing twice', async () => {
      const shared = await store.putBlob('shared by both');
      const own = await store.putBlob(Buffer.alloc(600_000, 7));
      const trunk = await chain(undefined, 'goal', `see ${shared}`);
      const [erased = ''] = await chain(trunk[1], `see ${own}`);
      const [other = ''] = await chain(trunk[1], 'of the other run');
      // Of a run whose history does not name it yet.
      const [unnamed = ''] = await chain(other, 'just written');
      // What the erased run wrote last, and its history does not name.
      const [last = ''] = await chain(erased, 'last words');
      const [young = ''] = await chain(undefined, 'a first node', 'and another');
      for (const key of ['gone/r/1', 'other/r/1'])
        await store.beginTool({ key, tool: 't', inputDigest: 'd', startedAtMs: 1 });
      // The other run was given what the erased one did.
      const both = { key: 'gone/r/2', source: 'other/r/0', tool: 't', inputDigest: 'd' };
      await store.beginTool({ ...both, startedAtMs: 1 });
      const named = (hash: string, runKey: string) => ({
        hashes: new Set([hash]),
        runKeys: new Set([runKey]),
      });
      const options = {
        erased: named(erased, 'gone/r'),
        others: named(other, 'other/r'),
        nowMs: Date.now() + 1_000,
      };
      const planned = await store.erase({ ...options, dryRun: true });
      expect(planned).toMatchObject({
        nodes: { removed: 2, kept: 6 },
        blobs: { removed: 1, kept: 1 },
        toolRecords: { removed: 1, kept: 2 },
        shared: 3,
      });
      expect(planned.chunks.removed).toBeGreaterThan(0);
      expect(await store.erase({ ...options, nowMs: 1_000, dryRun: false })).toMatchObject({
        nodes: { removed: 0 },
        blobs: { removed: 0 },
        toolRecords: { removed: 0 },
      });
      expect(await store.erase({ ...options, dryRun: false })).toEqual(planned);
      const fresh = await openStore(url, engine.options);
      await expect(fresh.loadTranscript(erased)).rejects.toThrow(/is missing/);
      expect(await fresh.hasBlob(own)).toBe(false);
      expect((await fresh.getBlob(shared)).toString()).toBe('shared by both');
      await expect(fresh.loadTranscript(last)).rejects.toThrow(/is missing/);
      expect(await fresh.loadTranscript(unnamed)).toHaveLength(4);
      expect(await fresh.loadTranscript(young)).toHaveLength(1);
      expect(await fresh.getTool('gone/r/1')).toEqual({ type: 'none' });
      expect(await fresh.getTool('other/r/1')).toMatchObject({ type: 'begun' });
      expect(await fresh.getTool('gone/r/2')).not.toEqual({ type: 'none' });
      await fresh.close();
      expect(await store.erase({ ...options, dryRun: false })).toMatchObject({
        nodes: { removed: 0 },
        toolRecords: { removed: 0 },
      });
    });

    it('reads more rows than a page has', async () => {
      for (let n = 0; n < 520; n += 1)
        await store.beginTool({ key: `w/r/${n}`, tool: 't', inputDigest: 'd', startedAtMs: 1 });
      const kept = await store.putBlob('named by a tool record');
      await store.beginTool({ key: 'w/kept/1', tool: 't', inputDigest: kept, startedAtMs: 1 });
      await age();
      const swept = await sweep({ runKeys: new Set(['w/kept']) });
      expect(swept.toolRecords).toMatchObject({ removed: 520, kept: 1 });
      expect(await store.hasBlob(kept)).toBe(true);
    });

    it('removes what nothing reaches, and keeps what a root reaches through nodes and blobs', async () => {
      const whole = await store.putBlob('the whole output');
      const result = await store.putBlob(
        JSON.stringify({ content: 'x', isError: false, blob: whole }),
      );
      const trunk = await chain(undefined, 'goal', `see ${result}`);
      const [kept = ''] = await chain(trunk[1], 'kept');
      const lost = await chain(trunk[1], 'lost', 'lost too');
      const lostBlob = await store.putBlob(Buffer.alloc(600_000, 7));
      await age();
      const planned = await sweep({ roots: new Set([kept]), dryRun: true });
      expect(planned).toMatchObject({
        nodes: { removed: 2, kept: 3 },
        blobs: { removed: 1, kept: 2 },
      });
      await expect(store.loadTranscript(lost[1] ?? '')).resolves.toHaveLength(4);
      const swept = await sweep({ roots: new Set([kept]) });
      expect(swept.nodes).toEqual(planned.nodes);
      expect(swept.chunks).toEqual(planned.chunks);
      expect(swept.chunks.removedBytes).toBeGreaterThan(262_143);
      const fresh = await openStore(url, engine.options);
      await expect(fresh.loadTranscript(kept)).resolves.toHaveLength(3);
      await expect(fresh.getBlob(whole)).resolves.toEqual(Buffer.from('the whole output'));
      await expect(fresh.loadTranscript(lost[1] ?? '')).rejects.toThrow(/missing/);
      await expect(fresh.getBlob(lostBlob)).rejects.toThrow(/missing/);
      await fresh.close();
      expect((await sweep({ roots: new Set([kept]) })).nodes.removed).toBe(0);
    });

    it('counts each row once in a plan, and removes what it has counted, over pages', async () => {
      const batch = store.batch();
      let lost: string | undefined;
      for (let n = 0; n < 501; n += 1) {
        lost = await batch.appendNode(lost, [said(`lost ${n}`)]);
        await batch.putBlob(`lost ${n}`);
      }
      await batch.commit();
      await chain(undefined, 'kept');
      await age();
      const [kept = ''] = await chain(undefined, 'kept');
      const planned = await sweep({ dryRun: true });
      expect(planned).toMatchObject({
        nodes: { removed: 501, kept: 1 },
        blobs: { removed: 501, kept: 0 },
        chunks: { removed: 501, kept: 0 },
      });
      expect(await sweep()).toEqual(planned);
      expect(await store.loadTranscript(kept)).toHaveLength(1);
    });

    it('keeps what a young blob names, and looks into no blob of more than 256 KiB', async () => {
      const named = await store.putBlob('named by a young result');
      const unnamed = await store.putBlob('named at the end of a long output');
      await age();
      await store.putBlob(JSON.stringify({ blob: named }).padEnd(256 * 1024));
      await store.putBlob(unnamed.padStart(256 * 1024 + 1));
      expect(await sweep()).toMatchObject({ blobs: { removed: 1, kept: 3 } });
      expect(await store.hasBlob(named)).toBe(true);
      expect(await store.hasBlob(unnamed)).toBe(false);
    });

    it('goes on beside a damaged blob, and removes nothing if blobs cannot be read', async () => {
      const [root = ''] = await chain(undefined, 'kept');
      const blob = await store.putBlob('a result');
      await chain(undefined, 'lost');
      await age();
      const chunks = engine.table('chunks');
      await engine.execute(url, `ALTER TABLE ${chunks} RENAME TO away`);
      const options = { roots: new Set([root, blob]) };
      await failureOf(sweep(options), 'store_unavailable');
      await engine.execute(url, `ALTER TABLE ${chunks.replace('chunks', 'away')} RENAME TO chunks`);
      expect((await sweep({ ...options, dryRun: true })).nodes).toMatchObject({
        removed: 1,
        kept: 1,
      });
      await engine.execute(url, `DELETE FROM ${chunks}`);
      expect(await sweep(options)).toMatchObject({
        nodes: { removed: 1, kept: 1 },
        blobs: { removed: 0, kept: 1 },
      });
    });

    it('of some runs alone keeps what young content that no history names refers to', async () => {
      const [young, old] = [await store.putBlob('in use'), await store.putBlob('in use once')];
      // Its first chunk is one of the other blob, too.
      const [large, longer] = [300_000, 600_000].map((bytes) => Buffer.alloc(bytes, 7));
      const [gone, stays] = [await store.putBlob(large ?? ''), await store.putBlob(longer ?? '')];
      const [erased = ''] = await chain(undefined, `see ${young}, ${old} and ${gone}`);
      await chain(undefined, `I see ${old}`);
      await age();
      const [other = ''] = await chain(undefined, `I see ${young} and ${stays}`);
      const callers = [{ key: 'above/r/c', iteration: 1 }];
      await store.beginTool({
        key: 'gone/r/1',
        tool: 't',
        inputDigest: 'd',
        startedAtMs: 1,
        callers,
      });
      const swept = await store.erase({
        erased: { hashes: new Set([erased]), runKeys: new Set(['gone/r']) },
        others: { hashes: new Set(), runKeys: new Set() },
        nowMs: Date.now() + 1_000,
        dryRun: false,
      });
      expect(swept).toMatchObject({
        nodes: { removed: 1, kept: 2 },
        blobs: { removed: 2, kept: 2 },
        toolRecords: { removed: 1, kept: 0 },
        shared: 1,
      });
      expect(await store.loadTranscript(other)).toHaveLength(1);
      expect((await store.getBlob(young)).toString()).toBe('in use');
      expect((await store.getBlob(stays)).equals(longer ?? Buffer.alloc(0))).toBe(true);
      expect(await store.hasBlob(old)).toBe(false);
    });

    it('keeps what is young, with everything that it builds on', async () => {
      const old = await chain(undefined, 'goal', 'answer');
      const blob = await store.putBlob('an output');
      await age();
      const [young = ''] = await chain(old[1], `more of ${blob}`);
      await store.beginTool({ key: 'new/r/1', tool: 't', inputDigest: 'd', startedAtMs: 1 });
      const planned = await sweep({ dryRun: true });
      expect(planned.toolRecords).toMatchObject({ removed: 0, kept: 1 });
      expect(await sweep()).toMatchObject({ nodes: { removed: 0 }, blobs: { removed: 0 } });
      await expect(store.loadTranscript(young)).resolves.toHaveLength(3);
    });

    it('keeps what was there already and is written again', async () => {
      const [head = ''] = await chain(undefined, 'goal');
      const text = 'x'.repeat(600_000);
      const blob = await store.putBlob(text);
      await age();
      expect(await store.appendNode(undefined, [said('goal')])).toBe(head);
      expect(await store.putBlob(text)).toBe(blob);
      expect(await sweep()).toMatchObject({ nodes: { removed: 0 }, chunks: { removed: 0 } });
      await expect(store.getBlob(blob)).resolves.toHaveLength(600_000);
    });

    it('keeps the tool records of retained runs, and the results that they name', async () => {
      const begin = async (run: string): Promise<string> => {
        const key = `${run}/call`;
        await store.beginTool({ key, tool: 'pay', inputDigest: 'd', startedAtMs: 1 });
        const result = await store.putBlob(`result of ${run}`);
        await store.finishTool(key, JSON.stringify({ result }));
        return result;
      };
      const kept = await begin('run "one"/first');
      const callers = [{ key: 'three/first/call', iteration: 1 }];
      const below = { key: 'four/first/c', tool: 'pay', inputDigest: 'd', startedAtMs: 1, callers };
      await store.beginTool(below);
      const lost = await begin('two/first');
      await age();
      const swept = await sweep({
        runKeys: new Set(['run "one"/first', 'three/first']),
      });
      expect(swept.toolRecords).toMatchObject({ removed: 1, kept: 2 });
      await expect(store.getBlob(kept)).resolves.toBeDefined();
      await expect(store.getBlob(lost)).rejects.toThrow(/missing/);
    });

    it('beside writers that write the same content again loses nothing that they wrote', async () => {
      const texts = Array.from({ length: 12 }, (_, index) => `text ${index}`);
      const writers = [
        store,
        await openStore(url, engine.options),
        await openStore(url, engine.options),
      ];
      for (let round = 0; round < 6; round += 1) {
        await age();
        const [heads] = await Promise.all([
          Promise.all(
            writers.map(async (writer) => {
              let head: string | undefined;
              for (const text of texts) {
                await writer.putBlob(text.repeat(100));
                head = await writer.appendNode(head, [said(text)]);
              }
              return head ?? '';
            }),
          ),
          ...writers.map(() => sweep()),
        ]);
        const reader = await openStore(url, engine.options);
        expect(new Set(heads).size).toBe(1);
        await expect(reader.loadTranscript(heads[0] ?? '')).resolves.toHaveLength(texts.length);
        await reader.close();
      }
      await Promise.all(writers.slice(1).map((writer) => writer.close()));
    });
  });
}
