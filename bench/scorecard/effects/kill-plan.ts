/** Where in a tool's life its worker is killed or stalled: 500 kills and 280 stalls, each call named and planned. */
import type { ToolEffect } from '../../../workflows/core/tools/ports';

/** A moment in a tool call's life at which the call is held until its worker is dead, or stalled and awake again. */
export type KillPoint =
  /** The attempt has begun; nothing is written. */
  | 'before-intent'
  /** The intent is in the store; the effect is not marked as started. */
  | 'after-intent'
  /** It is marked as started; the tool does not run yet. */
  | 'executing'
  /** The tool runs; nothing was sent. A stall here is the window that no store can close (ADR 0031). */
  | 'started'
  /** The bank has the request, and drops it when the client dies. */
  | 'request-dropped'
  /** The bank has the request, and applies it although the client dies. */
  | 'request-applied'
  /** The effect has happened; the answer was never sent. */
  | 'applied'
  /** The tool has the answer; nothing is stored. */
  | 'answered'
  /** The result is in the store; the outcome is not recorded. */
  | 'before-outcome'
  /** The outcome is recorded; the activity has not completed. */
  | 'after-outcome'
  /** A later attempt asks its probe. */
  | 'in-probe';

/** Tools of the agent under test; `ask` is irreversible too, and asks a person. */
export type PlannedTool = ToolEffect | 'ask';

/**
 * What happens to a worker whose calls are held: SIGKILL; a stall until other workers have ended the runs; a slow store; SIGKILL in
 * a fork of a run that has made the same calls; SIGKILL and the end of the run, which another run continues.
 */
export type FaultKind = 'kill' | 'stall' | 'slow' | 'fork' | 'continue';

/** One call, and the points at which it is held, one attempt after the other. */
export interface PlannedCall {
  readonly fault: FaultKind;
  /** Names the call at the bank, too. */
  readonly id: string;
  readonly runId: string;
  readonly tool: PlannedTool;
  readonly points: readonly KillPoint[];
  /** Id in the ledger, if it differs from the call's own: that of the forked run's call. */
  readonly effectId?: string;
}

type Life = readonly KillPoint[];

const recorded: readonly Life[] = [
  ['before-intent'],
  ['after-intent'],
  ['executing'],
  ['started'],
  ['request-dropped'],
  ['request-applied'],
  ['applied'],
  ['answered'],
  ['before-outcome'],
  ['after-outcome'],
];

const irreversible: readonly Life[] = [
  ...recorded,
  ['before-intent', 'after-intent'],
  ['before-intent', 'applied'],
];

const lives: Readonly<Record<PlannedTool, readonly Life[]>> = {
  read: [['started'], ['request-dropped'], ['answered'], ['started', 'answered']],
  keyed: [
    ...recorded,
    ['applied', 'request-dropped'],
    ['after-intent', 'applied'],
    ['request-dropped', 'answered'],
    ['request-applied', 'before-outcome'],
  ],
  reconcilable: [
    ...recorded,
    ['applied', 'in-probe'],
    ['request-dropped', 'applied'],
    ['after-intent', 'request-applied'],
    ['answered', 'in-probe', 'in-probe'],
  ],
  irreversible,
  ask: irreversible,
};

/** Kills of each tool, so that each of the four effects has a quarter of them all. */
function killsOf(tool: PlannedTool, kills: number): number {
  const quarter = Math.round(kills / 4);
  if (tool === 'irreversible') return Math.ceil(quarter / 2);
  return tool === 'ask' ? Math.floor(quarter / 2) : quarter;
}

const tools: readonly PlannedTool[] = ['read', 'keyed', 'reconcilable', 'irreversible', 'ask'];

/** The lives of one tool, in turn, with exactly so many kills. */
function livesOf(tool: PlannedTool, kills: number): readonly Life[] {
  const taken: Life[] = [];
  let left = killsOf(tool, kills);
  for (let turn = 0; left > 0; turn++) {
    const life = lives[tool][turn % lives[tool].length] ?? [];
    taken.push(life.slice(0, left));
    left -= Math.min(life.length, left);
  }
  return taken;
}

/** The calls of all runs: each run has at most one call of each tool. */
export function planKills(kills: number): readonly PlannedCall[] {
  return tools.flatMap((tool) =>
    livesOf(tool, kills).map((points, index) => {
      const runId = `effects-${index}`;
      return { id: `${runId}:${tool}`, runId, tool, points, fault: 'kill' };
    }),
  );
}

/** A worker that is stalled once, or whose store is slow once, while the calls of one run are held at one point. */
export interface PlannedStall {
  readonly runId: string;
  /** `stop`: SIGSTOP, then SIGCONT. `block`: its event loop is blocked. `slow`: its store answers late, and nothing else. */
  readonly how: 'stop' | 'block' | 'slow';
  readonly point: KillPoint;
  readonly calls: readonly PlannedCall[];
}

/** Points of stalls, in the order of a tool's life. */
const stallPoints: readonly KillPoint[] = [
  'before-intent',
  'after-intent',
  'executing',
  'started',
  'applied',
  'before-outcome',
];
/** Those that a slow store has. */
const storePoints: readonly KillPoint[] = [
  'before-intent',
  'after-intent',
  'executing',
  'before-outcome',
];

function plannedStall(how: PlannedStall['how'], index: number): PlannedStall {
  const points = how === 'slow' ? storePoints : stallPoints;
  const point = points[index % points.length] ?? 'before-intent';
  const runId = `effects-${how}-${index}`;
  const fault = how === 'slow' ? 'slow' : 'stall';
  const calls = tools
    .filter((tool) => tool !== 'read')
    .map((tool) => ({ id: `${runId}:${tool}`, runId, tool, points: [point], fault }) as const);
  return { runId, how, point, calls };
}

/** So many separate stalls, half of them stops, and so many slow stores; each hits one call of each tool but `read`. */
export function planStalls(stalls: number, slow: number): readonly PlannedStall[] {
  const stops = Math.ceil(stalls / 2);
  return [
    ...Array.from({ length: stops }, (_, index) => plannedStall('stop', index)),
    ...Array.from({ length: stalls - stops }, (_, index) => plannedStall('block', stops + index)),
    ...Array.from({ length: slow }, (_, index) => plannedStall('slow', index)),
  ];
}

/** A run that is forked or continued, the run that does so, and the calls of both. */
export interface PlannedFork {
  readonly runId: string;
  /** The run that is forked or continued; its calls have the ids of the effects. */
  readonly firstId: string;
  /** In a fork the calls of the fork are hit, else those of the first run. */
  readonly how: 'fork' | 'continue';
  readonly calls: readonly PlannedCall[];
}

/** Points of a call that is answered from a record: its tool never runs. */
const forkPoints: readonly KillPoint[] = [
  'before-intent',
  'after-intent',
  'before-outcome',
  'after-outcome',
];

/** Plans this many forks and continued runs, hit at all points in turn; each has one call of each tool but `read`. */
export function planForks(forks: number, continued: number): readonly PlannedFork[] {
  const planned = (how: PlannedFork['how'], index: number): PlannedFork => {
    const points = how === 'fork' ? forkPoints : recorded.flat();
    const point = points[index % points.length] ?? 'before-intent';
    const firstId = `effects-${how}-first-${index}`;
    const runId = `effects-${how}-${index}`;
    const calls = tools
      .filter((tool) => tool !== 'read')
      .map((tool): PlannedCall => {
        const effectId = `${firstId}:${tool}`;
        const id = how === 'fork' ? `${runId}:${tool}` : effectId;
        return { id, runId, tool, points: [point], fault: how, effectId };
      });
    return { runId, firstId, how, calls };
  };
  return [
    ...Array.from({ length: forks }, (_, index) => planned('fork', index)),
    ...Array.from({ length: continued }, (_, index) => planned('continue', index)),
  ];
}
