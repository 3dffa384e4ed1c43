/** What every store must do to count for the caps of tenants, whatever database keeps it. Run by one test file per engine. */
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type {
  RunPlace,
  TenantAmount,
  TenantDay,
  TenantRequest,
} from '../../activities/stores/tenants/tenant-usage';
import { heldOf } from '../../activities/stores/tenants/tenant-usage';
import type { ContractEngine } from './store-contract';
import { cases, fc } from '../support/properties';

const day = '2026-11-29';
const most: TenantAmount = { nanoUsd: 100, tokens: 10 };

function request(call: string, change: Partial<TenantRequest> = {}): TenantRequest {
  return { tenant: 'acme', day, call, id: `${call}/1`, untilMs: 2_000, ...change };
}

function place(runId: string, sinceMs = 1): RunPlace {
  return { namespace: 'default', runId, sinceMs };
}

/** What happens to one call of a tenant: tries, each of which is reported or lost, and then reported again when the next one has begun. */
const anyCall = fc.record({
  tenant: fc.constantFrom('acme', 'other'),
  tries: fc.array(
    fc.record({
      end: fc.constantFrom('reported', 'lost'),
      isRepeated: fc.boolean(),
      used: fc.record({ nanoUsd: fc.nat(100), tokens: fc.nat(10) }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

interface Try {
  readonly end: string;
  readonly isRepeated: boolean;
  readonly used: TenantAmount;
}

/** Plays the tries of a call, each of which also reports the one before again; returns what they must count for. */
async function playTries(
  store: Store,
  call: Pick<TenantRequest, 'tenant' | 'call'>,
  tries: readonly Try[],
): Promise<number> {
  let counted = 0;
  for (const [n, { end, isRepeated, used }] of tries.entries()) {
    const asked = request('', { ...call, id: `${n}` });
    const times = isRepeated ? [1, 2] : [1];
    for (const time of times) await store.tenants.hold(asked, 1_000 + time, () => ({ most }));
    await store.tenants.settle({ ...asked, id: `${n - 1}` }, { nanoUsd: 999, tokens: 999 });
    if (end === 'reported') await Promise.all(times.map(() => store.tenants.settle(asked, used)));
    counted += end === 'reported' ? used.nanoUsd : most.nanoUsd;
  }
  return counted;
}

/** The tests of tenants' counts on one engine. */
export function describeTenants(name: string, engine: ContractEngine): void {
  describe(`counts of tenants on ${name}`, () => {
    let url: string;
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = await openStore(url, engine.options);
      opened.push(store);
      return store;
    };
    const usageOf = async (store: Store, tenant = 'acme') => {
      const found = (await store.tenants.usage(day)).find((each) => each.tenant === tenant);
      return { spent: found?.spent, held: found && heldOf(found), requests: found?.requests };
    };
    const hold = (store: Store, asked: TenantRequest, atMs = 1_000): Promise<unknown> =>
      store.tenants.hold(asked, atMs, () => ({ most }));

    beforeEach(async () => {
      url = await engine.newUrl();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
    });

    it('holds the most before a request, and counts what it used after it, once', async () => {
      const store = await open();
      await hold(store, request('call'));
      await hold(store, request('call'));
      expect(await usageOf(store)).toEqual({
        spent: { nanoUsd: 0, tokens: 0 },
        held: most,
        requests: 1,
      });
      const used = { nanoUsd: 7, tokens: 3 };
      await store.tenants.settle(request('call'), used);
      await store.tenants.settle(request('call'), used);
      const after = { spent: used, held: { nanoUsd: 0, tokens: 0 }, requests: 1 };
      expect(await usageOf(store)).toEqual(after);
      expect(await usageOf(await open())).toEqual(after);
      expect(await store.tenants.usage('2026-11-30')).toEqual([]);
    });

    it('counts a lost request in full once its call asks again, and hears no late report', async () => {
      const store = await open();
      await hold(store, request('call'));
      await hold(store, request('call', { id: 'call/2' }));
      expect(await usageOf(store)).toEqual({ spent: most, held: most, requests: 2 });
      await store.tenants.settle(request('call'), { nanoUsd: 1, tokens: 1 });
      expect(await usageOf(store)).toEqual({ spent: most, held: most, requests: 2 });
    });

    it('counts what is held in full when its time is over', async () => {
      const store = await open();
      await hold(store, request('dead'));
      const seen: TenantDay[] = [];
      await store.tenants.hold(request('next'), 2_000, (found) => {
        seen.push(found);
        return {};
      });
      expect(seen.at(-1)).toMatchObject({ spent: most, held: {} });
      await store.tenants.settle(request('dead'), { nanoUsd: 1, tokens: 1 });
      expect(await usageOf(store)).toMatchObject({ spent: most });
    });

    it('holds nothing where the decision is against it', async () => {
      const store = await open();
      await store.tenants.hold(request('call'), 1_000, () => ({}));
      expect(await usageOf(store)).toMatchObject({ held: undefined });
    });

    it('never admits more than a cap, and ends with the sum of all calls, from four connections at once', async () => {
      const stores = await Promise.all([open(), open(), open(), open()]);
      const calls = Array.from({ length: 40 }, (_, n) => request(`call ${n}`));
      const admitted = await Promise.all(
        calls.map(async (call, n) => {
          const store = stores[n % stores.length] as Store;
          const { most: granted } = await store.tenants.hold(call, 1_000, (found) => ({
            ...(found.spent.tokens + heldOf(found).tokens + most.tokens <= 100 ? { most } : {}),
          }));
          if (granted !== undefined) await store.tenants.settle(call, { nanoUsd: n, tokens: 10 });
          return granted === undefined ? [] : [n];
        }),
      );
      const sum = admitted.flat().reduce((total, n) => total + n, 0);
      expect(admitted.flat()).toHaveLength(10);
      expect(await usageOf(stores[0])).toEqual({
        spent: { nanoUsd: sum, tokens: 100 },
        held: { nanoUsd: 0, tokens: 0 },
        requests: 10,
      });
    });

    it('is the sum of all requests, whatever is retried, lost or late', async () => {
      const store = await open();
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(anyCall, { maxLength: 5 }), async (calls) => {
          run += 1;
          const expected = new Map<string, number>();
          for (const [at, { tenant, tries }] of calls.entries()) {
            const name = `${tenant}-${run}`;
            const counted = await playTries(store, { tenant: name, call: `${run}/${at}` }, tries);
            expected.set(name, (expected.get(name) ?? 0) + counted);
          }
          for (const [tenant, nanoUsd] of expected) {
            const { spent, held } = await usageOf(store, tenant);
            expect((spent?.nanoUsd ?? 0) + (held?.nanoUsd ?? 0)).toBe(nanoUsd);
          }
        }),
        cases(30),
      );
    });

    it('gives as many runs a place as there are, and a run that has one keeps it', async () => {
      const [one, two] = [await open(), await open()];
      const entered = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          (n % 2 === 0 ? one : two).tenants.enter('acme', place(`run ${n}`), 5),
        ),
      );
      expect(entered.filter((taken) => taken === undefined)).toHaveLength(5);
      const [taken = []] = entered.filter((others) => others !== undefined);
      const [first] = taken;
      expect(taken).toHaveLength(5);
      expect(await two.tenants.enter('acme', first ?? place('none'), 5)).toBeUndefined();
      expect(await two.tenants.enter('other', place('run 0'), 5)).toBeUndefined();
      await one.tenants.leave('acme', taken.slice(1, 3));
      expect(await two.tenants.enter('acme', place('late 1'), 5)).toBeUndefined();
      expect(await two.tenants.enter('acme', place('late 2'), 5)).toBeUndefined();
      expect(await one.tenants.enter('acme', place('late 3'), 5)).toHaveLength(5);
    });

    it('does not free the place of a run that has begun again with the same id', async () => {
      const store = await open();
      await store.tenants.enter('acme', place('run', 1), 1);
      await store.tenants.enter('acme', place('run', 2), 1);
      await store.tenants.leave('acme', [place('run', 1)]);
      expect(await store.tenants.enter('acme', place('other'), 1)).toEqual([place('run', 2)]);
      await store.tenants.leave('acme', [place('run', 2)]);
      expect(await store.tenants.enter('acme', place('other'), 1)).toBeUndefined();
    });

    it('forgets a tenant, and no other one', async () => {
      const store = await open();
      for (const tenant of ['acme', 'other']) {
        await hold(store, request('call', { tenant }));
        await store.tenants.enter(tenant, place('run'), 1);
      }
      expect(await store.tenants.erase('acme', true)).toBe(2);
      expect(await store.tenants.erase('acme', false)).toBe(2);
      expect((await store.tenants.usage(day)).map(({ tenant }) => tenant)).toEqual(['other']);
      expect(await store.tenants.enter('acme', place('next'), 1)).toBeUndefined();
      expect(await store.tenants.enter('other', place('next'), 1)).toHaveLength(1);
    });
  });
}
