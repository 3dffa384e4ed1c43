/** What breaks, when and for how long: all of it from the seed, before anything starts. */
import { randomOf } from '../random';

/** Kinds of faults. `postgres` is Temporal's own database, `store` that of Holdfast. */
export const faultKinds = [
  'kill',
  'stop',
  'block',
  'roll',
  'clock',
  'disk',
  'gateway',
  'net',
  'store',
  'temporal',
  'postgres',
  'deploy',
] as const;

/** One kind of fault. */
export type FaultKind = (typeof faultKinds)[number];

/** One planned fault. */
export interface PlannedFault {
  /** Milliseconds after the runs have begun. */
  readonly atMs: number;
  readonly kind: FaultKind;
  /** The process or link that it meets, such as `worker 1` or `worker 1 to store`. */
  readonly target: string;
  /** Milliseconds until it is over; 0 for a fault that is over at once. */
  readonly forMs: number;
  /** How it is done, such as a signal or what happens to a connection. */
  readonly how: string;
}

/** Processes of the world. */
export const workerCount = 3;
/** Gateways of the world. */
export const gatewayCount = 2;
/** Milliseconds that a blocked event loop stays blocked: more than the agents' heartbeat timeout. */
export const blockMs = 15_000;

const numbered = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);

const workers = numbered('worker', workerCount);
const gateways = numbered('gateway', gatewayCount);

/** Every TCP connection of the world goes over one of these. */
export const links: readonly string[] = [
  ...workers.flatMap((worker) =>
    ['temporal', 'store', 'vendors', 'bank'].map((server) => `${worker} to ${server}`),
  ),
  ...gateways.flatMap((gateway) =>
    ['temporal', 'store'].map((server) => `${gateway} to ${server}`),
  ),
  ...gateways.map((gateway) => `clients to ${gateway}`),
];

/** What one kind may look like; the shares say how often it comes. */
interface Shape {
  readonly share: number;
  readonly targets: readonly string[];
  readonly hows: readonly string[];
  /** Shortest and longest, in milliseconds. */
  readonly forMs: readonly [number, number];
}

const atOnce = [0, 0] as const;
const temporal = ['temporal'];

const shapes: Readonly<Record<FaultKind, Shape>> = {
  kill: { share: 4, targets: workers, hows: ['SIGKILL'], forMs: [500, 4_000] },
  stop: { share: 3, targets: workers, hows: ['SIGSTOP'], forMs: [5_000, 40_000] },
  block: { share: 2, targets: workers, hows: ['event loop'], forMs: [blockMs, blockMs] },
  roll: { share: 2, targets: workers, hows: ['SIGTERM'], forMs: atOnce },
  clock: { share: 2, targets: workers, hows: ['+3h', '-3h', '+40d', '-90s'], forMs: atOnce },
  disk: { share: 1, targets: workers, hows: ['no more bytes'], forMs: [5_000, 30_000] },
  gateway: { share: 2, targets: gateways, hows: ['SIGKILL', 'SIGTERM'], forMs: [0, 5_000] },
  net: {
    share: 9,
    targets: links,
    hows: ['cut', 'refuse', 'delay', 'hold', 'hold then cut', 'lose replies'],
    forMs: [2_000, 30_000],
  },
  store: { share: 1, targets: ['store'], hows: ['SIGKILL', 'restart'], forMs: [0, 15_000] },
  temporal: { share: 1, targets: temporal, hows: ['SIGKILL', 'SIGTERM'], forMs: [0, 8_000] },
  postgres: { share: 1, targets: ['postgres'], hows: ['immediate', 'fast'], forMs: atOnce },
  deploy: { share: 1, targets: ['workers'], hows: ['other build id'], forMs: atOnce },
};

/** Shortest and longest pause between two faults, in milliseconds. */
const pauseMs = [2_500, 8_000] as const;

/**
 * The faults of a seed.
 *
 * Contract: the same arguments give the same faults. Each kind of `only` comes once, as far as the time allows, before one comes
 * again.
 */
export function planFaults(
  seed: number,
  minutes: number,
  only: readonly FaultKind[] = faultKinds,
): readonly PlannedFault[] {
  const random = randomOf(seed);
  const between = ([least, most]: readonly [number, number]): number =>
    Math.round(least + random() * (most - least));
  const pick = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random() * items.length)] as Item;
  const weighted = only.flatMap((kind) => Array<FaultKind>(shapes[kind].share).fill(kind));
  const first = [...only].map((kind) => ({ kind, at: random() }));
  const once = first.toSorted((left, right) => left.at - right.at).map(({ kind }) => kind);
  const faults: PlannedFault[] = [];
  for (let atMs = between(pauseMs); atMs < minutes * 60_000; atMs += between(pauseMs)) {
    const kind = once.shift() ?? pick(weighted);
    const { targets, hows, forMs } = shapes[kind];
    faults.push({ atMs, kind, target: pick(targets), forMs: between(forMs), how: pick(hows) });
  }
  return faults;
}

/** A fault in words. */
export function faultText({ atMs, kind, target, forMs, how }: PlannedFault): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return `${seconds(atMs)}: ${kind} ${target}, ${how}${forMs === 0 ? '' : `, for ${seconds(forMs)}`}`;
}
