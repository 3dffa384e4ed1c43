/** The ways through a small agent's states: all of them up to a depth, and long seeded ones. */
import { createHash } from 'node:crypto';
import { inspect, isDeepStrictEqual } from 'node:util';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { RunState } from '../../workflows/core/run/state';
import { randomOf } from '../random';
import type { Core } from './core';
import { actionsOf, newWorld, play, rollsOverAtOnce, runKey } from './play';
import type { SmallAgent } from './small-agent';
import { drain, problemsWithStrangers } from './strangers';
import type { Action, Problem, World } from './world';

/** A problem, and the actions that lead to it. */
export interface Violation extends Problem {
  readonly agent: string;
  readonly actions: readonly Action[];
  readonly times: number;
}

/** What one agent's exploration counted. */
export interface Explored {
  readonly states: number;
  readonly edges: number;
}

/** Violations found so far: the shortest way to each kind, by agent and kind. */
export type Violations = Map<string, Violation>;

/** Notes the problems of a world that a way leads to. */
function note(
  found: Violations,
  agent: string,
  actions: readonly Action[],
  problems: readonly Problem[],
): void {
  for (const problem of problems) {
    const key = `${agent}: ${problem.kind}`;
    const known = found.get(key);
    const times = (known?.times ?? 0) + 1;
    const isShorter = known === undefined || actions.length < known.actions.length;
    found.set(key, isShorter ? { ...problem, agent, actions, times } : { ...known, times });
  }
}

/** The agent's world after its opening, and the actions of that. */
export function opened(core: Core, agent: SmallAgent): readonly [World, readonly Action[]] {
  const prefix = shortHash(runKey);
  const actions = (agent.opening ?? []).map((action) => action.replace('PREFIX', prefix));
  const world = actions.reduce(
    (before, action) => {
      const after = play(before, action);
      if (after === undefined)
        throw new Error(
          `The opening's action "${action}" is not possible. Possible: ${actionsOf(before).join(', ')}.`,
        );
      return after;
    },
    newWorld(core, agent),
  );
  return [world, actions];
}

/** Identity of a state: two worlds with the same one have the same futures. */
function identity({ state, nowMs, ...world }: World): string {
  const { counters, snapshot: _same, request: _too, ...rest } = state;
  const { events: _grows, segments: _grow, ...counted } = counters;
  const parts = [
    rest,
    counted,
    [...world.inFlight].map(([id, { isCancelled }]) => [id, isCancelled]),
    [...world.notifications],
    [...world.timers].map(([id, dueMs]) => [id, dueMs - nowMs]),
    world.lateTimers,
    world.wantsRollOver,
    world.people,
    [...world.calls],
  ];
  return createHash('md5').update(JSON.stringify(parts)).digest('base64');
}

/**
 * Plays every order of events up to the agent's depth, each with and without a roll-over, as far as `maxStates` go.
 *
 * Contract: states with the same identity are expanded once.
 */
export function searchAll(
  core: Core,
  name: string,
  agent: SmallAgent,
  found: Violations,
  maxStates: number,
): Explored {
  const [start, opening] = opened(core, agent);
  const seen = new Set([identity(start)]);
  let frontier: (readonly [World, readonly Action[]])[] = [[start, opening]];
  let edges = 0;
  for (let depth = 0; depth < agent.depth && frontier.length > 0; depth += 1) {
    const next: typeof frontier = [];
    for (const [world, way] of frontier)
      for (const action of withRollOvers(actionsOf(world))) {
        if (seen.size >= maxStates) return { states: seen.size, edges };
        const after = play(world, action);
        if (after === undefined) continue;
        edges += 1;
        const actions = [...way, action];
        note(found, name, actions, after.problems);
        const id = identity(after);
        if (seen.has(id)) continue;
        seen.add(id);
        if (after.state.phase.type !== 'ended') next.push([after, actions]);
      }
    frontier = next;
  }
  return { states: seen.size, edges };
}

function withRollOvers(actions: readonly Action[]): readonly Action[] {
  return actions.flatMap((action) =>
    action === 'roll' || action.startsWith('late') ? [action] : [action, `${action} +R`],
  );
}

/** Whole numbers from 0, below `limit`. */
type Random = (limit: number) => number;

/** Milliseconds that pass with each action of a long way. */
const stepMs = 700;
/** One in so many states of long ways is looked at closely: strangers, and a kind world. */
const closeLooks = 7;
/** Actions of a long way. */
const walkActions = 50;

const endsSoon = /^(stop|cancel|fire active)/;
const mayEnd =
  /=(answer|complete|give-up|ask-give-up|stop|x:(worker_lost|auth|agent_unknown|tool_infrastructure|context_overflow).*)$/;
const bySomebody = /^(escalate|say)/;

/** What ends a run is rare, so that ways are long. */
function weightOf(action: Action): number {
  if (endsSoon.test(action)) return 1;
  if (mayEnd.test(action)) return 3;
  return bySomebody.test(action) ? 8 : 40;
}

function pick(actions: readonly Action[], random: Random): Action {
  const weights = actions.map(weightOf);
  let left = random(weights.reduce((sum, weight) => sum + weight, 0));
  const index = weights.findIndex((weight) => (left -= weight) < 0);
  return actions[index] ?? '';
}

/** One long way from the opening on, without roll-overs. */
export function walk(start: World, random: Random): readonly Action[] {
  const actions: Action[] = [];
  let world = start;
  while (actions.length < walkActions && world.state.phase.type !== 'ended') {
    // What a timer of ten years shows begins again with each segment.
    const can = actionsOf(world).filter((action) => !/^(roll|fire mark-\d+)$/.test(action));
    if (can.length === 0) break;
    const action = pick(can, random);
    const after = play(world, action, stepMs);
    if (after === undefined) break;
    world = after;
    actions.push(action);
  }
  return actions;
}

/** Plays a way; stops where an action is not possible. */
function follow(
  start: World,
  way: readonly Action[],
  atEach: (world: World, played: readonly Action[]) => void,
): World | undefined {
  let world = start;
  const played: Action[] = [];
  for (const action of way) {
    const active = world.state.guard.activeTimer?.timerId;
    // Timers of active time have other ids after a roll-over.
    const now = action.replace(/^fire active-\d+/, `fire ${active ?? ''}`);
    const after = play(world, now, stepMs);
    if (after === undefined) return undefined;
    world = after;
    played.push(now);
    atEach(world, played);
  }
  return world;
}

/** What a roll-over must not change. Ids of timers are counted by segment. */
function lasting({ counters, guard, notifications, ...rest }: RunState): unknown {
  const { segments: _other, timers: _too, ...counted } = counters;
  const { activeTimer: _new, activeTimers: _newer, ...guarded } = guard;
  const state = { ...rest, counted, guarded, notified: notifications.count };
  return JSON.parse(
    JSON.stringify(state).replace(
      /"(decision|store|provider|active|recovery|mark)-\d+"/g,
      '"timer"',
    ),
  );
}

/** Milliseconds by which times may differ: a timer that was due when a segment began fires later. */
const toleratedMs = 1_000;

/** Paths at which two values differ. */
function differences(one: unknown, other: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(one, other)) return [];
  if (
    typeof one === 'number' &&
    typeof other === 'number' &&
    path.endsWith('Ms') &&
    Math.abs(one - other) <= toleratedMs
  )
    return [];
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return [`${path}: ${inspect(one)}, ${inspect(other)}`];
  const [left, right] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.flatMap((key) => differences(left[key], right[key], `${path}.${key}`));
}

/** Long ways: each plays once plainly, and once with a roll-over wherever one is possible: both must end alike. */
export function walkBothWays(
  core: Core,
  name: string,
  agent: SmallAgent,
  found: Violations,
  walks: number,
  seed: number,
): Explored {
  const next = randomOf(seed);
  const random: Random = (limit) => Math.floor(next() * limit);
  const [start, opening] = opened(core, agent);
  let edges = 0;
  for (let index = 0; index < walks; index += 1) {
    const way = walk(start, random);
    const watch = (world: World, played: readonly Action[]): void => {
      edges += 1;
      const isLookedAt = edges % closeLooks === 0 && world.state.phase.type !== 'ended';
      const more = isLookedAt ? [...problemsWithStrangers(world), ...drain(world)] : [];
      note(found, name, [...opening, ...played], [...world.problems, ...more]);
    };
    const plain = follow(start, way, watch);
    const isComparable = way.every((action) => !/^(late|n\d)/.test(action));
    const rolling = way.map((action) =>
      action.startsWith('late') ? action : `${action}${rollsOverAtOnce}`,
    );
    const rolled = follow(start, rolling, watch);
    if (plain === undefined || !isComparable) continue;
    if (rolled === undefined) {
      note(
        found,
        name,
        [...opening, ...rolling],
        [{ kind: 'cannot go on after a roll-over', text: '' }],
      );
      continue;
    }
    const changed = differences(lasting(plain.state), lasting(rolled.state), 'state');
    if (changed.length > 0)
      note(
        found,
        name,
        [...opening, ...rolling],
        [{ kind: 'is another run after a roll-over', text: changed.slice(0, 3).join(' | ') }],
      );
  }
  return { states: 0, edges };
}
