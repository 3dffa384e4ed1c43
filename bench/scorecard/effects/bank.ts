/** The world outside: a bank over HTTP with a ledger of what was really applied, which also holds calls at planned moments. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { KillPoint, PlannedCall } from './kill-plan';

/** One effect that happened. */
export interface LedgerEntry {
  readonly callId: string;
  readonly key: string;
}

const effectSchema = z.object({ callId: z.string(), key: z.string(), isKeyed: z.boolean() });
const pointSchema = z.object({ callId: z.string(), point: z.string() });

/** A call that is held; its worker is to be killed. */
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
  /** Kills of a call so far, by the points at which it was held. */
  killsOf(callId: string): readonly KillPoint[];
  stop(): Promise<void>;
}

class KillSchedule {
  private readonly planned = new Map<string, readonly KillPoint[]>();
  private readonly done = new Map<string, readonly KillPoint[]>();
  private readonly holding = new Map<string, KillPoint>();
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

  /** Holds a call until its client is gone; one that went away by itself was not killed, and is held again next time. */
  async hold(callId: string, response: ServerResponse): Promise<void> {
    await clientGone(response);
    if (!this.isStriking) this.holding.delete(callId);
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
    for (const [callId, point] of this.holding) {
      this.planned.set(callId, (this.planned.get(callId) ?? []).slice(1));
      this.done.set(callId, [...this.killsOf(callId), point]);
    }
    this.holding.clear();
    this.underWay.clear();
    this.isStriking = false;
    return count;
  }

  killsOf(callId: string): readonly KillPoint[] {
    return this.done.get(callId) ?? [];
  }
}

/** Resolves when the client is gone: its process was killed. */
function clientGone(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
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
    if (!(isKeyed && ledger.some((entry) => entry.key === key))) ledger.push({ callId, key });
  };
  if (schedule.holds(callId, 'request-dropped')) return schedule.hold(callId, response);
  if (schedule.holds(callId, 'request-applied')) {
    await schedule.hold(callId, response);
    apply();
    return;
  }
  apply();
  if (schedule.holds(callId, 'applied')) return schedule.hold(callId, response);
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
      if (schedule.holds(point.callId, point.point as KillPoint))
        return schedule.hold(point.callId, response);
      answer(response, {});
      return;
    }
    case '/probe':
      if (schedule.holds(callId, 'in-probe')) return schedule.hold(callId, response);
      answer(response, { applied: ledger.some((entry) => entry.callId === callId) });
      return;
    case '/balance':
      if (schedule.holds(callId, 'request-dropped')) return schedule.hold(callId, response);
      answer(response, { entries: ledger.length });
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
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
    killsOf: (callId) => schedule.killsOf(callId),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
