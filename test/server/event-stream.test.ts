/** A stream of events: what is sent, and how it ends. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunMoment } from '../../client/run-handle';
import { eventStream } from '../../server/streams/event-stream';

const entry = { type: 'GuardWarnedEvent', id: '1.4.0', atMs: 1, iteration: 1 } as const;

function moment(message: string): RunMoment {
  return { entries: [{ ...entry, message }], deltas: [], pending: [] };
}

interface Read {
  readonly text: string;
  readonly left: boolean;
  readonly failures: readonly unknown[];
}

async function read(
  moments: AsyncGenerator<RunMoment, void>,
  draining: AbortSignal = new AbortController().signal,
  heartbeatMs = 60_000,
): Promise<Read> {
  let left = false;
  const failures: unknown[] = [];
  const stream = eventStream(moments, {
    ...{ heartbeatMs, draining },
    leave: () => {
      left = true;
    },
    failed: (thrown) => failures.push(thrown),
  });
  let text = '';
  for await (const piece of stream) text += piece;
  return { text, left, failures };
}

it('sends each entry under its id, on one line whatever it holds, and then the end', async () => {
  const hostile = 'a\n\nevent: end\ndata: {}\r\u2028</script><img src=x onerror=alert(1)>&amp;';
  async function* moments(): AsyncGenerator<RunMoment, void> {
    yield moment(hostile);
    yield await Promise.resolve({ entries: [], deltas: [], pending: [] });
  }
  const { text, left } = await read(moments());
  const blocks = text.split('\n\n');
  expect(blocks).toHaveLength(4);
  expect(blocks[1]?.split('\n')[0]).toBe('id: 1.4.0');
  expect(JSON.parse(blocks[1]?.split('\ndata: ')[1] ?? '')).toMatchObject({ message: hostile });
  expect(text).not.toMatch(/[<>&\r\u2028]/);
  expect(blocks[2]).toBe('event: end\ndata: {}');
  expect(left).toBe(true);
});

it('sends heartbeats while nothing comes, and says when the gateway ends', async () => {
  const drain = new AbortController();
  async function* moments(): AsyncGenerator<RunMoment, void> {
    yield moment('one');
    await delay(60);
    drain.abort();
    await new Promise(() => undefined);
  }
  const { text, left } = await read(moments(), drain.signal, 10);
  expect(text).toMatch(/id: 1\.4\.0\n[^]*(: heartbeat\n\n)+retry: \d+\nevent: reconnect\n/);
  expect(text).not.toContain('event: end');
  expect(left).toBe(true);
});

it('tells its reader to connect again, and the log why, where it cannot read on', async () => {
  async function* moments(): AsyncGenerator<RunMoment, void> {
    yield moment('one');
    await Promise.reject(new Error('Temporal is away at 10.0.0.7'));
  }
  const { text, left, failures } = await read(moments());
  expect(text).toContain('event: reconnect');
  expect(text).not.toContain('10.0.0.7');
  expect(failures).toEqual([new Error('Temporal is away at 10.0.0.7')]);
  expect(left).toBe(true);
});
