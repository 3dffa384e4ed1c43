/** How each report changes what a tenant has used on a day, and the places of its runs. */
import {
  afterEnds,
  afterEntry,
  afterHold,
  afterRequest,
  beforeRequest,
  heldOf,
  isDay,
  isPlaces,
  newDay,
  utcDay,
  type RunPlace,
  type TenantRequest,
} from '../../activities/stores/tenants/tenant-usage';

const most = { nanoUsd: 100, tokens: 10 };
const fresh = newDay('acme', '2026-11-29');

function request(call: string, id = `${call}/1`, untilMs = 2_000): TenantRequest {
  return { tenant: 'acme', day: '2026-11-29', call, id, untilMs };
}
const place = (runId: string, sinceMs = 1, namespace = 'default'): RunPlace => ({
  ...{ namespace, runId, sinceMs },
});

const held = afterHold(fresh, request('a'), most);

test('a day is one of UTC', () => {
  expect(utcDay(Date.UTC(2026, 10, 29, 23, 59, 59, 999))).toBe('2026-11-29');
  expect(utcDay(Date.UTC(2026, 10, 30))).toBe('2026-11-30');
});

test('what requests may use is held, by their calls', () => {
  expect(held).toEqual({
    ...{ tenant: 'acme', day: '2026-11-29', spent: { nanoUsd: 0, tokens: 0 }, requests: 1 },
    held: { a: { ...most, id: 'a/1', untilMs: 2_000 } },
  });
  const both = afterHold(held, request('b'), { nanoUsd: 1, tokens: 2 });
  expect(both.requests).toBe(2);
  expect(heldOf(both)).toEqual({ nanoUsd: 101, tokens: 12 });
  expect(heldOf(fresh)).toEqual({ nanoUsd: 0, tokens: 0 });
});

describe('a request finds the day', () => {
  test('as it is while others are in flight', () => {
    expect(beforeRequest(held, request('b'), 1_999)).toEqual(held);
  });

  test('without its own hold, if it asks again', () => {
    expect(beforeRequest(held, request('a'), 1_000)).toEqual(fresh);
  });

  test('with what an earlier try of its call held as spent', () => {
    expect(beforeRequest(held, request('a', 'a/2'), 1_000)).toEqual({
      ...{ ...fresh, requests: 1, spent: most },
    });
  });

  test('with what is held for too long as spent', () => {
    const both = afterHold(held, request('b', 'b/1', 3_000), most);
    const later = beforeRequest(both, request('c'), 2_000);
    expect(later.spent).toEqual(most);
    expect(Object.keys(later.held)).toEqual(['b']);
    expect(later.requests).toBe(2);
  });
});

test('what a request has used is counted once, instead of what was held', () => {
  const used = { nanoUsd: 7, tokens: 3 };
  const after = afterRequest(held, request('a'), used);
  expect(after).toEqual({ ...fresh, requests: 1, spent: used });
  expect(afterRequest(after, request('a'), used)).toBe(after);
  expect(afterRequest(held, request('a', 'a/2'), used)).toBe(held);
});

describe('places', () => {
  const known = { tenant: 'acme', places: [place('one'), place('two')] };

  test('are given while there are some', () => {
    expect(afterEntry(known, place('three'), 3)?.places).toEqual([
      ...[place('one'), place('two'), place('three')],
    ]);
    expect(afterEntry(known, place('three'), 2)).toBeUndefined();
    expect(afterEntry(known, place('one', 5), 2)?.places).toEqual([place('two'), place('one', 5)]);
    expect(afterEntry(known, place('one', 1, 'other'), 2)).toBeUndefined();
  });

  test('are freed for runs that have ended, not for those that entered again', () => {
    expect(afterEnds(known, [place('one'), place('none')]).places).toEqual([place('two')]);
    for (const other of [place('one', 2), place('one', 1, 'other'), place('zero')])
      expect(afterEnds(known, [other])).toEqual(known);
    expect(afterEnds(known, []).places).toEqual(known.places);
  });

  test('and days are told from other records', () => {
    expect([isDay(held), isPlaces(known)]).toEqual([true, true]);
    expect([isDay(known), isPlaces(held)]).toEqual([false, false]);
    expect(isDay({ ...held, held: { a: most } })).toBe(false);
    expect(isDay({ ...held, spent: { tokens: 1 } })).toBe(false);
    expect(isPlaces({ ...known, places: [{ runId: 'r' }] })).toBe(false);
  });
});
