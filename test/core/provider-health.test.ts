/** Cooldowns per reason as seed 001 fixes them, and which route comes next. */
import type { FailoverReason } from '../../workflows/core/failure';
import {
  decideRoute,
  initialProviderHealth,
  recordRouteFailure,
  recordRouteSuccess,
} from '../../workflows/core/provider-health';
import { aLimits, aRoute, anInfraError } from '../support/builders';

const chain = [aRoute({ provider: 'a' }), aRoute({ provider: 'b' })];
const fail = (reason: FailoverReason, retryAfterMs = 0) =>
  recordRouteFailure(
    initialProviderHealth,
    'a/model-1',
    anInfraError(reason, { retryAfterMs }),
    reason,
    aLimits(),
    1_000,
  );

test.each<[FailoverReason, number]>([
  ['auth', 600_000],
  ['rate_limit', 60_000],
  ['billing', 1_800_000],
  ['timeout', 30_000],
  ['overloaded', 120_000],
  ['model_not_found', 3_600_000],
  ['unknown', 30_000],
])('rests a route after %s for %i ms', (reason, restMs) => {
  expect(fail(reason).routes['a/model-1']?.cooldownUntilMs).toBe(1_000 + restMs);
});

test('lets the longer of cooldown and Retry-After win', () => {
  expect(fail('rate_limit', 300_000).routes['a/model-1']?.cooldownUntilMs).toBe(301_000);
  expect(fail('rate_limit', 5).routes['a/model-1']?.cooldownUntilMs).toBe(61_000);
});

test('gives no rest after a format error', () => {
  expect(fail('format').routes['a/model-1']).toMatchObject({
    status: 'degraded',
    cooldownUntilMs: 0,
  });
});

test('uses the next route while one rests, and the first again at the end of the rest', () => {
  const health = fail('rate_limit');
  expect(decideRoute(health, chain, 60_999)).toEqual({ type: 'use', routeIndex: 1 });
  expect(decideRoute(health, chain, 61_000)).toEqual({ type: 'use', routeIndex: 0 });
  expect(decideRoute(health, chain.slice(0, 1), 60_999)).toEqual({ type: 'wait', untilMs: 61_000 });
  const healed = recordRouteSuccess(health, 'a/model-1', 2_000);
  expect(decideRoute(healed, chain, 2_000)).toEqual({ type: 'use', routeIndex: 0 });
});
