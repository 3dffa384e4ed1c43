/** What one run's failure of a route means for the calls of others: by what waiting cures, and by what only people mend. */
import { MockActivityEnvironment } from '@temporalio/testing';
import type { RouteCall } from '../../activities/model-call/shared-health';
import {
  admitted,
  reportAnsweredCall,
  reportFailedCall,
} from '../../activities/model-call/shared-health';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { InfraError } from '../../workflows/core/failure';
import { aLimits, anInfraError, startMs } from '../support/builders';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const call = (holder: string, startedAtMs: number): RouteCall => ({
  route: 'anthropic/claude',
  holder,
  limits: aLimits(),
  startedAtMs,
});

/** What becomes of a call: admitted, or spared with the milliseconds until the run comes back to the route. */
async function fate(holder: string, startedAtMs: number): Promise<string | InfraError> {
  try {
    return await new MockActivityEnvironment().run(() =>
      admitted(stored.store, call(holder, startedAtMs), ({ isProbe }) =>
        Promise.resolve(isProbe ? 'probe' : 'normal'),
      ),
    );
  } catch (thrown) {
    if (thrown instanceof InfraException) return thrown.failure;
    throw thrown;
  }
}

test('whoever mended a key waits seconds, not the rest of the route, and one run tries for all', async () => {
  const { store } = stored;
  await reportFailedCall(store, call('a', startMs), anInfraError('auth'), startMs);
  expect(await fate('b', startMs + 1_000)).toMatchObject({ code: 'auth', spared: true });
  const prober = call('c', startMs + 6_000);
  await new MockActivityEnvironment().run(() =>
    admitted(store, prober, async (admission) => {
      expect(admission.isProbe).toBe(true);
      expect(await fate('d', startMs + 6_001)).toMatchObject({ spared: true });
      await reportAnsweredCall(store, prober, admission, startMs + 6_500);
    }),
  );
  expect(await fate('d', startMs + 7_000)).toBe('normal');
});

test('an answer that is no news is not written or read again, and never clears a later failure', async () => {
  const { store } = stored;
  const report = jest.spyOn(store, 'reportSuccess');
  const answer = (startedAtMs: number, meanwhile?: () => Promise<unknown>): Promise<void> => {
    const one = call('a', startedAtMs);
    return new MockActivityEnvironment().run(() =>
      admitted(store, one, async (admission) => {
        await meanwhile?.();
        await reportAnsweredCall(store, one, admission, startedAtMs + 100);
      }),
    );
  };
  await answer(startMs);
  await answer(startMs + 1_000);
  expect(report).toHaveBeenCalledTimes(1);
  await answer(startMs + 11_000);
  expect(report).toHaveBeenCalledTimes(2);
  const failed = anInfraError('auth');
  await answer(startMs + 12_000, () =>
    reportFailedCall(store, call('b', startMs), failed, startMs + 12_050),
  );
  expect(await fate('c', startMs + 12_200)).toMatchObject({ code: 'auth', spared: true });
  await answer(startMs + 19_000);
  expect(report).toHaveBeenCalledTimes(3);
  expect(await fate('c', startMs + 19_200)).toBe('normal');
});

test('a run that was spared a refused key does not come back to it before the rest of the route is over', async () => {
  const limits = aLimits();
  await reportFailedCall(stored.store, call('a', startMs), anInfraError('auth'), startMs);
  expect(await fate('b', startMs + 1_000)).toMatchObject({
    retryAfterMs: limits.cooldownMs.auth - 1_000,
  });
});

test('what heals by waiting is not tried again that soon', async () => {
  await reportFailedCall(stored.store, call('a', startMs), anInfraError('overloaded'), startMs);
  expect(await fate('b', startMs + 6_000)).toMatchObject({ code: 'overloaded', spared: true });
});
