/** Reads a run's events over a stream that is made again where it breaks: each entry once, in order. */
import type { TextDelta } from '../../../workflows/core/model-call/live-text';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import { problemIn } from './gateway';

/** An entry of the timeline under its id. */
export type Entry = TimelineEntry & { readonly id: string };

/** A run whose events are read, for whom, and until when. */
export interface EventSource {
  readonly runId: string;
  readonly token: string;
  readonly signal: AbortSignal;
}

/** What arrived together. */
export interface Arrived {
  readonly entries: readonly Entry[];
  /** Words of the model while they arrive. */
  readonly deltas: readonly TextDelta[];
}

/** One event of the stream. */
interface Block {
  readonly name: string;
  readonly id: string;
  readonly data: string;
}

/** Milliseconds before the stream is made again. */
const reconnectMs = 1_000;

function blockOf(text: string): Block {
  const fields = new Map(
    text.split('\n').map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }),
  );
  return {
    name: fields.get('event') ?? '',
    id: fields.get('id') ?? '',
    data: fields.get('data') ?? '',
  };
}

/** The blocks of each chunk. */
async function* blocksOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<readonly Block[], void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const texts = (held + value).split('\n\n');
    held = texts.pop() ?? '';
    yield texts.map(blockOf);
  }
}

function arrivedIn(blocks: readonly Block[]): Arrived {
  const facts = blocks.filter(({ name, data }) => name === '' && data !== '');
  const values = facts.map(({ data }) => JSON.parse(data) as Entry | TextDelta);
  return {
    entries: values.filter((value) => value.type !== 'TextDelta'),
    deltas: values.filter((value) => value.type === 'TextDelta'),
  };
}

const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, reconnectMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/**
 * The stream behind the entry with this id; `ended` where nothing can come any more, undefined where it cannot be had now.
 *
 * Errors: `Problem` for what another try cannot change, such as an unknown run.
 */
async function openStream(
  { runId, token, signal }: EventSource,
  lastEventId: string,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | 'ended' | undefined> {
  const url = `/v1/runs/${encodeURIComponent(runId)}/events`;
  const headers = { authorization: `Bearer ${token}`, 'last-event-id': lastEventId };
  const response = await fetch(url, { headers, signal }).catch(() => undefined);
  if (response === undefined || response.status === 429 || response.status >= 500) return undefined;
  if (response.status === 204) return 'ended';
  if (response.ok) return response.body ?? undefined;
  throw problemIn(response.status, await response.json().catch(() => undefined));
}

/**
 * What happens in the run, from the beginning of this segment to the end of the run.
 *
 * Contract: `connected` is told each time that the stream is there or lost.
 * Errors: `Problem` for what another try cannot change, such as an unknown run.
 */
export async function* runEvents(
  source: EventSource,
  fromSegment: number,
  connected: (isConnected: boolean) => void = () => undefined,
): AsyncGenerator<Arrived, void> {
  const { signal } = source;
  let lastEventId = `${fromSegment}.0.0`;
  while (!signal.aborted) {
    const stream = await openStream(source, lastEventId);
    if (stream === 'ended') return;
    connected(stream !== undefined);
    try {
      for await (const blocks of stream === undefined ? [] : blocksOf(stream)) {
        lastEventId = blocks.findLast(({ id }) => id !== '')?.id ?? lastEventId;
        yield arrivedIn(blocks);
        if (blocks.some(({ name }) => name === 'end')) return;
      }
    } catch {
      // The connection is lost; the next one goes on behind the last entry.
    }
    connected(false);
    await pause(signal);
  }
}

function segmentOf({ id }: Entry): number {
  return Number(id.split('.')[0]);
}

/** What happened in the run before this segment. Errors: as `runEvents`. */
export async function entriesBefore(
  segment: number,
  source: EventSource,
): Promise<readonly Entry[]> {
  const read = new AbortController();
  const signal = AbortSignal.any([source.signal, read.signal]);
  const found: Entry[] = [];
  try {
    for await (const { entries } of runEvents({ ...source, signal }, 1)) {
      const earlier = entries.filter((entry) => segmentOf(entry) < segment);
      found.push(...earlier);
      if (earlier.length < entries.length) break;
    }
  } finally {
    read.abort();
  }
  return found;
}
