/** What activities share between machines is measured by the store's clock and the server's, never by a machine's own. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { sharedClock } from '../../activities/model-call/shared-health';
import type { Store, ToolIntent } from '../../activities/stores/store';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const hourMs = 3_600_000;
const yearMs = 8_766 * hourMs;

/** The time by the shared clock, where store and server say these times. */
function timeOf(storeMs: number, serverMs: number): Promise<number> {
  const environment = new MockActivityEnvironment({ currentAttemptScheduledTimestampMs: serverMs });
  return environment.run(async () => {
    const clock = await sharedClock({ now: () => Promise.resolve(storeMs) });
    return clock();
  });
}

test('the store is asked for its time once for the calls of 10 s', async () => {
  const now = jest.fn(() => Promise.resolve(hourMs));
  const environment = new MockActivityEnvironment({ currentAttemptScheduledTimestampMs: 0 });
  const times: readonly number[] = await environment.run(async () => {
    const store = { now };
    const clocks = [await sharedClock(store), await sharedClock(store)];
    return clocks.map((clock) => clock() - hourMs);
  });
  expect(now).toHaveBeenCalledTimes(1);
  for (const time of times) expect(time).toBeLessThan(5_000);
});

test.each([
  [0, 0],
  [0, hourMs],
  [hourMs, 0],
  [10 * yearMs, 0],
  [0, 10 * yearMs],
])(
  'the shared clock is the later of the store (+%i ms) and the server (+%i ms)',
  async (store, server) => {
    const base = Date.UTC(2026, 0);
    const time = await timeOf(base + store, base + server);
    expect(time - base - Math.max(store, server)).toBeLessThan(5_000);
    expect(time - base - Math.max(store, server)).toBeGreaterThanOrEqual(0);
  },
);

test('the shared clock does not follow the machine’s own, and goes on by a stopwatch', async () => {
  const realNow = Date.now;
  try {
    for (const wrongByMs of [hourMs, -hourMs, 10 * yearMs, -10 * yearMs]) {
      Date.now = () => realNow() + wrongByMs;
      const time = await timeOf(1_000_000, 900_000);
      expect(time - 1_000_000).toBeLessThan(5_000);
    }
  } finally {
    Date.now = realNow;
  }
});

const runKey = 'run/1';
const intentOf = (key: string, startedAtMs: number): ToolIntent => ({
  key: `${runKey}/${key}`,
  tool: 'pay',
  inputDigest: 'd',
  startedAtMs,
});

async function orderOf(store: Store, intents: readonly ToolIntent[]): Promise<readonly string[]> {
  for (const intent of intents) await store.beginTool(intent);
  const found = await store.toolsOf({ tool: 'pay', inputDigest: 'd', runKey });
  return found.map(({ intent }) => intent.key.slice(runKey.length + 1));
}

test('executions of one action come in the order of the server, and those of one reply in that of their numbers', async () => {
  const intents = ['x_1_10', 'x_1_2', 'x_1_0'].map((key) => intentOf(key, 5_000));
  const order = await orderOf(stored.store, [intentOf('x_2_0', 6_000), ...intents]);
  expect(order).toEqual(['x_1_0', 'x_1_2', 'x_1_10', 'x_2_0']);
});
