/** Follows CONTRIBUTING, "Changing a workflow safely": a changed order of commands behind a flag, with runs in flight. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { History } from '@temporalio/common/lib/proto-utils';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { stepsOf } from '../../scripts/step';
import { defined } from '../../workflows/core/json';
import { hasFlag } from '../../workflows/core/run/ports';
import { startAgentWorld } from '../support/agent-world';
import { quietTemporal, workflowBundle } from '../support/temporal';
import { scenarioAgents, scenarios } from './scenarios';

const root = path.resolve(__dirname, '..', '..');
/** Beside the packages that workflow code imports; always the same, as bundles are cached by path. */
const directory = path.join(root, '.holdfast', 'flag-recipe');

beforeAll(() => {
  quietTemporal();
  rmSync(directory, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A copy of the workflows with these edits: for each file, what is replaced by what. */
function changedWorkflows(
  name: string,
  edits: readonly (readonly [file: string, before: string, after: string])[],
): string {
  const copy = path.join(directory, name);
  cpSync(path.join(root, 'workflows'), copy, { recursive: true });
  for (const [file, before, after] of edits) {
    const text = readFileSync(path.join(copy, file), 'utf8');
    expect(text.split(before)).toHaveLength(2);
    writeFileSync(
      path.join(copy, file),
      text.replace(before, () => after),
    );
  }
  return path.join(copy, 'index.ts');
}

/** The change: the core's commands in reverse, where the condition holds. */
function reversedWhere(condition: string): readonly (readonly [string, string, string])[] {
  const head = 'export function transition(state: RunState, event: RunEvent): Transition {';
  const changed = `import { hasFlag as startedWith } from './ports';
${head}
  const [next, commands] = unchanged(state, event);
  return [next, ${condition} ? commands.toReversed() : commands];
}

function unchanged(state: RunState, event: RunEvent): Transition {`;
  return [['core/run/transition.ts', head, changed]];
}

/** The history of a run of a worker with this workflow code; default: Holdfast's. */
async function historyOfRun(workflowsPath?: string): Promise<History> {
  const world = await startAgentWorld(scenarioAgents, defined({ workflowsPath }));
  try {
    const scenario = scenarios.find(({ name }) => name === 'text-answer');
    if (scenario === undefined) throw new Error('the scenario is gone');
    world.emulator.script(scenario.steps);
    const handle = await world.start(scenario.request);
    await handle.result();
    return await handle.fetchHistory();
  } finally {
    await world.dispose();
  }
}

async function replay(workflowsPath: string | undefined, history: History): Promise<void> {
  const bundle = await workflowBundle(workflowsPath);
  const began = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  await Worker.runReplayHistory({ workflowBundle: bundle }, history, began?.workflowId ?? '');
}

/** Whether the run of this history keeps the flag in its snapshot. */
async function isFlagged(history: History): Promise<boolean> {
  const last = (await stepsOf(JSON.parse(historyToJSON(history)))).at(-1);
  return last !== undefined && hasFlag(last.after, 'commands-reversed');
}

test('a change behind a flag leaves runs in flight as they were, and holds for new runs', async () => {
  const inFlight = await historyOfRun();

  // Without a flag, the change breaks runs in flight.
  const bare = changedWorkflows('bare', reversedWhere('true'));
  await expect(replay(bare, inFlight)).rejects.toBeInstanceOf(DeterminismViolationError);

  const flagged = changedWorkflows('flagged', [
    [
      'flags.ts',
      'Readonly<Record<string, Flag>> = {',
      `Readonly<Record<string, Flag>> = {
  'commands-reversed': { change: 'Commands in reverse.', since: '0.4.0', removable: '0.5.0' },`,
    ],
    ...reversedWhere("startedWith(next, 'commands-reversed')"),
  ]);
  await replay(flagged, inFlight);
  expect(await isFlagged(inFlight)).toBe(false);

  // A run that the changed code starts has the flag for all its life; the older code cannot replay it.
  const started = await historyOfRun(flagged);
  await replay(flagged, started);
  expect(await isFlagged(started)).toBe(true);
  await expect(replay(undefined, started)).rejects.toBeInstanceOf(DeterminismViolationError);
});
