/** Whether, and when, a failed model call is repeated on the same route. */
import type { InfraError } from '../../workflows/core/failure';
import {
  decideRetry,
  longestRetryDelayMs,
  retryNudge,
} from '../../workflows/core/failover/stream-recovery';

const timing = {
  streamRetries: 2,
  streamRetryBaseMs: 1_500,
  firstByteMs: 1,
  betweenBytesMs: 1,
};
const overloaded: InfraError = { kind: 'infra', code: 'overloaded', message: 'a/b is overloaded' };

test('repeats a transient failure twice, after 1.5 s and 3 s (R-STREAM-3)', () => {
  expect(decideRetry(overloaded, 0, timing)).toEqual({ type: 'retry', delayMs: 1_500 });
  expect(decideRetry(overloaded, 1, timing)).toEqual({ type: 'retry', delayMs: 3_000 });
  expect(decideRetry(overloaded, 2, timing)).toEqual({ type: 'give-up' });
});

test('repeats nothing where the vendor refuses it', () => {
  expect(decideRetry({ ...overloaded, refusesRetry: true }, 0, timing)).toEqual({
    type: 'give-up',
  });
});

test.each(['auth', 'billing', 'model_not_found', 'format', 'unknown'] as const)(
  'never repeats %s',
  (code) => {
    expect(decideRetry({ ...overloaded, code }, 0, timing)).toEqual({ type: 'give-up' });
  },
);

test('waits as long as the vendor says, and leaves a wait that is too long to the cooldown', () => {
  const told = (retryAfterMs: number): InfraError => ({ ...overloaded, retryAfterMs });
  expect(decideRetry(told(9_000), 0, timing)).toEqual({ type: 'retry', delayMs: 9_000 });
  expect(decideRetry(told(10), 0, timing)).toEqual({ type: 'retry', delayMs: 1_500 });
  expect(decideRetry(told(longestRetryDelayMs + 1), 0, timing)).toEqual({ type: 'give-up' });
});

test.each(['rate_limit', 'overloaded', 'timeout', 'network'])(
  'a retry after %s mentions a reply only if part of one had arrived (R-STREAM-4)',
  (code) => {
    const none = retryNudge(code, '');
    expect(none).toContain(`got no complete reply (${code})`);
    expect(none).not.toMatch(/your previous reply|had arrived/i);
    const some = retryNudge(code, 'The first step is');
    expect(some).toContain(`Your previous reply did not arrive whole (${code})`);
    expect(some).toContain('had arrived:\nThe first step is');
  },
);
