/** Carries out a plan on a real socket: head, writes, pauses, resets. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionEnd, Delivery } from './step';

/** One action on the connection. `strikes`: the fault has happened with it, whatever follows. */
export type Action = { readonly strikes?: true } & ActionKind;

type ActionKind =
  | {
      readonly type: 'head';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly type: 'write'; readonly bytes: Buffer; readonly produced?: string | undefined }
  | { readonly type: 'wait'; readonly ms: number }
  /** Stays open until the client goes, silent or with pings. */
  | { readonly type: 'stall'; readonly pingText: string; readonly pingEveryMs: number | undefined }
  | { readonly type: 'end'; readonly how: ConnectionEnd };

/** How far an answer got. */
export interface AnswerProgress {
  readonly status?: number;
  readonly eventsSent: number;
  /** The whole answer is out, or the fault has struck. */
  readonly landed: boolean;
  /** Nothing more will happen on this request. */
  readonly finished: boolean;
  /** The client went away first. */
  readonly abandoned: boolean;
}

/** Nothing is sent yet. */
export const noProgress: AnswerProgress = {
  eventsSent: 0,
  landed: false,
  finished: false,
  abandoned: false,
};

/** Time that lets a reader see what was written before its connection breaks. */
const settleMs = 30;

/** A write, cut and re-encoded as the delivery wants it. */
export function writesOf(text: string, produced: string | undefined, how: Delivery): Action[] {
  const bytes = Buffer.from(how.crlf === true ? text.replaceAll('\n', '\r\n') : text);
  const size = how.bytesPerWrite ?? bytes.length;
  const writes: Action[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    const isLast = start + size >= bytes.length;
    writes.push({
      type: 'write',
      bytes: bytes.subarray(start, start + size),
      produced: isLast ? produced : undefined,
    });
    if (how.writeEveryMs !== undefined) writes.push({ type: 'wait', ms: how.writeEveryMs });
  }
  return writes;
}

function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.socket?.destroyed === true;
}

/** Resolves when the client has gone, or the signal ends the wait for it. */
async function gone(response: ServerResponse, signal?: AbortSignal): Promise<void> {
  if (isGone(response)) return;
  await once(response, 'close', signal && { signal }).catch(() => undefined);
}

async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.write(bytes)) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  } else {
    const stop = new AbortController();
    const { signal } = stop;
    // Whichever happens first, the other's listener is removed too: a large body waits many times.
    const ready = ['drain', 'close'].map((event) => once(response, event, { signal }));
    await Promise.race(ready).catch(() => undefined);
    stop.abort();
  }
}

async function end(response: ServerResponse, how: ConnectionEnd): Promise<void> {
  if (how === 'eof') {
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response.end(resolve);
    });
    return;
  }
  if (response.headersSent) await delay(settleMs);
  if (how === 'reset') response.socket?.resetAndDestroy();
  else response.socket?.end();
}

async function stall(
  response: ServerResponse,
  { pingText, pingEveryMs }: Extract<ActionKind, { type: 'stall' }>,
): Promise<void> {
  const pings =
    pingEveryMs === undefined
      ? undefined
      : setInterval(() => response.write(pingText), pingEveryMs);
  if (pings !== undefined) response.write(pingText);
  await gone(response);
  clearInterval(pings);
}

async function perform(response: ServerResponse, action: Action): Promise<void> {
  switch (action.type) {
    case 'head':
      response.writeHead(action.status, action.headers);
      response.flushHeaders();
      return;
    case 'write':
      return write(response, action.bytes);
    case 'wait': {
      const stop = new AbortController();
      const { signal } = stop;
      await Promise.race([gone(response, signal), delay(action.ms, undefined, { signal })]);
      stop.abort();
      return;
    }
    case 'stall':
      return stall(response, action);
    case 'end':
      return end(response, action.how);
  }
}

function isEndOnly(action: Action): boolean {
  return action.type === 'wait' || (action.type === 'end' && action.how === 'eof');
}

/**
 * Carries out the actions in order; stops when the client disconnects. Returns what the model had sent by the end.
 *
 * Contract: never rejects; `onProgress` must not throw.
 */
export async function deliver(
  response: ServerResponse,
  actions: readonly Action[],
  onProgress: (progress: AnswerProgress) => void,
): Promise<string> {
  let progress = noProgress;
  let produced = '';
  const advance = (change: Partial<AnswerProgress>): void => {
    const status = response.headersSent ? { status: response.statusCode } : {};
    progress = { ...progress, ...status, ...change };
    onProgress(progress);
  };
  response.on('error', () => undefined);
  for (const [index, action] of actions.entries()) {
    if (isGone(response)) {
      // A client may leave at the vendor's closing event, before the connection's own end: it has everything.
      const hasAll = actions.slice(index).every(isEndOnly);
      advance({ finished: true, ...(hasAll ? { landed: true } : { abandoned: true }) });
      return produced;
    }
    if (action.type === 'stall') advance({ landed: true });
    await perform(response, action);
    if (action.type === 'write') {
      produced += action.produced ?? '';
      advance({ eventsSent: progress.eventsSent + 1 });
    }
    if (action.strikes === true) advance({ landed: true });
  }
  advance({ landed: true, finished: true });
  return produced;
}
