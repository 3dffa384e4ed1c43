/** What every store must do with the text of model calls in progress: pass it on while somebody watches, keep nothing else. */
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { TextPiece } from '../../workflows/core/model-call/live-text';
import type { ContractEngine } from './store-contract';
import { failureOf } from './store-contract';

const run = 'default/run-1';

function piece(number: number, call = 't1/1'): TextPiece {
  const text = `${call} says "${number}"\n\u0000`;
  return { call, number, iteration: 1, attempt: 1, route: 'a/b', offset: number, text };
}

/** Tests of live text on one engine. */
export function describeLiveTexts(name: string, engine: ContractEngine): void {
  describe(`${name}: the text of a model call in progress`, () => {
    let url: string;
    let worker: Store;
    let watcher: Store;
    beforeEach(async () => {
      url = await engine.newUrl();
      worker = await openStore(url, engine.options);
      watcher = await openStore(url, engine.options);
    });
    afterEach(() => Promise.all([worker.close(), watcher.close()]));

    it('is wanted while somebody looks at it, and gone when nobody has for a while', async () => {
      const { liveTexts } = worker;
      expect(await liveTexts.isWatched(run)).toBe(false);
      expect(await watcher.liveTexts.watch(run, undefined)).toEqual([]);
      expect(
        await Promise.all([run, 'default/run-2'].map((key) => liveTexts.isWatched(key))),
      ).toEqual([true, false]);
      await liveTexts.write(run, piece(1), true);
      await engine.execute(url, `UPDATE ${engine.table('text_watchers')} SET until_ms = 1`);
      expect(await liveTexts.isWatched(run)).toBe(false);
      // A process that watches something removes what nobody watches.
      await worker.liveTexts.watch('default/run-2', undefined);
      expect(await worker.liveTexts.watch(run, undefined)).toEqual([]);
    });

    it('comes in order behind what a watcher has, and as a whole to one that comes later', async () => {
      const { liveTexts } = worker;
      await watcher.liveTexts.watch(run, undefined);
      for (const number of [1, 2, 3]) await liveTexts.write(run, piece(number), number === 1);
      expect(await watcher.liveTexts.watch(run, undefined)).toEqual([1, 2, 3].map((n) => piece(n)));
      for (let number = 4; number <= 12; number += 1)
        await liveTexts.write(run, piece(number), false);
      const behind = await watcher.liveTexts.watch(run, { call: 't1/1', number: 3 });
      expect(behind.map(({ number }) => number)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
      // The first piece of the next attempt takes the place of all.
      await liveTexts.write(run, piece(1, 't1/2'), true);
      for (const cursor of [undefined, { call: 't1/1', number: 12 }])
        expect(await watcher.liveTexts.watch(run, cursor)).toEqual([piece(1, 't1/2')]);
    });

    it('goes to each of 250 watchers at once, each behind its own cursor', async () => {
      const runs = Array.from({ length: 250 }, (_, at) => `default/many-${at}`);
      await Promise.all(runs.map((key) => watcher.liveTexts.watch(key, undefined)));
      await Promise.all(
        runs.map((key, at) => worker.liveTexts.write(key, piece(1, `t${at}/1`), true)),
      );
      const answers = await Promise.all(
        runs.map((key, at) =>
          watcher.liveTexts.watch(key, at % 2 === 0 ? undefined : { call: `t${at}/1`, number: 1 }),
        ),
      );
      answers.forEach((answer, at) => {
        expect(answer).toEqual(at % 2 === 0 ? [piece(1, `t${at}/1`)] : []);
      });
    });

    it('goes with a sweep unless it is watched, and a damaged piece is none', async () => {
      const options = {
        roots: new Set<string>(),
        runKeys: new Set<string>(),
        graceMs: 0,
        nowMs: 0,
      };
      await watcher.liveTexts.watch(run, undefined);
      await worker.liveTexts.write(run, piece(1), true);
      await worker.liveTexts.write('default/unwatched', piece(1), true);
      await worker.sweep({ ...options, dryRun: false });
      expect(await watcher.liveTexts.watch('default/unwatched', undefined)).toEqual([]);
      expect(await watcher.liveTexts.watch(run, undefined)).toEqual([piece(1)]);
      for (const damaged of ['{"text', '{"text":7}']) {
        const sql = `UPDATE ${engine.table('text_pieces')} SET piece = '${damaged}'`;
        await engine.execute(url, sql);
        expect(await watcher.liveTexts.watch(run, undefined)).toEqual([]);
      }
    });

    it('fails for every watcher of a store that is closed', async () => {
      await watcher.close();
      const asked = [1, 2].map((n) => watcher.liveTexts.watch(`default/${n}`, undefined));
      for (const answer of asked) await failureOf(answer, 'store_unavailable');
    });
  });
}
