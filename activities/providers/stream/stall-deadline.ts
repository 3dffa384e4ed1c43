/** Ends a request whose stream stalls: no SDK's timeout does. */
import { once } from 'node:events';

/** Milliseconds that a connection may stay open after the vendor's closing event before the reply is used anyway. */
const lingerMs = 1_000;

/** What did not come in time. */
export type StallPhase = 'first-byte' | 'any-byte' | 'content';

const waitedFor: Readonly<Record<StallPhase, (limitMs: number) => string>> = {
  'first-byte': (limitMs) => `no byte of an answer within ${limitMs} ms`,
  'any-byte': (limitMs) => `no byte for ${limitMs} ms`,
  content: (limitMs) => `no piece of content for ${limitMs} ms`,
};

/** Why this side ended a request. */
export class StallError extends Error {
  constructor(
    readonly phase: StallPhase,
    readonly limitMs: number,
  ) {
    super(waitedFor[phase](limitMs));
    this.name = 'StallError';
  }
}

/** Limits of one request. */
export interface Deadlines {
  readonly signal: AbortSignal;
  readonly firstByteMs: number;
  /** Between two bytes, whatever they say. */
  readonly betweenBytesMs: number;
  /** Between two pieces of content while bytes arrive or the model thinks; never shorter than `betweenBytesMs`. */
  readonly thinkingMs?: number;
}

/** How the reader of a stream reports progress. */
export interface StallWatch {
  /** Aborted at a stall and at the caller's abort; give it to the SDK. */
  readonly signal: AbortSignal;
  /** Bytes of the body have arrived, perhaps only a ping: the server is alive, which is no progress. */
  readonly bytes: () => void;
  /** A piece of content has arrived; `isThinking` if the model thinks after it, and may send nothing at all. */
  readonly content: (isThinking?: boolean) => void;
  /** The closing event has arrived; only the end of the connection is missing. */
  readonly closing: () => void;
}

/**
 * Runs a request under its deadlines.
 *
 * Contract: rejects with `StallError` at a stall and with the signal's reason at the caller's abort, both immediately, even if
 * the work ignores its signal. No timer outlives the call.
 */
export async function withDeadlines<T>(
  limits: Deadlines,
  work: (watch: StallWatch) => Promise<T>,
): Promise<T> {
  limits.signal.throwIfAborted();
  const stall = new AbortController();
  const signal = AbortSignal.any([stall.signal, limits.signal]);
  const timer = (): ((limitMs?: number, phase?: StallPhase) => void) => {
    let running: NodeJS.Timeout | undefined;
    return (limitMs, phase = 'content') => {
      clearTimeout(running);
      if (limitMs === undefined) return;
      running = setTimeout(() => {
        stall.abort(new StallError(phase, limitMs));
      }, limitMs);
    };
  };
  const [armBytes, armContent] = [timer(), timer()];
  let hasBegun = false;
  let isThinking = false;
  let isClosing = false;
  const thinkingMs = Math.max(limits.thinkingMs ?? 0, limits.betweenBytesMs);
  const bytes = (): void => {
    if (isClosing) return;
    if (!hasBegun) armContent(thinkingMs);
    hasBegun = true;
    armBytes(isThinking ? undefined : limits.betweenBytesMs, 'any-byte');
  };
  const watch: StallWatch = {
    signal,
    bytes,
    content: (thinks = false) => {
      isThinking = thinks;
      bytes();
      if (!isClosing) armContent(thinkingMs);
    },
    closing: () => {
      isClosing = true;
      armContent();
      armBytes(Math.min(lingerMs, limits.betweenBytesMs), 'any-byte');
    },
  };
  armBytes(limits.firstByteMs, 'first-byte');
  const done = new AbortController();
  try {
    return await Promise.race([work(watch), rejectionOf(signal, done.signal)]);
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  } finally {
    done.abort();
    armBytes();
    armContent();
  }
}

/** Until `done` aborts: a listener that stays would keep a signal that `AbortSignal.any` made. */
async function rejectionOf(signal: AbortSignal, done: AbortSignal): Promise<never> {
  await once(signal, 'abort', { signal: done });
  throw signal.reason;
}
