/** Cooldowns per reason (R-FAIL-1), and which route comes next. */
import type { FailoverReason } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import {
  decideRoute,
  isRecovering,
  recordRouteFailure,
  recordRouteSuccess,
  cooldownAfter,
} from '../../workflows/core/failover/provider-health';
import { initialFailover } from '../../workflows/core/failover/state';
import { aLimits, aRoute, anInfraError } from '../support/builders';

const chain = [aRoute({ provider: 'a' }), aRoute({ provider: 'b' })];
const fail = (reason: FailoverReason, retryAfterMs = 0) =>
  recordRouteFailure(
    initialFailover.health,
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

test('uses the next route while one rests, and tries the first again 30 s before the end', () => {
  const health = fail('rate_limit');
  expect(decideRoute(health, chain, 30_999)).toEqual({ type: 'use', routeIndex: 1 });
  expect(decideRoute(health, chain, 31_000)).toEqual({ type: 'use', routeIndex: 0 });
  expect(decideRoute(health, chain.slice(0, 1), 30_999)).toEqual({ type: 'wait', untilMs: 31_000 });
  expect(isRecovering(health, 'a/model-1')).toBe(true);
  const healed = recordRouteSuccess(health, 'a/model-1', 2_000);
  expect(decideRoute(healed, chain, 2_000)).toEqual({ type: 'use', routeIndex: 0 });
  expect(isRecovering(healed, 'a/model-1')).toBe(false);
});

test.each([
  [
    'a long cooldown 30 s before its end',
    'auth',
    {},
    { cooldownUntilMs: 601_000, probeFromMs: 571_000 },
  ],
  ['a short cooldown at its half', 'network', {}, { cooldownUntilMs: 31_000, probeFromMs: 16_000 }],
  [
    'no route before its Retry-After is over',
    'rate_limit',
    { retryAfterMs: 90_000 },
    { cooldownUntilMs: 91_000, probeFromMs: 91_000 },
  ],
  [
    'a spared route when the others said so',
    'overloaded',
    { retryAfterMs: 7_000, spared: true },
    { cooldownUntilMs: 8_000, probeFromMs: 8_000 },
  ],
  ['a reason without cooldown never', 'format', {}, { cooldownUntilMs: 0, probeFromMs: 0 }],
] as const)('probes %s', (_what, reason, failure, rest) => {
  expect(cooldownAfter(reason, failure, defaultLimits, 1_000)).toEqual(rest);
});
