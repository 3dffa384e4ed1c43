/** Which calls break in the middle, how, and what happens to their runs. */
import type { AgentDefinition } from '../../../activities/definitions/agent';

/** How a round's calls break: their worker gets SIGKILL, or their connections are cut. */
type Blow = 'kill' | 'cut';
/** What follows: the call is tried again, its route is cooling down by then (`rest`), or its run is stopped or cancelled before. */
type Sequel = 'retry' | 'rest' | 'stop' | 'cancel';

/** Calls that are broken together. */
export interface KillRound {
  /** Each round has routes of its own, since all runs share a route's health. */
  readonly index: number;
  readonly blow: Blow;
  readonly sequel: Sequel;
  readonly wire: 'anthropic' | 'responses';
  readonly runs: number;
  /** If short, the last heartbeat has much of what had arrived; if long, it may be the one at the call's start. */
  readonly heartbeatTimeoutMs: number;
}

const sequels: readonly Sequel[] = ['retry', 'rest', 'stop', 'cancel'];
const wires = ['anthropic', 'responses'] as const;

const plans: readonly Omit<KillRound, 'index' | 'heartbeatTimeoutMs'>[] = [
  ...sequels.flatMap((sequel) =>
    wires.map((wire) => ({ blow: 'kill', sequel, wire, runs: 5 }) as const),
  ),
  ...wires.map((wire) => ({ blow: 'cut', sequel: 'retry', wire, runs: 8 }) as const),
];

/** All rounds; each is played once with a vendor that bills what it sent, and once with one that bills the whole reply. */
export const killRounds: readonly KillRound[] = plans.map((plan, index) => ({
  ...plan,
  index,
  heartbeatTimeoutMs: index % 4 < 2 ? 1_500 : 5_000,
}));

/** Task queue of the killed workers. */
export const killTaskQueue = 'kills';

/** Name of a round's agent. */
export function agentOf({ index }: KillRound): string {
  return `worker-${index}`;
}

/** A round's routes: the one whose calls are broken comes first. */
export function routesOf({ index, wire }: KillRound): AgentDefinition['chain'] {
  const day = String(index + 1).padStart(2, '0');
  const sizes = { maxOutputTokens: 1_500, windowTokens: 200_000 };
  const claude = { provider: 'anthropic', model: `claude-haiku-4-5-202601${day}`, ...sizes };
  // The catalog knows only the dates that exist.
  const prices = { input: 0.25, cacheRead: 0.025, cacheWrite: 0.25, output: 2 };
  const gpt = { provider: 'openai', model: `gpt-5-mini-2026-01-${day}`, prices, ...sizes };
  return wire === 'anthropic' ? [claude, gpt] : [gpt, claude];
}
