/** Active time: a run is not charged for hours in which no worker lived. */
import type { RunState } from '../../workflows/core/run/state';
import { transition } from '../../workflows/core/run/transition';
import { defined } from '../../workflows/core/json';
import type { UnstampedEvent } from '../support/builders';
import { aCall, aLimits, aRunWithCalls, aTool, aToolResult } from '../support/builders';

const limits = aLimits({ maxActiveMs: 600_000, heartbeatTimeoutMs: 20_000 });

/** A run with two calls at work. */
function working(): RunState {
  const calls = [aCall('a', { name: 'search' }), aCall('b', { name: 'search' })];
  return aRunWithCalls(calls, { tools: [aTool('search')], limits })[0];
}

const later = (state: RunState, ms: number, event: UnstampedEvent): RunState =>
  transition(state, { ...event, atMs: (state.activeSinceMs ?? 0) + ms })[0];

const completed = (toolCallId: string, queuedMs?: number, tookMs?: number): UnstampedEvent => ({
  type: 'tool-call-completed',
  toolCallId,
  result: aToolResult(defined({ queuedMs, tookMs })),
});

const limitReached = (state: RunState): UnstampedEvent => ({
  type: 'timer-fired',
  timerId: state.guard.activeTimer?.timerId ?? '',
});

test('time that a call stood in the queue does not count', () => {
  const run = working();
  const after = later(run, 500_000, completed('a', 470_000));
  expect(after.activeMs - run.activeMs).toBe(30_000);
});

test('a wait in the queue counts once against calls side by side, and never more than the stretch', () => {
  const run = working();
  const first = later(run, 500_000, completed('a', 900_000));
  expect(first.activeMs).toBe(run.activeMs);
  expect(later(first, 7_000, completed('b')).activeMs - first.activeMs).toBe(7_000);
});

test.each([3_600_000, 87_660 * 3_600_000])(
  'a worker whose clock is %i ms ahead hides no work: what its own stopwatch measured counts',
  (aheadMs) => {
    const run = working();
    const after = later(run, 500_000, completed('a', aheadMs, 480_000));
    expect(after.activeMs - run.activeMs).toBe(480_000);
  },
);

test('an outage of all workers past the limit does not end the run, whatever comes first after it', () => {
  const run = working();
  const events: readonly UnstampedEvent[] = [
    limitReached(run),
    { type: 'message-added', text: 'Still there?' },
    completed('a'),
  ];
  for (const event of events) {
    const after = later(run, 3_600_000, event);
    expect(after.phase.type).toBe('running-tools');
    expect(after.activeMs - run.activeMs).toBe(20_000);
    expect(after.guard.activeTimer).toBeDefined();
  }
});

test('the timer starts again with what is left after an outage, and ends the run then', () => {
  const run = working();
  const [after, commands] = transition(run, {
    ...limitReached(run),
    atMs: (run.activeSinceMs ?? 0) + 3_600_000,
  });
  expect(commands).toContainEqual(
    expect.objectContaining({
      type: 'start-timer',
      timerId: after.guard.activeTimer?.timerId,
      delayMs: 600_000 - after.activeMs,
    }),
  );
  expect(later(after, 600_000 - after.activeMs, limitReached(after)).phase).toMatchObject({
    type: 'ending',
    failureReason: 'guard_active_time',
  });
});

test('a limit that is reached while workers live ends the run', () => {
  const run = working();
  const atLimit = later(run, 600_000 - run.activeMs, limitReached(run));
  expect(atLimit.phase).toMatchObject({ type: 'ending', failureReason: 'guard_active_time' });
});
