/** Recorded histories of every path replay on today's code; a change of command order does not. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { quietTemporal, workflowBundle } from '../support/temporal';
import { safetyScenarios } from './safety-scenarios';
import { featureScenarios } from './feature-scenarios';
import { scenarios } from './scenarios';

const directory = path.join(__dirname, 'histories');
const files = readdirSync(directory).filter((file) => file.endsWith('.json'));

function historyOf(file: string): ReturnType<typeof historyFromJSON> {
  return historyFromJSON(JSON.parse(readFileSync(path.join(directory, file), 'utf8')));
}

beforeAll(() => {
  quietTemporal();
});

test('has a recording of every scenario', () => {
  const recorded = files.map((file) => file.replace(/-v[\d.]+\.json$/, ''));
  const runs = [...scenarios, ...featureScenarios, ...safetyScenarios].flatMap(
    ({ name, children = {} }) => [name, ...Object.values(children)],
  );
  const names = [...runs, 'rolled-over-1', 'rolled-over-2'];
  expect(names.filter((name) => !recorded.includes(name))).toEqual([]);
});

test.each(files)('replays %s', async (file) => {
  const bundle = await workflowBundle();
  const history = historyOf(file);
  const began = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  // A subagent's id begins with its parent's.
  const workflowId = began?.workflowId ?? file;
  await Worker.runReplayHistory({ workflowBundle: bundle }, history, workflowId);
});

test('fails on a changed order of commands', async () => {
  const bundle = await workflowBundle(path.join(__dirname, 'fixtures', 'changed-workflow.ts'));
  const file = files.find((name) => name.startsWith('parallel-tools')) ?? '';
  await expect(
    Worker.runReplayHistory({ workflowBundle: bundle }, historyOf(file), file),
  ).rejects.toBeInstanceOf(DeterminismViolationError);
});
