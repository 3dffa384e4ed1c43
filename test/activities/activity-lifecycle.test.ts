/** What activities tell beside their results. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { withHeartbeat, withQueueTime } from '../../activities/lifecycle/activity-lifecycle';

const scheduledMs = 1_700_000_000_000;

function resultAfter(queuedMs: number): Promise<{ readonly queuedMs?: number }> {
  return new MockActivityEnvironment({ currentAttemptScheduledTimestampMs: scheduledMs }).run(() =>
    withQueueTime(
      () => scheduledMs + queuedMs,
      () => Promise.resolve({}),
    ),
  );
}

test('a long time in the task queue is told, a short one is not', async () => {
  expect(await resultAfter(70_000)).toEqual({
    queuedMs: 70_000,
    tookMs: expect.any(Number) as number,
  });
  expect(await resultAfter(4_999)).toEqual({});
  expect(await resultAfter(-60_000)).toEqual({});
});

test('an attempt that waited for a blocked event loop longer than the server waits counts as given up', async () => {
  const heartbeatTimeoutMs = 500;
  const isGivenUpAtOnce = (): Promise<boolean> =>
    new MockActivityEnvironment({ heartbeatTimeoutMs }).run(() =>
      withHeartbeat(
        () => undefined,
        (isGivenUp) => Promise.resolve(isGivenUp()),
        'later',
      ),
    );
  expect(await isGivenUpAtOnce()).toBe(false);
  await sleep(600);
  expect(await isGivenUpAtOnce()).toBe(false);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
  expect(await isGivenUpAtOnce()).toBe(true);
});
