/** What a tenant's requests to models have used on one day, and the places of its runs: how each report changes the record. */
import { z } from 'zod';
import type { Allowance } from '../../../workflows/core/budget/spend';
import { without } from '../../../workflows/core/json';

/** Money in nanodollars, and tokens. */
export type TenantAmount = Required<Allowance>;

/** One request to a model. */
export interface TenantRequest {
  readonly tenant: string;
  /** The UTC day that it counts for: `2026-11-29`. */
  readonly day: string;
  /** The call that it is a try of: stable over attempts and workers. A call has one request in flight. */
  readonly call: string;
  /** Its own, so that another try of the same call is told from it. */
  readonly id: string;
  /** From then on nobody reports it any more. Milliseconds since the epoch. */
  readonly untilMs: number;
}

const amountShape = z.object({ nanoUsd: z.number(), tokens: z.number() });
const heldShape = amountShape.extend({ id: z.string(), untilMs: z.number() });
const dayShape = z.object({
  tenant: z.string(),
  day: z.string(),
  /** Of requests that have ended, or that nobody will report: these at their upper bound. */
  spent: amountShape,
  /** That were begun: one that never left its worker is among them. */
  requests: z.number(),
  /** Of requests in flight, at most, by their calls. */
  held: z.record(z.string(), heldShape),
});

/** What a tenant has used on a day. */
export type TenantDay = Readonly<z.infer<typeof dayShape>>;

/** A run that holds one of its tenant's places, and since when, in milliseconds since the epoch. */
export interface RunPlace {
  readonly namespace: string;
  readonly runId: string;
  readonly sinceMs: number;
}

const placesShape = z.object({
  tenant: z.string(),
  places: z.array(z.object({ namespace: z.string(), runId: z.string(), sinceMs: z.number() })),
});

/** The places of a tenant's runs. */
export type TenantPlaces = Readonly<z.infer<typeof placesShape>>;

/** A day on which nothing has been used yet. */
export function newDay(tenant: string, day: string): TenantDay {
  return { tenant, day, spent: { nanoUsd: 0, tokens: 0 }, requests: 0, held: {} };
}

/** The UTC day of a time. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function plus(left: TenantAmount, right: TenantAmount): TenantAmount {
  return { nanoUsd: left.nanoUsd + right.nanoUsd, tokens: left.tokens + right.tokens };
}

/** The sum of what is held. */
export function heldOf({ held }: TenantDay): TenantAmount {
  return Object.values(held).reduce<TenantAmount>(plus, { nanoUsd: 0, tokens: 0 });
}

/**
 * The day as a request finds it. What is held for an earlier try of its call, or longer than until it was due, counts as spent:
 * nobody can tell any more what that has used. A request that holds something already holds nothing yet: it asks again.
 */
export function beforeRequest(
  stored: TenantDay,
  { call, id }: TenantRequest,
  atMs: number,
): TenantDay {
  const isOwn = stored.held[call]?.id === id;
  const known = isOwn
    ? { ...stored, requests: stored.requests - 1, held: without(stored.held, call) }
    : stored;
  return Object.entries(known.held).reduce(
    (day, [other, amount]) =>
      other === call || amount.untilMs <= atMs
        ? { ...day, spent: plus(day.spent, amount), held: without(day.held, other) }
        : day,
    known,
  );
}

/** Holds the most that a request may use. Contract: `known` is as `beforeRequest` made it. */
export function afterHold(
  known: TenantDay,
  { call, id, untilMs }: TenantRequest,
  most: TenantAmount,
): TenantDay {
  const held = { ...known.held, [call]: { ...most, id, untilMs } };
  return { ...known, requests: known.requests + 1, held };
}

/** Counts what a request has used, once: a request of which nothing is held was counted before. */
export function afterRequest(
  known: TenantDay,
  { call, id }: TenantRequest,
  used: TenantAmount,
): TenantDay {
  if (known.held[call]?.id !== id) return known;
  return { ...known, spent: plus(known.spent, used), held: without(known.held, call) };
}

/** Gives a run a place; undefined if all `most` are taken. A run that has one keeps it. */
export function afterEntry(
  known: TenantPlaces,
  run: RunPlace,
  most: number,
): TenantPlaces | undefined {
  const others = known.places.filter((place) => !isSameRun(place, run));
  return others.length < most ? { ...known, places: [...others, run] } : undefined;
}

/** Frees places, unless a run with the same id has entered again meanwhile. */
export function afterEnds(known: TenantPlaces, ended: readonly RunPlace[]): TenantPlaces {
  const isOver = (place: RunPlace): boolean =>
    ended.some((each) => isSameRun(each, place) && each.sinceMs === place.sinceMs);
  return { ...known, places: known.places.filter((place) => !isOver(place)) };
}

function isSameRun(one: RunPlace, other: RunPlace): boolean {
  return one.namespace === other.namespace && one.runId === other.runId;
}

/** Whether a stored value is a day. */
export function isDay(value: unknown): value is TenantDay {
  return dayShape.safeParse(value).success;
}

/** Whether a stored value is a list of places. */
export function isPlaces(value: unknown): value is TenantPlaces {
  return placesShape.safeParse(value).success;
}
