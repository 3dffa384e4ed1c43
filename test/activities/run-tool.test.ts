/** What a tool call comes to when its probe, its output or its store fails it. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { createActivities } from '../../activities/index';
import { keepTrying } from '../../activities/keep-trying';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import type { ToolErrorCode } from '../../activities/tools/tool-error';
import { ToolError } from '../../activities/tools/tool-error';
import type { RunToolInput, RunToolResult } from '../../workflows/core/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

/** Runs a call of this tool; `interrupted` says that an earlier attempt began and did not finish. */
async function runCall(tool: Tool, interrupted: boolean): Promise<RunToolResult> {
  const { store } = stored;
  const activities = createActivities({
    store,
    providers: [anthropicProvider({ apiKey: 'test-key' })],
    agents: [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools: [tool],
      },
    ],
  });
  const { snapshot } = await activities.prepareRun({ agent: 'worker', goal: 'Work.' });
  const idempotencyKey = 'run/call';
  if (interrupted)
    await store.beginTool({
      key: idempotencyKey,
      tool: tool.name,
      inputDigest: 'x',
      startedAtMs: 0,
    });
  const call: RunToolInput = {
    storeId: store.id,
    definition: snapshot.definition,
    toolCallId: 'call',
    name: tool.name,
    input: {},
    idempotencyKey,
  };
  return new MockActivityEnvironment().run(() => activities.runTool(call));
}

const base = { description: 'Acts.', input: z.object({}) } as const;

test('a probe that fails leaves the outcome unknown, tells no secret, and neither fails the run nor repeats the call', async () => {
  let executions = 0;
  const tool = defineTool({
    ...base,
    name: 'book',
    effect: 'reconcilable',
    execute: () => (executions += 1),
    probe: () => Promise.reject(new Error('connect ECONNREFUSED, token=abcdef1234567890')),
  });
  const { error } = await runCall(tool, true);
  expect(error).toMatchObject({ code: 'outcome_unknown' });
  expect(error?.message).toContain('ECONNREFUSED');
  expect(error?.message).not.toContain('abcdef1234567890');
  expect(executions).toBe(0);
});

test('an output that JSON cannot carry is told as such, never as a failure of a call that took effect', async () => {
  const bigint = await runCall(
    defineTool({ ...base, name: 'pay', execute: () => ({ cents: 1n }) }),
    false,
  );
  expect(bigint.error).toBeUndefined();
  expect(bigint.preview).toContain('finished');
});

test('an output whose toJSON gives nothing is an empty output', async () => {
  const tool = defineTool({ ...base, name: 'odd', execute: () => ({ toJSON: () => undefined }) });
  expect((await runCall(tool, false)).error).toBeUndefined();
});

test('a code that a tool without types invents does not reach the core, which would fail its workflow task', async () => {
  const code = 'E_INVENTED' as ToolErrorCode;
  const execute = (): never => {
    throw new ToolError('no', { code });
  };
  const { error } = await runCall(defineTool({ ...base, name: 'odd', execute }), false);
  expect(error).toMatchObject({ code: 'tool_execution_failed', message: 'no' });
});

test('a step that takes long to fail uses up the patience', async () => {
  let steps = 0;
  const slow = keepTrying(
    500,
    () => true,
    async () => {
      steps += 1;
      await new Promise((resolve) => setTimeout(resolve, 400));
      throw new Error('down');
    },
  );
  await expect(slow).rejects.toThrow('down');
  expect(steps).toBeLessThanOrEqual(2);
});
