/** Runs in flight may gain telemetry: every recorded history replays with it, and a changed order of commands still does not. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { readEnvironment } from '../../workers/env';
import { loadWorkflowBundle } from '../../workers/workflow-bundle';
import { quietTemporal } from '../support/temporal';

const directory = path.resolve('test/replay/histories');
const files = readdirSync(directory).filter((file) => file.endsWith('.json'));
const interceptors = path.resolve('telemetry/workflow/interceptors.ts');

async function replay(file: string, workflowsPath?: string): Promise<void> {
  quietTemporal();
  const bundle = await loadWorkflowBundle({
    cacheDirectory: readEnvironment().cacheDirectory,
    extras: { workflowInterceptorModules: [interceptors] },
    ...(workflowsPath === undefined ? {} : { workflowsPath }),
  });
  const history = historyFromJSON(JSON.parse(readFileSync(path.join(directory, file), 'utf8')));
  const began = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  await Worker.runReplayHistory({ workflowBundle: bundle }, history, began?.workflowId ?? file);
}

test.each(files)('replays %s', async (file) => {
  await replay(file);
});

test('fails on a changed order of commands', async () => {
  const changed = path.resolve('test/replay/fixtures/changed-workflow.ts');
  const file = files.find((name) => name.startsWith('parallel-tools')) ?? '';
  await expect(replay(file, changed)).rejects.toThrow();
});
