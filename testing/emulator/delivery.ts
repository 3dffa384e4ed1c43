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
  | { readonly type: 'write'; readonly bytes: Buffer; readonly produced?: string }
  | { readonly type: 'wait'; readonly ms: number }
  /** Stays open until the client goes, silent or with pings. */
  | { readonly type: 'stall'; readonly pingText: string; readonly pingEveryMs?: number }
  | { readonly type: 'end'; readonly how: ConnectionEnd };

/** How a delivery went. */
export interface DeliveryReport {
  /** The whole answer is out, or the fault has struck. */
  readonly landed: boolean;
  /** Every action was carried out: the client did not leave before. */
  readonly complete: boolean;
  readonly eventsSent: number;
  /** What the model had sent by the end. */
  readonly produced: string;
}

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
      ...(isLast && produced !== undefined ? { produced } : {}),
    });
    if (how.writeEveryMs !== undefined) writes.push({ type: 'wait', ms: how.writeEveryMs });
  }
  return writes;
}

/** Resolves with true when the client has gone. */
async function gone(response: ServerResponse, signal: AbortSignal): Promise<true> {
  if (response.destroyed || response.socket?.destroyed === true) return true;
  await once(response, 'close', { signal });
  return true;
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
  action: Extract<ActionKind, { type: 'stall' }>,
): Promise<void> {
  const stop = new AbortController();
  const isGone = gone(response, stop.signal);
  if (action.pingEveryMs === undefined) {
    await isGone;
    return;
  }
  let open = true;
  while (open) {
    response.write(action.pingText);
    open = await Promise.race([isGone.then(() => false), delay(action.pingEveryMs, true)]);
  }
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
      const isGone = gone(response, stop.signal).catch(() => undefined);
      await Promise.race([isGone, delay(action.ms, undefined, { signal: stop.signal })]);
      stop.abort();
      return;
    }
    case 'stall':
      return stall(response, action);
    case 'end':
      return end(response, action.how);
  }
}

function isOpen(response: ServerResponse): boolean {
  return !response.destroyed && response.socket?.destroyed !== true;
}

/**
 * Carries out the actions in order; stops when the client disconnects.
 *
 * Contract: never rejects; `onProgress` is called before each action and must not throw.
 */
export async function deliver(
  response: ServerResponse,
  actions: readonly Action[],
  onProgress: (report: DeliveryReport) => void,
): Promise<DeliveryReport> {
  let report: DeliveryReport = {
    landed: false,
    complete: false,
    eventsSent: 0,
    produced: '',
  };
  response.on('error', () => undefined);
  for (const [index, action] of actions.entries()) {
    if (!isOpen(response)) return report;
    const isLast = index === actions.length - 1;
    if (action.type === 'stall') report = { ...report, landed: true };
    onProgress(report);
    await perform(response, action);
    if (action.type === 'write') {
      report = {
        ...report,
        eventsSent: report.eventsSent + 1,
        produced: report.produced + (action.produced ?? ''),
      };
    }
    if (isLast || action.strikes === true) report = { ...report, landed: true };
    if (isLast) report = { ...report, complete: true };
  }
  onProgress(report);
  return report;
}
