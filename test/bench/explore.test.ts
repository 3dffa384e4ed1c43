/** The explorer of the core: a short search of every small agent finds nothing, and planted faults are found. */
import { smallAgents } from '../../bench/explore/agents/all';
import { explore, runExplorer } from '../../bench/explore/command-line';
import type { Core } from '../../bench/explore/core';
import { loadCore } from '../../bench/explore/core';
import { mutants } from '../../bench/explore/mutants';

const core = loadCore();
const effort = { states: 300, walks: 4, seed: 1 };

function agentNamed(name: string) {
  const agent = smallAgents[name];
  if (agent === undefined) throw new Error(`no agent ${name}`);
  return agent;
}

test.each(Object.keys(smallAgents))('finds nothing in a short search of %s', (name) => {
  const { states, violations } = explore(core, name, agentNamed(name), effort);
  expect(violations).toEqual([]);
  expect(states).toBeGreaterThan(10);
});

/** The core with a fault at its edge. */
const broken: readonly (readonly [string, Partial<Core>])[] = [
  [
    'throws',
    {
      transition: (state, event) => {
        if (event.type === 'stop-requested') throw new Error('planted');
        return core.transition(state, event);
      },
    },
  ],
  [
    'runs an unapproved call',
    {
      transition: (state, event) => {
        if (event.type !== 'model-call-completed') return core.transition(state, event);
        const toolCalls = event.result.toolCalls.map(({ approvalDigest, ...call }) => call);
        return core.transition(state, { ...event, result: { ...event.result, toolCalls } });
      },
    },
  ],
  [
    "loses a person's words",
    { restoreRunState: (value) => ({ ...core.restoreRunState(value), inbox: [] }) },
  ],
];

test.each(broken)('finds a core that %s, with a way to it', (kind, fault) => {
  const { violations } = explore({ ...core, ...fault }, 'par', agentNamed('par'), effort);
  const found = violations.find((violation) => violation.kind === kind);
  expect(found?.actions.length).toBeGreaterThan(0);
});

test('names an agent for every mutant', () => {
  expect(mutants.filter(({ agent }) => !Object.hasOwn(smallAgents, agent))).toEqual([]);
});

function run(...args: readonly string[]): readonly [number, readonly string[], string] {
  const [results, people]: [string[], string[]] = [[], []];
  const code = runExplorer(args, {
    result: (line) => results.push(line),
    people: (line) => people.push(line),
  });
  return [code, results, people.join('\n')];
}

test('prints its sums as JSON', () => {
  const [code, results] = run('--agents', 'last', '--walks', '2', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(results.at(-1) ?? '')).toMatchObject({ violations: 0 });
});

test('plays single actions', () => {
  const [code, , people] = run('--agents', 'last', '--play', 'prepare=ok; m1=complete');
  expect(code).toBe(0);
  expect(people).toContain('"type":"end-run"');
});

test.each([
  [['--agents', 'nobody'], 'There is no agent "nobody". Agents: '],
  [['--states', 'many'], '--states takes a whole number, not "many".'],
  [['--play', 'm1=answer'], '--play needs one agent: --agents NAME.'],
  [['--agents', 'last', '--play', 'm9=answer'], '"m9=answer" is not possible. Possible: '],
  [['--unknown'], "Unknown option '--unknown'"],
])('refuses %j', (args, problem) => {
  const [code, results, people] = run(...args);
  expect([code, results]).toEqual([2, []]);
  expect(people).toContain(problem);
});
