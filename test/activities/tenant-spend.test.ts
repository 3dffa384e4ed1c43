/** Which requests the cap of a tenant's day admits, holds back and refuses, and what is counted of those that are sent. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { ApplicationFailure } from '@temporalio/common';
import { boundaryFailure } from '../../activities/lifecycle/error-mapping';
import { CallMeter, firstReading } from '../../activities/model-call/call-meter';
import type { Payer } from '../../activities/model-call/tenant-spend';
import { admission, withinTenantCaps } from '../../activities/model-call/tenant-spend';
import { cappedTenant, checkTenantCaps } from '../../activities/definitions/tenant-caps';
import type { TenantDay } from '../../activities/stores/tenants/tenant-usage';
import { newDay } from '../../activities/stores/tenants/tenant-usage';
import type { ModelPrice } from '../../workflows/core/budget/spend';
import { boundOf, noUsage } from '../../workflows/core/budget/spend';
import type { ModelReply } from '../../activities/providers/provider';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const price: ModelPrice = { input: 1, cacheRead: 1, cacheWrite: 1, output: 1 };
// With the margin: 1,300 + 64 tokens of input.
const request = { measure: { tokens: 1_000, countedTokens: 0 }, price, maxOutputTokens: 500 };
const whole = 1_864;
const noon = Date.parse('2026-11-29T12:00:00Z');

function dayWith(spent: number, ...held: number[]): TenantDay {
  return {
    ...newDay('acme', '2026-11-29'),
    spent: { nanoUsd: spent * 1_000, tokens: spent },
    held: Object.fromEntries(
      held.map((tokens, n) => [
        `call-${n}`,
        { nanoUsd: tokens * 1_000, tokens, id: 'id', untilMs: 0 },
      ]),
    ),
  };
}

describe('a request of a capped tenant', () => {
  const cap = { tokens: 4_000 };

  test('is sent whole, and holds its worst case', () => {
    const most = { nanoUsd: whole * 1_000, tokens: whole };
    expect(admission(request, cap, dayWith(4_000 - whole))).toEqual({ maxOutputTokens: 500, most });
    expect(admission(request, { nanoUsd: 4_000_000 }, dayWith(0, 2_000))).toMatchObject({ most });
  });

  test('waits while others hold what it may take, and is not cut for them', () => {
    const { refusal, most } = admission(request, cap, dayWith(0, 2_000, 1_000));
    expect(most).toBeUndefined();
    expect(refusal).toMatchObject({ waits: true });
    expect(admission(request, cap, dayWith(2_500, 1)).refusal).toMatchObject({ waits: true });
  });

  test('gets a smaller reply for what is left, and then is refused', () => {
    const { maxOutputTokens, most } = admission(request, cap, dayWith(4_000 - whole + 100));
    expect([maxOutputTokens, most?.tokens]).toEqual([400, whole - 100]);
    const { refusal } = admission(request, cap, dayWith(3_000));
    expect(refusal).toEqual({
      waits: false,
      message: 'the next model call may take 1620 tokens, and only 1000 are left',
    });
  });

  test('is refused under a cap in money if its price is unknown', () => {
    const unpriced = { ...request, price: undefined };
    expect(admission(unpriced, { nanoUsd: 1e9 }, dayWith(0)).refusal?.message).toMatch(/price/);
    expect(admission(unpriced, { tokens: 9_000 }, dayWith(0)).most?.nanoUsd).toBe(0);
  });
});

describe('what is counted', () => {
  let stored: TemporaryStore;
  beforeEach(async () => {
    stored = await temporaryStore();
  });
  afterEach(() => stored.dispose());

  const meterOf = (): CallMeter =>
    new CallMeter({ allowance: undefined, ...firstReading, lostAttempts: 0 });
  const payer = (clock = (): number => noon): Payer => ({
    store: stored.store,
    capped: { tenant: 'acme', daily: { tokens: 4_000 } },
    clock,
    timeoutMs: 1_000,
  });
  const usage = async (day = '2026-11-29') => (await stored.store.tenants.usage(day))[0];
  const run = <Result>(work: () => Promise<Result>, attempt = 1): Promise<Result> =>
    new MockActivityEnvironment({ attempt }).run(work);
  const answered = { stopReason: 'end', usage: { ...noUsage, inputTokens: 900, outputTokens: 50 } };

  test('is what the request used, in the day in which it was sent', async () => {
    const meter = meterOf();
    await run(() =>
      withinTenantCaps(payer(), meter, request, (limited) => {
        meter.admit(limited);
        meter.sending(() => ({ reach: 'accepted', said: '' }));
        meter.chargeReply({ ...answered, blocks: [], toolCalls: [] } as unknown as ModelReply);
        return Promise.resolve();
      }),
    );
    expect(await usage()).toMatchObject({ spent: { tokens: 950 }, held: {}, requests: 1 });
    expect(await usage('2026-11-30')).toBeUndefined();
  });

  test('is the bound of a request that broke, and nothing of one that was never sent', async () => {
    const meter = meterOf();
    const broken = run(() =>
      withinTenantCaps(payer(), meter, request, (limited) => {
        meter.admit(limited);
        meter.sending(() => ({ reach: 'accepted', said: 'some words' }));
        meter.chargeBroken({ kind: 'infra', code: 'network', message: 'it broke' });
        return Promise.reject(new Error('it broke'));
      }),
    );
    await expect(broken).rejects.toThrow('it broke');
    const { tokens } = boundOf(meter.spend);
    expect(tokens).toBeGreaterThan(500);
    expect(await usage()).toMatchObject({ spent: { tokens }, held: {} });
    const unsent = run(() =>
      withinTenantCaps(payer(), meterOf(), request, () => Promise.reject(new Error('not sent'))),
    );
    await expect(unsent).rejects.toThrow('not sent');
    expect(await usage()).toMatchObject({ spent: { tokens }, held: {} });
  });

  const use = (tokens: number, clock?: () => number): Promise<unknown> => {
    const meter = meterOf();
    return run(() =>
      withinTenantCaps(payer(clock), meter, request, (limited) => {
        meter.admit(limited);
        const consumed = { ...noUsage, inputTokens: tokens };
        meter.sending(() => ({ reach: 'accepted', said: '' }));
        meter.chargeReply({
          ...answered,
          usage: consumed,
          blocks: [],
          toolCalls: [],
        } as unknown as ModelReply);
        return Promise.resolve('sent');
      }),
    );
  };

  test('ends the day of a tenant in words that name it, and the next day begins anew', async () => {
    for (let times = 3; times > 0; times -= 1) expect(await use(1_000)).toBe('sent');
    const refused = use(1_000);
    await expect(refused).rejects.toMatchObject({ failure: { code: 'tenant_cap' } });
    await expect(refused).rejects.toThrow(
      'the next model call may take 1620 tokens, and only 1000 are left; the cap of tenant "acme" for 2026-11-29 (UTC) is 4000 tokens. Go on after midnight UTC, or raise the cap (tenantCaps)',
    );
    expect(await use(1_000, () => noon + 43_200_000)).toBe('sent');
  });

  test('is asked for again by Temporal while other calls hold the rest', async () => {
    const held = { tenant: 'acme', day: '2026-11-29', call: 'other', id: '1', untilMs: noon + 1 };
    const most = { nanoUsd: 0, tokens: 3_000 };
    await stored.store.tenants.hold(held, noon, () => ({ most }));
    const refusal = await use(10).catch(boundaryFailure);
    expect(refusal).toBeInstanceOf(ApplicationFailure);
    expect(refusal).toMatchObject({ nonRetryable: false, nextRetryDelay: 1_000 });
    // Nobody reports it any more: it counts in full.
    const last = await use(10, () => noon + 1).catch(boundaryFailure);
    expect(last).toMatchObject({ nonRetryable: true, type: 'tenant_cap' });
  });
});

test("a tenant's own caps replace those of all, field by field", () => {
  const caps = { '*': { usd: 5, runs: 3 }, acme: { usd: 50, tokens: 7 } };
  expect(cappedTenant(caps, 'acme')).toEqual({
    tenant: 'acme',
    daily: { nanoUsd: 50e9, tokens: 7 },
    runs: 3,
  });
  expect(cappedTenant(caps)).toEqual({ tenant: 'default', daily: { nanoUsd: 5e9 }, runs: 3 });
  expect(cappedTenant({ acme: { runs: 1 } }, 'constructor')).toEqual({ tenant: 'constructor' });
  expect(cappedTenant(undefined, 'acme')).toEqual({ tenant: 'acme' });
});

test.each([
  [{ 'a b': { usd: 1 } }, /tenantCaps\.a b: name a tenant/],
  [{ acme: { usd: 0 } }, /tenantCaps\.acme\.usd/],
  [{ acme: { runs: 1_001 } }, /tenantCaps\.acme\.runs.*at most 1,000/],
  [{ acme: { money: 1 } }, /tenantCaps\.acme.*money/],
])('refuses caps that cannot work: %j', (caps, problem) => {
  expect(() => checkTenantCaps(caps as never)).toThrow(problem);
});
