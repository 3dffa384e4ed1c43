/**
 * Paths in outputs stay as the tool gave them and work in the next call; errors hide the machine's (R-SAFE-1, ADR 0044). Inputs
 * from the review of 0.3.0 and public reports: coproduct-opensource/nucleus#2787 (the root's own absolute paths),
 * denn-gubsky/loomcycle#489 and #500, bytedance/deer-flow#1935 (paths in contents), ossature/ossature#6.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool, ToolDefinition } from '../../activities/tools/tool';
import { ToolError } from '../../activities/tools/tool-error';
import { readFile } from '../../activities/tools/workspace/read-file';
import { runCommand } from '../../activities/tools/workspace/commands/run-command';
import type { JsonObject } from '../../workflows/core/json';
import type { RunToolInput, RunToolResult } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

let stored: TemporaryStore;
let base: string;
let workspace: string;
beforeEach(async () => {
  stored = await temporaryStore();
  base = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  workspace = join(base, 'link');
  mkdirSync(join(base, 'real', 'src'), { recursive: true });
  writeFileSync(join(base, 'real', 'src', 'a.ts'), `import '${base}/real/src/b';\n`);
  symlinkSync(join(base, 'real'), workspace);
});
afterEach(async () => {
  rmSync(base, { recursive: true, force: true });
  await stored.dispose();
});

/** Runs a call, and gives what the model reads. */
async function call(
  tool: Tool,
  input: JsonObject = {},
): Promise<RunToolResult & { content: string }> {
  const { store } = stored;
  const activities = workerActivities(store, [tool]);
  const request = { flags: [], agent: 'worker', goal: 'Work.', workspace };
  const { snapshot } = await activities.prepareRun(request);
  const given: RunToolInput = {
    storeId: store.id,
    definition: snapshot.definition,
    toolCallId: 'call',
    name: tool.name,
    input,
    idempotencyKey: `run/${Math.random()}`,
  };
  const info = { currentAttemptScheduledTimestampMs: Date.now() };
  const environment = new MockActivityEnvironment(info);
  const result: RunToolResult = await environment.run(() => activities.runTool(given));
  const blob = (await store.getBlob(result.result ?? '')).toString('utf8');
  return { ...result, content: (JSON.parse(blob) as { content: string }).content };
}

const tool = (execute: () => unknown, paths?: ToolDefinition['paths']): Tool =>
  defineTool({
    name: 'export_report',
    description: 'Exports.',
    input: z.object({}),
    effect: 'read',
    execute,
    ...(paths === undefined ? {} : { paths }),
  });

test.each([
  '/srv/exports/2026/report.csv',
  '/home/ann/data/in.json',
  '/mnt/user-data/outputs/out.txt',
  'C:\\Users\\ann\\report.csv',
  'file:///home/ann/report.csv',
  '/tmp/build-7/log.txt',
])('%s in an output reaches the model whole', async (path) => {
  const shown = await call(tool(() => ({ path })));
  expect(shown.content).toContain(JSON.stringify(path));
  expect(shown.preview).toContain(JSON.stringify(path));
  const long = await call(tool(() => `${path}\n${'line\n'.repeat(5_000)}`));
  const { blob } = JSON.parse((await stored.store.getBlob(long.result ?? '')).toString()) as {
    blob: string;
  };
  expect((await stored.store.getBlob(blob)).toString()).toContain(path);
});

test('a tool may hide them, and its error hides them always; secrets go in both', async () => {
  const key = 'sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4yZ7';
  const text = `/home/ann/report.csv ${key}`;
  expect((await call(tool(() => text, 'hide'))).content).not.toContain('/home/ann');
  const kept = (await call(tool(() => text))).content;
  expect(kept).toContain('/home/ann/report.csv');
  expect(kept).not.toContain(key);
  const failed = await call(
    tool(() => {
      throw new ToolError(`cannot write ${text}`, { output: `wrote ${text}` });
    }),
  );
  const [error = '', output = ''] = failed.content.split('\n<tool_output');
  expect(error).toContain('cannot write report.csv');
  expect(output).toContain('/home/ann/report.csv');
  expect(failed.content).not.toContain(key);
});

test('a path that a program printed works in the next call, though the workspace is a link', async () => {
  const printed = await call(runCommand({ effect: 'read' }), { command: ['realpath', 'src/a.ts'] });
  const [path = ''] = /\/\S+a\.ts/.exec(printed.content) ?? [];
  expect(path).toBe(join(base, 'real/src/a.ts'));
  for (const each of [path, `file://${path}`, join(workspace, 'src/a.ts')]) {
    const read = await call(readFile, { path: each });
    expect(read.error).toBeUndefined();
    expect(read.content).toContain(`import '${base}/real/src/b';`);
  }
  expect(printed.findings?.paths).toEqual([{ path, line: 2 }]);
});

test('what a run remembers of a file has one path, relative to the workspace', async () => {
  const shown = await call(tool(() => `src/a.ts\n${workspace}/src/a.ts:3: error\n`));
  expect(shown.content).toContain(`${workspace}/src/a.ts:3`);
  expect(shown.findings?.paths).toEqual([{ path: 'src/a.ts', line: 1 }]);
});

test('a path outside of the workspace is still refused', async () => {
  const refused = await call(readFile, { path: '/etc/hostname' });
  expect(refused.error?.code).toBe('invalid_params');
});
