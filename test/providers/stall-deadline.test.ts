/** The deadlines of a request, in virtual time. */
import { getEventListeners } from 'node:events';
import {
  StallError,
  withDeadlines,
  type StallWatch,
} from '../../activities/providers/stream/stall-deadline';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

interface Running {
  readonly watch: StallWatch;
  readonly outcome: Promise<unknown>;
  readonly finish: () => void;
  readonly abort: (reason: Error) => void;
}

function start(): Running {
  const controller = new AbortController();
  let watch: StallWatch | undefined;
  let finish = (): void => undefined;
  const outcome = withDeadlines(
    { signal: controller.signal, firstByteMs: 1_000, betweenBytesMs: 5_000, thinkingMs: 60_000 },
    (given) => {
      watch = given;
      return new Promise<void>((resolve) => {
        finish = resolve;
      });
    },
  ).then(
    () => 'done',
    (thrown: unknown) => thrown,
  );
  if (watch === undefined) throw new Error('work did not start at once');
  return {
    watch,
    outcome,
    finish: () => {
      finish();
    },
    abort: (reason) => {
      controller.abort(reason);
    },
  };
}

describe('withDeadlines', () => {
  it('ends a request without a first byte', async () => {
    const { outcome, watch } = start();
    jest.advanceTimersByTime(999);
    expect(watch.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(watch.signal.aborted).toBe(true);
    await expect(outcome).resolves.toEqual(new StallError('first-byte', 1_000));
  });

  it('lets content come for ever, piece by piece', async () => {
    const { outcome, watch, finish } = start();
    watch.bytes();
    for (let piece = 0; piece < 1_000; piece += 1) {
      jest.advanceTimersByTime(4_999);
      watch.content();
    }
    finish();
    await expect(outcome).resolves.toBe('done');
  });

  it('ends a stream without a byte', async () => {
    const { outcome, watch } = start();
    watch.bytes();
    jest.advanceTimersByTime(5_000);
    await expect(outcome).resolves.toEqual(new StallError('any-byte', 5_000));
  });

  it.each([
    ['before any content', () => undefined],
    [
      'behind content',
      (watch: StallWatch) => {
        watch.content();
      },
    ],
  ])('lets bytes without content come for as long as a thought, %s', async (_where, begin) => {
    const { outcome, watch } = start();
    watch.bytes();
    begin(watch);
    for (let ping = 0; ping < 15; ping += 1) {
      jest.advanceTimersByTime(3_999);
      expect(watch.signal.aborted).toBe(false);
      watch.bytes();
    }
    jest.advanceTimersByTime(15);
    await expect(outcome).resolves.toEqual(new StallError('content', 60_000));
  });

  it('lets an open thought be silent for longer, and nothing behind it', async () => {
    const { outcome, watch } = start();
    watch.bytes();
    watch.content(true);
    jest.advanceTimersByTime(59_999);
    expect(watch.signal.aborted).toBe(false);
    watch.content();
    jest.advanceTimersByTime(5_000);
    await expect(outcome).resolves.toEqual(new StallError('any-byte', 5_000));
  });

  it('ends a thought that never ends, whatever pings come', async () => {
    const { outcome, watch } = start();
    watch.bytes();
    watch.content(true);
    jest.advanceTimersByTime(40_000);
    watch.bytes();
    jest.advanceTimersByTime(20_000);
    await expect(outcome).resolves.toEqual(new StallError('content', 60_000));
  });

  it('waits only a moment for the end of the connection after the closing event', async () => {
    const { outcome, watch } = start();
    watch.bytes();
    watch.closing();
    watch.content();
    jest.advanceTimersByTime(1_000);
    await expect(outcome).resolves.toBeInstanceOf(StallError);
  });

  it("rejects with the caller's own reason although the work goes on", async () => {
    const { outcome, abort } = start();
    const reason = new Error('stopped');
    abort(reason);
    await expect(outcome).resolves.toBe(reason);
  });

  it('leaves no timer behind', async () => {
    const { outcome, finish } = start();
    finish();
    await outcome;
    expect(jest.getTimerCount()).toBe(0);
  });

  it('leaves no listener behind, which would keep its signal in memory', async () => {
    const { signal } = new AbortController();
    const limits = { signal, firstByteMs: 1_000, betweenBytesMs: 1_000 };
    const given = await withDeadlines(limits, (watch) => Promise.resolve(watch.signal));
    expect(getEventListeners(given, 'abort')).toEqual([]);
  });
});
