/** Ends a request whose stream stalls: no SDK's timeout does. */
import { once } from 'node:events';

/** Milliseconds that a connection may stay open after the vendor's closing event before the reply is used anyway. */
const lingerMs = 1_000;

/** Why this side ended a request. */
export class StallError extends Error {
  constructor(
    readonly phase: 'first-byte' | 'between-bytes',
    readonly limitMs: number,
  ) {
    super(
      phase === 'first-byte'
        ? `no byte of an answer within ${limitMs} ms`
        : `no piece of content for ${limitMs} ms`,
    );
    this.name = 'StallError';
  }
}

/** Limits of one request. */
export interface Deadlines {
  readonly signal: AbortSignal;
  readonly firstByteMs: number;
  readonly betweenBytesMs: number;
  /** Replaces `betweenBytesMs` while the model thinks; never shorter. */
  readonly thinkingMs?: number;
}

/** How the reader of a stream reports progress. */
export interface StallWatch {
  /** Aborted at a stall and at the caller's abort; give it to the SDK. */
  readonly signal: AbortSignal;
  /** The body has begun. Only the first call counts: pings are not progress. */
  readonly firstByte: () => void;
  /** A piece of content has arrived; `isThinking` if the model thinks after it. */
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
  let timer: NodeJS.Timeout | undefined;
  let hasBegun = false;
  let isClosing = false;
  const arm = (limitMs: number, phase: StallError['phase']): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      stall.abort(new StallError(phase, limitMs));
    }, limitMs);
  };
  const thinkingMs = Math.max(limits.thinkingMs ?? 0, limits.betweenBytesMs);
  const betweenBytes = (isThinking = false): void => {
    if (!isClosing) arm(isThinking ? thinkingMs : limits.betweenBytesMs, 'between-bytes');
  };
  const watch: StallWatch = {
    signal,
    firstByte: () => {
      if (!hasBegun) betweenBytes();
      hasBegun = true;
    },
    content: betweenBytes,
    closing: () => {
      isClosing = true;
      arm(Math.min(lingerMs, limits.betweenBytesMs), 'between-bytes');
    },
  };
  arm(limits.firstByteMs, 'first-byte');
  try {
    return await Promise.race([work(watch), rejectionOf(signal)]);
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  } finally {
    clearTimeout(timer);
  }
}

async function rejectionOf(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw signal.reason;
}
