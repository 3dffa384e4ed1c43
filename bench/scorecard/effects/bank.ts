/** The world outside: a bank over HTTP with a ledger of what was really applied, which also holds calls at planned moments. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { listenOnLoopback } from '../../loopback';
import type { KillPoint, PlannedCall } from './kill-plan';

/** One effect that happened. */
export interface LedgerEntry {
  readonly callId: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

const effectSchema = z.object({ callId: z.string(), key: z.string(), isKeyed: z.boolean() });
const pointSchema = z.object({ callId: z.string(), point: z.string() });

/** A call that is held; its worker is to be killed or stalled. */
interface HeldCall {
  readonly callId: string;
  readonly point: KillPoint;
}

/** The bank, and what the scorecard asks it. */
export interface Bank {
  readonly url: string;
  readonly ledger: readonly LedgerEntry[];
  /** Calls held at this moment. */
  held(): readonly HeldCall[];
  /** No call is between its intent and its outcome but those that are held. */
  isQuiet(): boolean;
  /** Plans the points of these calls. */
  plan(calls: readonly PlannedCall[]): void;
  /** The worker is about to be killed. */
  strike(): void;
  /** The worker that held these calls is dead: the next point of each is planned. Returns how many were held. */
  killed(): number;
  /** Lets calls of a stalled worker, or of a slow store, go on. Counts those that were held all along, and returns how many. */
  release(callIds: readonly string[]): number;
  /** Kills and stalls of a call so far, by the points at which it was held. */
  hitsOf(callId: string): readonly KillPoint[];
  stop(): Promise<void>;
}

class KillSchedule {
  private readonly planned = new Map<string, readonly KillPoint[]>();
  private readonly done = new Map<string, readonly KillPoint[]>();
  private readonly holding = new Map<string, KillPoint>();
  /** Ends the hold of a call whose worker was not killed. */
  private readonly goOn = new Map<string, () => void>();
  /** Calls between their intent and their outcome that are not held: a kill would meet them at a point that nobody planned. */
  private readonly underWay = new Set<string>();
  private isStriking = false;

  add(calls: readonly PlannedCall[]): void {
    for (const { id, points } of calls) this.planned.set(id, points);
  }

  /** Whether a call is to be held here; it then counts as held. */
  holds(callId: string, point: KillPoint): boolean {
    if (this.holding.has(callId) || this.planned.get(callId)?.[0] !== point) return false;
    this.holding.set(callId, point);
    return true;
  }

  /** From now on a client that goes away was killed. */
  strike(): void {
    this.isStriking = true;
  }

  /**
   * Holds a call until its client is gone, or the call is released; returns which. A client that went away by itself was not
   * hit, and is held again next time.
   */
  async hold(callId: string, response: ServerResponse): Promise<'gone' | 'released'> {
    const released = new Promise<'released'>((resolve) => {
      this.goOn.set(callId, () => {
        resolve('released');
      });
    });
    const how = await Promise.race([clientGone(response), released]);
    if (how === 'gone' && !this.isStriking) this.holding.delete(callId);
    return how;
  }

  release(callIds: readonly string[]): number {
    const held = callIds.filter((callId) => this.holding.has(callId));
    for (const callId of held) {
      this.hit(callId);
      this.goOn.get(callId)?.();
    }
    return held.length;
  }

  /** Counts the fault that met a held call; its next point is planned. */
  private hit(callId: string): void {
    const point = this.holding.get(callId);
    if (point === undefined) return;
    this.planned.set(callId, (this.planned.get(callId) ?? []).slice(1));
    this.done.set(callId, [...this.hitsOf(callId), point]);
    this.holding.delete(callId);
  }

  /** Notes how far a call is. */
  pass(callId: string, point: string): void {
    if (point === 'before-intent') this.underWay.add(callId);
    if (point === 'after-outcome') this.underWay.delete(callId);
  }

  isQuiet(): boolean {
    return [...this.underWay].every((callId) => this.holding.has(callId));
  }

  held(): readonly HeldCall[] {
    return [...this.holding].map(([callId, point]) => ({ callId, point }));
  }

  killed(): number {
    const count = this.holding.size;
    for (const callId of [...this.holding.keys()]) this.hit(callId);
    this.underWay.clear();
    this.isStriking = false;
    return count;
  }

  hitsOf(callId: string): readonly KillPoint[] {
    return this.done.get(callId) ?? [];
  }
}

/** Resolves when the client is gone: its process was killed. */
function clientGone(response: ServerResponse): Promise<'gone'> {
  return new Promise((resolve) => {
    response.once('close', () => {
      resolve('gone');
    });
  });
}

function answer(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Takes a request for an effect: holds it, drops it or applies it, as planned. */
async function takeEffect(
  body: unknown,
  response: ServerResponse,
  schedule: KillSchedule,
  ledger: LedgerEntry[],
): Promise<void> {
  const { callId, key, isKeyed } = effectSchema.parse(body);
  const apply = (): void => {
    if (!(isKeyed && ledger.some((entry) => entry.key === key)))
      ledger.push({ callId, key, atMs: Date.now() });
  };
  if (schedule.holds(callId, 'request-dropped')) {
    await schedule.hold(callId, response);
    return;
  }
  if (schedule.holds(callId, 'request-applied')) {
    await schedule.hold(callId, response);
    apply();
    return;
  }
  apply();
  if (schedule.holds(callId, 'applied') && (await schedule.hold(callId, response)) === 'gone')
    return;
  answer(response, { receipt: key });
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  schedule: KillSchedule,
  ledger: LedgerEntry[],
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bank');
  const callId = searchParams.get('call') ?? '';
  switch (pathname) {
    case '/effects':
      return takeEffect(JSON.parse(await text(request)), response, schedule, ledger);
    case '/points': {
      const point = pointSchema.parse(JSON.parse(await text(request)));
      schedule.pass(point.callId, point.point);
      if (
        schedule.holds(point.callId, point.point as KillPoint) &&
        (await schedule.hold(point.callId, response)) === 'gone'
      )
        return;
      answer(response, {});
      return;
    }
    case '/probe':
      if (schedule.holds(callId, 'in-probe')) await schedule.hold(callId, response);
      else answer(response, { applied: ledger.some((entry) => entry.callId === callId) });
      return;
    case '/balance':
      if (schedule.holds(callId, 'request-dropped')) await schedule.hold(callId, response);
      else answer(response, { entries: ledger.length });
      return;
    default:
      response.writeHead(404).end();
  }
}

/** Starts the bank on loopback. */
export async function startBank(): Promise<Bank> {
  const ledger: LedgerEntry[] = [];
  const schedule = new KillSchedule();
  const server: Server = createServer((request, response) => {
    route(request, response, schedule, ledger).catch((thrown: unknown) => {
      response.writeHead(400).end(String(thrown));
    });
  });
  server.keepAliveTimeout = 60_000;
  const { url, stop } = await listenOnLoopback(server);
  return {
    url,
    ledger,
    held: () => schedule.held(),
    isQuiet: () => schedule.isQuiet(),
    plan: (calls) => {
      schedule.add(calls);
    },
    strike: () => {
      schedule.strike();
    },
    killed: () => schedule.killed(),
    release: (callIds) => schedule.release(callIds),
    hitsOf: (callId) => schedule.hitsOf(callId),
    stop,
  };
}
