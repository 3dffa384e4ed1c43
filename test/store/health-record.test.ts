/** How reports and probes change the health of a route that runs share. */
import {
  afterFailure,
  afterProbeRequest,
  afterSuccess,
  believed,
  holdsProbe,
  initialHealth,
  withoutProbeOf,
} from '../../activities/stores/content/health-record';
import type { RouteFailure, SharedHealth } from '../../activities/stores/store';

const atMs = 1_000_000;
const route = 'p/m';
const fresh = initialHealth(route);

function failureAt(failedAtMs: number, changes: Partial<RouteFailure> = {}): RouteFailure {
  return {
    ...{ route, status: 'rate_limited', reason: 'rate_limit', message: 'too many' },
    ...{ atMs: failedAtMs, cooldownUntilMs: failedAtMs + 60_000, probeFromMs: failedAtMs + 30_000 },
    ...changes,
  } as RouteFailure;
}

const failed = afterFailure(fresh, failureAt(atMs));
const probe = { holder: 'me', untilMs: atMs + 5_000 };

test('a failure is counted and described', () => {
  expect(failed).toEqual({
    ...{ route, status: 'rate_limited', errorCount: 1, lastErrorReason: 'rate_limit' },
    ...{ lastError: 'too many', lastFailureAtMs: atMs },
    ...{ cooldownUntilMs: atMs + 60_000, probeFromMs: atMs + 30_000 },
  });
  const older = afterFailure(failed, failureAt(atMs - 10));
  expect(older).toMatchObject({ errorCount: 2, lastFailureAtMs: atMs });
  expect(older).toMatchObject({ cooldownUntilMs: atMs + 60_000, probeFromMs: atMs + 30_000 });
  const newer = afterFailure(failed, failureAt(atMs + 10));
  expect(newer).toMatchObject({ lastFailureAtMs: atMs + 10, cooldownUntilMs: atMs + 60_010 });
});

test('a failure ends the lease of who reports it, and of nobody else', () => {
  const probed = { ...failed, probe };
  expect(afterFailure(probed, failureAt(atMs, { holder: 'me' })).probe).toBeUndefined();
  expect(afterFailure(probed, failureAt(atMs, { holder: 'another' })).probe).toEqual(probe);
  expect(withoutProbeOf(probed, undefined)).toBe(probed);
});

describe('a success', () => {
  const success = { route, startedAtMs: atMs + 1, atMs: atMs + 2, holder: 'me' };

  test('that began after the failure clears the record', () => {
    expect(afterSuccess({ ...failed, probe }, success)).toEqual({
      ...fresh,
      ...{ lastFailureAtMs: atMs, lastSuccessAtMs: atMs + 2 },
    });
    expect(afterSuccess(failed, { ...success, startedAtMs: atMs }).status).toBe('healthy');
  });

  test('that began before the failure only ends its own lease', () => {
    const early = { ...success, startedAtMs: atMs - 1 };
    expect(afterSuccess({ ...failed, probe }, early)).toEqual(failed);
  });

  test('of a healthy route is written every ten seconds', () => {
    const first = afterSuccess(fresh, success);
    expect(first.lastSuccessAtMs).toBe(atMs + 2);
    const soon = { ...success, atMs: atMs + 10_001 };
    expect(afterSuccess(first, soon)).toBe(first);
    const due = { ...success, atMs: atMs + 10_002 };
    expect(afterSuccess(first, due).lastSuccessAtMs).toBe(atMs + 10_002);
    const probed = { ...first, probe };
    expect(afterSuccess(probed, soon)).toMatchObject({ lastSuccessAtMs: atMs + 10_001 });
    expect(afterSuccess(probed, { ...success, atMs }).lastSuccessAtMs).toBe(atMs + 2);
  });
});

describe('a probe', () => {
  const request = { route, holder: 'me', atMs: atMs + 30_000, untilMs: atMs + 35_000 };
  const granted = afterProbeRequest(failed, request);

  test('is leased from when probing may begin', () => {
    expect(granted.probe).toEqual({ holder: 'me', untilMs: atMs + 35_000 });
    const early = afterProbeRequest(failed, { ...request, atMs: atMs + 29_999 });
    expect(early).toBe(failed);
  });

  test('is leased to one at a time, until the lease ends', () => {
    const other = { ...request, holder: 'another', untilMs: atMs + 50_000 };
    expect(afterProbeRequest(granted, { ...other, atMs: atMs + 34_999 })).toBe(granted);
    const next = afterProbeRequest(granted, { ...other, atMs: atMs + 35_000 });
    expect(next.probe?.holder).toBe('another');
  });

  test('is leased again to who holds it, even before its time', () => {
    const held = { ...failed, probe };
    const again = { ...request, atMs: atMs + 1, untilMs: atMs + 9_000 };
    expect(afterProbeRequest(held, again).probe?.untilMs).toBe(atMs + 9_000);
    expect(holdsProbe(held, { ...request, atMs: atMs + 4_999 })).toBe(true);
    expect(holdsProbe(held, { ...request, atMs: atMs + 5_000 })).toBe(false);
    expect(holdsProbe(held, { ...request, holder: 'another', atMs })).toBe(false);
    expect(holdsProbe(failed, request)).toBe(false);
  });

  test('is free if its lease ends too late to be believed', () => {
    const late = { holder: 'a wrong clock', untilMs: request.untilMs + 300_001 };
    expect(afterProbeRequest({ ...failed, probe: late }, request).probe?.holder).toBe('me');
    const just = { ...late, untilMs: request.untilMs + 300_000 };
    expect(afterProbeRequest({ ...failed, probe: just }, request).probe).toEqual(just);
  });
});

test.each(['lastFailureAtMs', 'lastSuccessAtMs'] as const)(
  'a record whose %s lies in the future is as new',
  (name) => {
    const known: SharedHealth = { ...failed, lastFailureAtMs: 0, [name]: atMs + 300_001 };
    expect(believed(known, atMs)).toEqual(fresh);
    expect(believed({ ...known, [name]: atMs + 300_000 }, atMs)).toMatchObject({ errorCount: 1 });
  },
);
