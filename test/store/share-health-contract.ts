/** What every store must do to share route health, whatever database keeps it. Run by one test file per engine. */
import { once } from 'node:events';
import type {
  HealthStore,
  ProbeRequest,
  RouteFailure,
  SharedHealth,
  Store,
} from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import { HealthLog } from './health-log';
import type { ContractEngine } from './store-contract';
import { startStoreProcess, type StoreProcess } from './store-process';
import { cases, fc } from '../support/properties';

const route = 'anthropic/claude';

function failure(change: Partial<RouteFailure> = {}): RouteFailure {
  return {
    route,
    reason: 'rate_limit',
    message: 'slow down',
    status: 'down',
    cooldownUntilMs: 1_060,
    probeFromMs: 1_030,
    atMs: 1_000,
    ...change,
  };
}

function request(holder: string, change: Partial<ProbeRequest> = {}): ProbeRequest {
  return { route, holder, atMs: 1_030, untilMs: 1_090, ...change };
}

/** Children that stand ready, so that they set off together. */
async function startTogether(
  count: number,
  args: (n: number) => readonly string[],
): Promise<readonly string[][]> {
  const children = Array.from({ length: count }, (_, n) => startStoreProcess(args(n)));
  await Promise.all(children.map(({ lines }) => once(lines, 'line')));
  const said = children.map(({ lines }) => {
    const heard: string[] = [];
    lines.on('line', (line) => heard.push(line));
    return heard;
  });
  for (const { child } of children) child.stdin?.write('\n');
  await Promise.all(children.map(ended));
  return said;
}

async function ended({ child, lines }: StoreProcess): Promise<void> {
  await Promise.all([once(child, 'exit'), once(lines, 'close')]);
}

const time = fc.integer({ min: 0, max: 40_000 });
const someRoute = fc.constantFrom('a/1', 'b/2');
const someHolder = fc.constantFrom('run 1', 'run 2', 'run 3');

/** One call of any method but `readHealth`, which can be made on every store. */
interface HealthCall {
  readonly show: string;
  readonly on: (store: HealthStore) => Promise<unknown>;
}

function anyCall<T>(
  name: string,
  given: fc.Arbitrary<T>,
  call: (store: HealthStore, given: T) => Promise<unknown>,
): fc.Arbitrary<HealthCall> {
  return given.map((value) => ({
    show: `${name} ${JSON.stringify(value)}`,
    on: (store) => call(store, value),
  }));
}

const anyFailure = fc
  .record({
    route: someRoute,
    reason: fc.constantFrom('rate_limit' as const, 'network' as const),
    message: fc.string({ unit: 'binary', maxLength: 5 }),
    status: fc.constantFrom('degraded' as const, 'down' as const),
    cooldownUntilMs: fc.oneof(fc.constant(0), time),
    probeFromMs: fc.oneof(fc.constant(0), time),
    atMs: time,
  })
  .chain((reported) => withHolder(reported));

const anySuccess = fc
  .record({ route: someRoute, startedAtMs: time, atMs: time })
  .chain((reported) => withHolder(reported));

/** Also without a holder, as most calls are no probes. */
function withHolder<T extends object>(reported: T): fc.Arbitrary<T & { holder?: string }> {
  return fc.option(someHolder, { nil: undefined }).map((holder) => {
    return holder === undefined ? reported : { ...reported, holder };
  });
}

const anyRequest = fc.record({ route: someRoute, holder: someHolder, atMs: time, untilMs: time });

const healthCall: fc.Arbitrary<HealthCall> = fc.oneof(
  anyCall('reportFailure', anyFailure, (store, given) => store.reportFailure(given)),
  anyCall('reportSuccess', anySuccess, (store, given) => store.reportSuccess(given)),
  anyCall('acquireProbe', anyRequest, (store, given) => store.acquireProbe(given)),
  anyCall('releaseProbe', anyRequest, (store, given) => store.releaseProbe(given)),
);

/** Registers the tests for one engine. */
export function describeSharedHealth(name: string, engine: ContractEngine): void {
  describe(`${name} store shares route health`, () => {
    const opened: Store[] = [];
    const open = async (url: string): Promise<Store> => {
      const store = await openStore(url, engine.options);
      opened.push(store);
      return store;
    };
    const fresh = async (): Promise<{ store: Store; url: string }> => {
      const url = await engine.newUrl();
      return { url, store: await open(url) };
    };
    const read = async (store: Store): Promise<SharedHealth | undefined> => {
      return (await store.readHealth([route]))[0];
    };
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
    });

    it('knows nothing of a route at first, and tells every worker what one reported', async () => {
      const { store, url } = await fresh();
      expect(await store.readHealth([route, 'openai/gpt'])).toEqual([]);
      expect(await store.readHealth([])).toEqual([]);
      const after = await store.reportFailure(failure());
      expect(after).toEqual({
        route,
        status: 'down',
        errorCount: 1,
        lastErrorReason: 'rate_limit',
        lastError: 'slow down',
        lastFailureAtMs: 1_000,
        cooldownUntilMs: 1_060,
        probeFromMs: 1_030,
      });
      const other = await open(url);
      await other.reportFailure(failure({ route: 'openai/gpt' }));
      const both = await other.readHealth(['openai/gpt', 'unknown/x', route]);
      expect(both.map((health) => health.route)).toEqual(['openai/gpt', route]);
      expect(both[1]).toEqual(after);
    });

    it('has what was reported after a restart, the lease included', async () => {
      const { store, url } = await fresh();
      await store.reportFailure(failure());
      expect(await store.acquireProbe(request('run 1'))).toBe(true);
      const before = await read(store);
      await store.close();
      const restarted = await open(url);
      expect(await read(restarted)).toEqual(before);
      expect(before?.probe).toEqual({ holder: 'run 1', untilMs: 1_090 });
      expect(await restarted.acquireProbe(request('run 2'))).toBe(false);
      expect(await restarted.acquireProbe(request('run 1'))).toBe(true);
    });

    it('never shortens a cooldown, and describes the failure that was reported last', async () => {
      const { store } = await fresh();
      await store.reportFailure(failure({ cooldownUntilMs: 9_000, probeFromMs: 8_000 }));
      const shorter = await store.reportFailure(
        failure({ reason: 'network', message: 'reset', status: 'degraded', atMs: 1_500 }),
      );
      expect(shorter).toMatchObject({ errorCount: 2, cooldownUntilMs: 9_000, probeFromMs: 8_000 });
      expect(shorter).toMatchObject({ status: 'degraded', lastErrorReason: 'network' });
      const older = await store.reportFailure(failure({ cooldownUntilMs: 9_500, atMs: 900 }));
      expect(older).toMatchObject({ errorCount: 3, cooldownUntilMs: 9_500, status: 'down' });
      expect(older.lastFailureAtMs).toBe(1_500);
    });

    it('is healthy again after a success, though not by one that began before the failure', async () => {
      const { store } = await fresh();
      const failed = await store.reportFailure(failure());
      await store.reportSuccess({ route, startedAtMs: 999, atMs: 2_000 });
      expect(await read(store)).toEqual(failed);
      await store.reportSuccess({ route, startedAtMs: 1_000, atMs: 2_000 });
      expect(await read(store)).toEqual({
        route,
        status: 'healthy',
        errorCount: 0,
        lastFailureAtMs: 1_000,
        lastSuccessAtMs: 2_000,
        cooldownUntilMs: 0,
        probeFromMs: 0,
      });
      expect(await store.reportFailure(failure({ atMs: 3_000 }))).toMatchObject({
        errorCount: 1,
        lastSuccessAtMs: 2_000,
      });
    });

    it('writes a success on a healthy route no more often than every 10 s', async () => {
      const { store } = await fresh();
      const successAt = async (atMs: number): Promise<number | undefined> => {
        await store.reportSuccess({ route, startedAtMs: atMs - 1, atMs });
        return (await read(store))?.lastSuccessAtMs;
      };
      expect(await successAt(1_000)).toBe(1_000);
      expect(await successAt(10_999)).toBe(1_000);
      expect(await successAt(11_000)).toBe(11_000);
      expect(await successAt(5_000)).toBe(11_000);
    });

    it('keeps any text of a route, a message and a holder, though not more than 500 characters of a message', async () => {
      const { store, url } = await fresh();
      const odd = 'a\0b\ud800"\'é\u202e';
      const change = { route: odd, message: odd, holder: odd };
      expect(await store.reportFailure(failure(change))).toMatchObject({ lastError: odd });
      expect(await store.acquireProbe(request(odd, { route: odd }))).toBe(true);
      const [health] = await (await open(url)).readHealth([odd]);
      expect(health).toMatchObject({ route: odd, lastError: odd, probe: { holder: odd } });
      const long = await store.reportFailure(failure({ message: 'x'.repeat(501) }));
      expect(long.lastError).toHaveLength(500);
    });

    it('refuses a time that is none, and records nothing', async () => {
      const { store } = await fresh();
      for (const cooldownUntilMs of [Number.NaN, Number.POSITIVE_INFINITY]) {
        await expect(store.reportFailure(failure({ cooldownUntilMs }))).rejects.toThrow(TypeError);
      }
      expect(await read(store)).toBeUndefined();
    });

    it('tells the time of its own database', async () => {
      const { store } = await fresh();
      expect(Math.abs((await store.now()) - Date.now())).toBeLessThan(60_000);
      expect(await store.now()).toBeGreaterThan(Date.UTC(2020, 0));
    });

    const hourMs = 3_600_000;
    it.each([1, 87_660])(
      'does not believe a report or a lease of a clock that was %i hours ahead, and forgets it',
      async (hours) => {
        const { store } = await fresh();
        const at = 1_000 + hours * hourMs;
        const ahead = { atMs: at, cooldownUntilMs: at + 60, probeFromMs: at + 30 };
        await store.reportFailure(failure(ahead));
        expect(
          await store.acquireProbe(request('run 1', { atMs: at + 30, untilMs: at + 90 })),
        ).toBe(true);
        expect(await store.acquireProbe(request('run 2'))).toBe(true);
        const after = await store.reportFailure(failure({ holder: 'run 2' }));
        expect(after).toMatchObject({
          errorCount: 1,
          cooldownUntilMs: 1_060,
          lastFailureAtMs: 1_000,
        });
        await store.reportFailure(failure(ahead));
        await store.reportSuccess({ route, startedAtMs: 1_100, atMs: 1_200 });
        expect(await read(store)).toMatchObject({ status: 'healthy', lastSuccessAtMs: 1_200 });
      },
    );

    it('counts each of 100 failures that are reported at once', async () => {
      const { store, url } = await fresh();
      const stores = [store, await open(url), await open(url), await open(url)];
      const counts = await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const change = { cooldownUntilMs: 2_000 + ((n * 37) % 100), atMs: 1_000 + n };
          return (await stores[n % 4]?.reportFailure(failure(change)))?.errorCount;
        }),
      );
      expect(new Set(counts).size).toBe(100);
      expect(await read(store)).toMatchObject({
        errorCount: 100,
        cooldownUntilMs: 2_099,
        lastFailureAtMs: 1_099,
      });
    });

    describe('probe', () => {
      it('is for one of 50 who ask at once, of a known route and of an unknown one', async () => {
        const { store, url } = await fresh();
        const stores = [store, await open(url), await open(url)];
        await store.reportFailure(failure());
        for (const asked of [route, 'unknown/x']) {
          const granted = await Promise.all(
            Array.from({ length: 50 }, (_, n) => {
              const one = stores[n % 3] ?? store;
              return one.acquireProbe(request(`run ${n}`, { route: asked }));
            }),
          );
          expect(granted.filter(Boolean)).toHaveLength(1);
          const [health] = await store.readHealth([asked]);
          expect(health?.probe?.holder).toBe(`run ${granted.indexOf(true)}`);
        }
      });

      it('waits until probing may begin, also for who has read an older record', async () => {
        const { store } = await fresh();
        await store.reportFailure(failure());
        expect(await store.acquireProbe(request('run 1', { atMs: 1_029 }))).toBe(false);
        expect(await store.acquireProbe(request('run 1', { atMs: 1_030 }))).toBe(true);
        const again = { cooldownUntilMs: 1_100, probeFromMs: 1_070, atMs: 1_031 };
        await store.reportFailure(failure({ ...again, holder: 'run 1' }));
        expect(await store.acquireProbe(request('run 2', { atMs: 1_031 }))).toBe(false);
        expect(await store.acquireProbe(request('run 2', { atMs: 1_070 }))).toBe(true);
      });

      it('passes on when its lease expires, and not before', async () => {
        const { store } = await fresh();
        expect(await store.acquireProbe(request('run 1'))).toBe(true);
        expect(await store.acquireProbe(request('run 2', { atMs: 1_089 }))).toBe(false);
        const late = { atMs: 1_090, untilMs: 1_150 };
        expect(await store.acquireProbe(request('run 2', late))).toBe(true);
        expect(await store.acquireProbe(request('run 1', late))).toBe(false);
      });

      it('may be taken again by its holder, for longer, though others failed meanwhile', async () => {
        const { store } = await fresh();
        expect(await store.acquireProbe(request('run 1'))).toBe(true);
        await store.reportFailure(failure({ probeFromMs: 5_000, holder: 'run 2' }));
        const again = { atMs: 1_080, untilMs: 1_200 };
        expect(await store.acquireProbe(request('run 1', again))).toBe(true);
        expect((await read(store))?.probe).toEqual({ holder: 'run 1', untilMs: 1_200 });
      });

      it('ends when its holder gives it back, and nothing else changes', async () => {
        const { store } = await fresh();
        const before = await store.reportFailure(failure());
        expect(await store.acquireProbe(request('run 1'))).toBe(true);
        await store.releaseProbe({ route, holder: 'run 2' });
        expect(await store.acquireProbe(request('run 2'))).toBe(false);
        await store.releaseProbe({ route, holder: 'run 1' });
        expect(await read(store)).toEqual(before);
        expect(await store.acquireProbe(request('run 2'))).toBe(true);
      });

      it('ends with the report of its holder, or any success that counts', async () => {
        const { store } = await fresh();
        const isHeld = async (): Promise<boolean> => (await read(store))?.probe !== undefined;
        const free = { cooldownUntilMs: 0, probeFromMs: 0 };
        await store.acquireProbe(request('run 1'));
        await store.reportFailure(failure(free));
        await store.reportFailure(failure({ ...free, holder: 'run 2' }));
        await store.reportSuccess({ route, startedAtMs: 1, holder: 'run 2', atMs: 1_100 });
        expect(await isHeld()).toBe(true);
        await store.reportFailure(failure({ ...free, holder: 'run 1' }));
        expect(await isHeld()).toBe(false);

        await store.acquireProbe(request('run 1'));
        await store.reportSuccess({ route, startedAtMs: 1, holder: 'run 1', atMs: 1_100 });
        expect(await read(store)).toMatchObject({ errorCount: 3 });
        expect(await isHeld()).toBe(false);

        await store.acquireProbe(request('run 1'));
        await store.reportSuccess({ route, startedAtMs: 1_050, atMs: 1_100 });
        expect(await isHeld()).toBe(false);
        await store.acquireProbe(request('run 1'));
        await store.reportSuccess({ route, startedAtMs: 1_101, atMs: 1_102 });
        expect(await isHeld()).toBe(false);
      });
    });

    it('agrees with the log of what was reported, over any sequence', async () => {
      const { store, url } = await fresh();
      const other = await open(url);
      await fc.assert(
        fc.asyncProperty(fc.array(healthCall, { maxLength: 25 }), async (calls) => {
          await engine.execute(url, `DELETE FROM ${engine.table('route_health')}`);
          const log = new HealthLog();
          for (const [at, call] of calls.entries()) {
            const answer = await call.on(at % 2 === 0 ? store : other);
            expect(answer).toEqual(await call.on(log));
            const routes = ['a/1', 'b/2'];
            expect(await store.readHealth(routes)).toEqual(await log.readHealth(routes));
          }
        }),
        cases(40),
      );
    });

    describe('record', () => {
      it('that was damaged counts as none, and is replaced by the next report', async () => {
        const { store, url } = await fresh();
        const table = engine.table('route_health');
        for (const change of [
          ...(engine.options === undefined ? [`record = REPLACE(record, '1060', '9060')`] : []),
          `record = substr(record, 1, length(record) - 8)`,
          `record = '?'`,
          `record_sum = ''`,
          `record = ''`,
        ]) {
          await store.reportFailure(failure());
          await engine.execute(url, `UPDATE ${table} SET ${change}`);
          expect(await read(store)).toBeUndefined();
          expect(await store.reportFailure(failure())).toMatchObject({ errorCount: 1 });
          await store.reportSuccess({ route, startedAtMs: 1_001, atMs: 1_002 });
        }
      });

      it('of another route is not taken for this one', async () => {
        const { store, url } = await fresh();
        const table = engine.table('route_health');
        await store.reportFailure(failure());
        await store.reportSuccess({ route: 'openai/gpt', startedAtMs: 1, atMs: 2 });
        await engine.execute(
          url,
          `UPDATE ${table} SET record = (SELECT MAX(record) FROM ${table}),
             record_sum = (SELECT record_sum FROM ${table} ORDER BY record DESC LIMIT 1)`,
        );
        expect(await store.readHealth([route, 'openai/gpt'])).toHaveLength(1);
      });
    });

    describe('over processes', () => {
      it('gives each route to one of four probers, and counts every failure of all', async () => {
        const { store, url } = await fresh();
        const said = await startTogether(4, () => [url, 'probe', '60']);
        const won = said.flat();
        expect(won).toHaveLength(60);
        expect(new Set(won).size).toBe(60);
        expect(await read(store)).toBeUndefined();
        const [shared] = await store.readHealth(['shared/route']);
        expect(shared).toMatchObject({ errorCount: 240 });
      });

      it('keeps the lease of a prober that was killed until it expires', async () => {
        const { store, url } = await fresh();
        const prober = startStoreProcess([url, 'hold', route]);
        const [line] = (await once(prober.lines, 'line')) as [string];
        expect(line).toBe('true');
        prober.child.kill('SIGKILL');
        await ended(prober);
        expect(await store.acquireProbe(request('survivor', { atMs: 1_999 }))).toBe(false);
        const late = { atMs: 2_000, untilMs: 3_000 };
        expect(await store.acquireProbe(request('survivor', late))).toBe(true);
      });
    });
  });
}
