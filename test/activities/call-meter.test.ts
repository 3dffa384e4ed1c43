/** What a call is charged for requests without a complete reply: what is known, what is expected, what is possible. */
import { CallMeter, firstReading } from '../../activities/model-call/call-meter';
import type { MeterStart } from '../../activities/model-call/call-meter';
import { readMemory } from '../../activities/model-call/attempt-memory';
import type { BrokenReply } from '../../activities/providers/provider';
import type { CallSpend, ModelPrice } from '../../workflows/core/budget/spend';
import { boundOf, costNanoUsd, noUsage, spendOf } from '../../workflows/core/budget/spend';
import type { FailoverReason } from '../../workflows/core/limits';

const price: ModelPrice = { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 };
const request = { measure: { tokens: 1_000, countedTokens: 0 }, price, maxOutputTokens: 500 };
/** The request's own reply, with its last words. */
const reported = { ...noUsage, inputTokens: 980, outputTokens: 3 };
const said = 'one two three four five';
/** Counted with the o200k table. */
const saidTokens = 5;

function meterOf(start: Partial<MeterStart> = {}): CallMeter {
  return new CallMeter({ allowance: undefined, ...firstReading, lostAttempts: 0, ...start });
}

function sentWith(progress: BrokenReply, start: Partial<MeterStart> = {}): CallMeter {
  const meter = meterOf(start);
  meter.admit(request);
  meter.sending(() => progress);
  return meter;
}

function failed(code: FailoverReason): { kind: 'infra'; code: FailoverReason; message: string } {
  return { kind: 'infra', code, message: 'it broke' };
}

const knownOf = ({ nanoUsd = 0, estimated }: CallSpend): number =>
  nanoUsd - (estimated?.nanoUsd ?? 0);

describe('a broken request', () => {
  test('costs its input and what arrived, and at most its whole reply', () => {
    const meter = sentWith({ reach: 'accepted', said });
    meter.chargeBroken(failed('network'));
    const { usage, nanoUsd } = meter.spend;
    expect(usage).toEqual({ ...noUsage, inputTokens: 1_000, outputTokens: saidTokens });
    expect(nanoUsd).toBe(1_000 * 3_000 + saidTokens * 15_000);
    expect(knownOf(meter.spend)).toBe(0);
    // 1,000 tokens with a margin of 30 % and 64, at the price of a cache write.
    expect(boundOf(meter.spend).nanoUsd).toBe(1_364 * 3_750 + 500 * 15_000);
  });

  test('has a known part if the vendor reported one, which also bounds its input exactly', () => {
    const meter = sentWith({ reach: 'accepted', usage: reported, said });
    meter.chargeBroken(failed('network'));
    expect(knownOf(meter.spend)).toBe(980 * 3_000);
    expect(meter.spend.nanoUsd).toBe(980 * 3_000 + saidTokens * 15_000);
    expect(boundOf(meter.spend)).toEqual({ nanoUsd: 980 * 3_000 + 500 * 15_000, tokens: 1_480 });
  });

  test('is read from the cache as far as the vendor counted it before', () => {
    const meter = meterOf();
    meter.admit({ ...request, measure: { tokens: 3_000, countedTokens: 2_000 } });
    meter.sending(() => ({ reach: 'unanswered', said: '' }));
    meter.chargeBroken(failed('network'));
    expect(meter.spend.usage).toEqual({ ...noUsage, inputTokens: 1_000, cacheReadTokens: 2_000 });
  });

  test.each([
    ['whose answer was lost on the way', 'unanswered', 'network', true],
    ['that never left', 'unsent', 'network', false],
    ['that the vendor refused', 'refused', 'overloaded', false],
    ["that a gateway's deadline ended", 'refused', 'timeout', true],
    ['that stalled', 'unanswered', 'timeout', true],
    ['that broke inside its stream', 'accepted', 'overloaded', true],
  ] as const)('%s: charged or not', (_what, reach, code, isCharged) => {
    const meter = sentWith({ reach, said: '' });
    meter.chargeBroken(failed(code));
    expect(meter.spent().spend?.nanoUsd).toBe(isCharged ? 3_000_000 : undefined);
  });

  test('with an unknown price has tokens, and no cost', () => {
    const meter = meterOf();
    meter.admit({ ...request, price: undefined });
    meter.sending(() => ({ reach: 'accepted', said }));
    meter.chargeBroken(undefined);
    expect(meter.spend.nanoUsd).toBeUndefined();
    expect(boundOf(meter.spend).tokens).toBe(1_364 + 500);
  });
});

describe('a worker that died', () => {
  test('leaves what its last heartbeat reported about the request in flight', () => {
    const first = sentWith({ reach: 'accepted', usage: reported, said });
    const memory = readMemory(JSON.parse(JSON.stringify(first.reading())));
    expect(memory).toMatchObject({ sent: 1, spend: { nanoUsd: 0 } });
    const { spend, open, sent } = memory;
    const next = meterOf({ spend, sent, ...(open === undefined ? {} : { open }) });
    expect(next.spend.nanoUsd).toBe(980 * 3_000 + saidTokens * 15_000);
    expect(boundOf(next.spend).nanoUsd).toBe(980 * 3_000 + 500 * 15_000);
    expect(next.beyondReply()).toEqual({ spend: next.spend });
  });

  test('before its first heartbeat is charged like the next request, whether that is sent or not', () => {
    const meter = meterOf({ lostAttempts: 2 });
    expect(meter.spent()).toEqual({});
    meter.chargeLost(request);
    expect(meter.spend.nanoUsd).toBe(2 * 3_000_000);
    expect(meter.lostAttempts).toBe(0);
    meter.chargeLost(request);
    expect(meter.spend.nanoUsd).toBe(2 * 3_000_000);
  });

  test('could spend no more than its call', () => {
    const allowance = { nanoUsd: 10_000_000 };
    const meter = meterOf({ lostAttempts: 5, allowance });
    meter.chargeLost(request);
    expect(boundOf(meter.spend).nanoUsd).toBeLessThanOrEqual(allowance.nanoUsd);
    expect(() => meter.admit(request)).toThrow('the next model call may take');
  });

  test('between two parts: the kept one settles its request, and the next one is charged as lost', () => {
    const open = sentWith({ reach: 'accepted', said: '' }).reading();
    const kept = { spend: spendOf({ ...noUsage, inputTokens: 900 }, price), sent: 1 };
    const meter = meterOf(open);
    meter.resume(kept);
    expect(meter.spend).toEqual(kept.spend);
    meter.chargeLost(request);
    expect(meter.spend.nanoUsd).toBe(costNanoUsd(price, { ...noUsage, inputTokens: 1_900 }));
  });

  test('in the second part, which its heartbeat reported: nothing counts twice', () => {
    const first = { ...spendOf({ ...noUsage, inputTokens: 900 }, price) };
    const meter = meterOf({ spend: first, sent: 2, open: spendOf(reported, price) });
    meter.resume({ spend: first, sent: 1 });
    meter.chargeLost(request);
    expect(meter.spend.nanoUsd).toBe(900 * 3_000 + costNanoUsd(price, reported));
  });
});
