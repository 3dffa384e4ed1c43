/** Where in a tool's life its worker is killed: 500 kills over the four effects, each call named and planned. */
import type { ToolEffect } from '../../../workflows/core/tools/ports';

/** A moment in a tool call's life at which the call is held until its worker is dead. */
export type KillPoint =
  /** The attempt has begun; nothing is written. */
  | 'before-intent'
  /** The intent is in the store; nothing was sent. */
  | 'after-intent'
  /** The tool runs (for `read`, which writes no intent). */
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

/** One call, and the points at which it is held, one attempt after the other. */
export interface PlannedCall {
  /** Names the call at the bank, too. */
  readonly id: string;
  readonly runId: string;
  readonly tool: PlannedTool;
  readonly points: readonly KillPoint[];
}

type Life = readonly KillPoint[];

const recorded: readonly Life[] = [
  ['before-intent'],
  ['after-intent'],
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
      return { id: `${runId}:${tool}`, runId, tool, points };
    }),
  );
}
