/** A run's timeline as server-sent events: from any entry on, live, with heartbeats, until the run or the gateway ends. */
import type { RunMoment } from '../../client/run-handle';
import { safeJson } from '../http/safe-json';

/** How a stream goes on. */
export interface EventStreamOptions {
  readonly heartbeatMs: number;
  /** Aborted when the gateway ends. */
  readonly draining: AbortSignal;
  /** Ends the reading of the moments. */
  readonly leave: () => void;
  /** Told why the moments cannot be read on. */
  readonly failed: (thrown: unknown) => void;
}

/** Milliseconds after which a client connects again, at least; as many again at most, so that not all come at once. */
const reconnectMs = 500;

function event(data: unknown, { id, name }: { id?: string; name?: string } = {}): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(name === undefined ? [] : [`event: ${name}`]),
    `data: ${safeJson(data)}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

function momentText({ entries, deltas }: RunMoment): string {
  // Text has no id, so that whoever comes back goes on behind the last fact.
  return [
    ...deltas.map((delta) => event(delta)),
    ...entries.map((entry) => event(entry, { id: entry.id })),
  ].join('');
}

/** The words by which a client learns that this gateway ends, and when to look for another one. */
function reconnect(): string {
  const ms = reconnectMs + Math.floor(Math.random() * reconnectMs);
  return `retry: ${ms}\n${event({ retryMs: ms }, { name: 'reconnect' })}`;
}

type Next = IteratorResult<RunMoment, void>;

/**
 * The text of the stream, piece by piece, as fast as it is read.
 *
 * Contract: each entry once, in order, under its id; `event: end` after the last one of a run that has ended; `event: reconnect`
 * when the gateway ends, or cannot read on. It leaves the moments in any case.
 */
export async function* eventStream(
  moments: AsyncGenerator<RunMoment, void>,
  { heartbeatMs, draining, leave, failed }: EventStreamOptions,
): AsyncGenerator<string, void> {
  let status: RunMoment['status'];
  try {
    yield `retry: ${reconnectMs}\n\n`;
    for (let next = moments.next(); ;) {
      const arrived = await firstOf(next, heartbeatMs, draining);
      if (arrived === 'draining') {
        yield reconnect();
        return;
      }
      if (arrived === 'late') yield ': heartbeat\n\n';
      else if (arrived.done === true) {
        yield event({ status: status?.status }, { name: 'end' });
        return;
      } else {
        ({ status } = arrived.value);
        const text = momentText(arrived.value);
        if (text !== '') yield text;
        next = moments.next();
      }
    }
  } catch (thrown) {
    failed(thrown);
    yield reconnect();
  } finally {
    leave();
  }
}

/** The next moment, or that it is late, or that the gateway ends. */
function firstOf(
  next: Promise<Next>,
  ms: number,
  draining: AbortSignal,
): Promise<Next | 'late' | 'draining'> {
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      clearTimeout(timer);
      draining.removeEventListener('abort', end);
      settled();
    };
    const end = (): void => {
      settle(() => {
        resolve('draining');
      });
    };
    const timer = setTimeout(() => {
      settle(() => {
        resolve('late');
      });
    }, ms);
    draining.addEventListener('abort', end);
    if (draining.aborted) end();
    next.then(
      (value) => {
        settle(() => {
          resolve(value);
        });
      },
      (error: unknown) => {
        settle(() => {
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      },
    );
  });
}
