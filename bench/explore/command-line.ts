/** Command line of the explorer: what it searches, what people and programs read, the exit code. */
import { parseArgs } from 'node:util';
import { smallAgents } from './agents/all';
import type { Core } from './core';
import { loadCore } from './core';
import { mutants, withMutant } from './mutants';
import { actionsOf, play } from './play';
import type { Violation, Violations } from './search';
import { opened, searchAll, walkBothWays } from './search';
import type { SmallAgent } from './small-agent';
import type { ProgramOutput } from '../program';

const usage = `usage: npm run explore -- [options]

Plays every order of events of small agents on the core, with and without roll-overs, and looks for what must not be.

  --agents A,B     only these agents
  --states N       states of each agent at most; default 7000
  --walks N        long seeded ways of each agent; default 60
  --seed N         of the long ways; default 1
  --mutants        plants faults in copies of the core instead: all must be found
  --play "A; B"    plays these actions on the one agent of --agents, and prints events and commands
  --json           prints the summary as one line of JSON
`;

interface Effort {
  readonly states: number;
  readonly walks: number;
  readonly seed: number;
}

interface Sum {
  readonly states: number;
  readonly edges: number;
  readonly violations: readonly Violation[];
}

const exitRight = 0;
const exitWrong = 1;
const exitUsage = 2;

/** Explores one agent. */
export function explore(core: Core, name: string, agent: SmallAgent, effort: Effort): Sum {
  const found: Violations = new Map();
  const all = searchAll(core, name, agent, found, effort.states);
  const ways = walkBothWays(core, name, agent, found, effort.walks, effort.seed);
  return {
    states: all.states + ways.states,
    edges: all.edges + ways.edges,
    violations: [...found.values()],
  };
}

function violationText({ kind, text, times, actions }: Violation): string {
  return `  ${kind} (${times} times): ${text}\n    ${actions.join('; ')}`;
}

function exploreAll(
  agents: readonly (readonly [string, SmallAgent])[],
  effort: Effort,
  people: (line: string) => void,
): Sum {
  const core = loadCore();
  return agents.reduce<Sum>(
    (sum, [name, agent]) => {
      const { states, edges, violations } = explore(core, name, agent, effort);
      people(`${name}: ${states} states, ${edges} edges, ${violations.length} kinds of violation`);
      for (const violation of violations) people(violationText(violation));
      return {
        states: sum.states + states,
        edges: sum.edges + edges,
        violations: [...sum.violations, ...violations],
      };
    },
    { states: 0, edges: 0, violations: [] },
  );
}

/** Plants every fault; how many of them the explorer finds. */
function exploreMutants(
  effort: Effort,
  people: (line: string) => void,
): { readonly planted: number; readonly found: number } {
  const found = mutants.filter((mutant) => {
    const { agent: name, about } = mutant;
    const agent = smallAgents[name];
    if (agent === undefined) throw new Error(`The mutant "${about}" names no agent: ${name}`);
    const { violations } = withMutant(mutant, (directory) =>
      explore(loadCore(directory), name, agent, effort),
    );
    const kinds = violations.map(({ kind }) => kind).join(', ');
    people(
      `${violations.length > 0 ? 'found' : 'NOT FOUND'}: ${about}${kinds === '' ? '' : ` (${kinds})`}`,
    );
    return violations.length > 0;
  });
  return { planted: mutants.length, found: found.length };
}

/** Plays given actions, and prints what the core was told and what it commanded. */
function playOne(agent: SmallAgent, actions: string, people: (line: string) => void): number {
  const core = loadCore();
  const spoken: Core = {
    ...core,
    transition: (state, event) => {
      const [after, commands] = core.transition(state, event);
      people(`> ${JSON.stringify(event)}`);
      for (const command of commands) people(`  ${JSON.stringify(command)}`);
      return [after, commands];
    },
  };
  let [world] = opened(spoken, agent);
  for (const action of actions.split(';').map((each) => each.trim())) {
    const after = play(world, action);
    if (after === undefined) {
      people(`"${action}" is not possible. Possible: ${actionsOf(world).join('; ')}`);
      return exitUsage;
    }
    world = after;
    for (const { kind, text } of world.problems) people(`! ${kind}: ${text}`);
  }
  people(`Possible now: ${actionsOf(world).join('; ')}`);
  return exitRight;
}

function numberOf(text: string | undefined, usual: number, name: string): number {
  const value = text === undefined ? usual : Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} takes a whole number, not "${text ?? ''}".`);
}

function chosenAgents(list: string | undefined): readonly (readonly [string, SmallAgent])[] {
  const names = list?.split(',') ?? Object.keys(smallAgents);
  return names.map((name) => {
    const agent = smallAgents[name];
    if (agent !== undefined) return [name, agent] as const;
    throw new Error(`There is no agent "${name}". Agents: ${Object.keys(smallAgents).join(', ')}.`);
  });
}

const options = {
  agents: { type: 'string' },
  states: { type: 'string' },
  walks: { type: 'string' },
  seed: { type: 'string' },
  play: { type: 'string' },
  mutants: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

/**
 * Explores the core.
 *
 * Contract: with `--json` the last line of `result` is `{ states, edges, violations }`, or `{ planted, found }` with `--mutants`.
 * Returns the exit code: 0 all right, 1 a violation or a mutant that was not found, 2 wrong usage.
 */
export function runExplorer(args: readonly string[], { result, people }: ProgramOutput): number {
  try {
    const { values } = parseArgs({ args: [...args], options });
    const agents = chosenAgents(values.agents);
    const effort = {
      states: numberOf(values.states, 7_000, 'states'),
      walks: numberOf(values.walks, 60, 'walks'),
      seed: numberOf(values.seed, 1, 'seed'),
    };
    const [only] = agents;
    if (values.play !== undefined) {
      if (agents.length !== 1 || only === undefined)
        throw new Error('--play needs one agent: --agents NAME.');
      return playOne(only[1], values.play, people);
    }
    if (values.mutants) {
      const { planted, found } = exploreMutants(effort, people);
      result(
        values.json
          ? JSON.stringify({ planted, found })
          : `${found} of ${planted} planted faults were found.`,
      );
      return found === planted ? exitRight : exitWrong;
    }
    const { states, edges, violations } = exploreAll(agents, effort, people);
    const count = violations.length;
    result(
      values.json
        ? JSON.stringify({ states, edges, violations: count })
        : `${states} states, ${edges} edges, ${count} kinds of violation`,
    );
    return count === 0 ? exitRight : exitWrong;
  } catch (thrown) {
    people(`${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${usage}`);
    return exitUsage;
  }
}
