/** Workers of two deploys serve one task queue: a worker that lacks a tool of a run leaves its calls to one that has it. */
import { Worker } from '@temporalio/worker';
import { z } from 'zod';
import { createActivities } from '../../activities/index';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunHandle } from '../support/agent-world';
import {
  emulatedProviders,
  eventually,
  firstPending,
  outcomeOf,
  testModel,
} from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName, workflowBundle } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;
const taskQueue = uniqueName('deploys');
let surveys = 0;

const sign = defineTool({
  name: 'sign',
  description: 'Signs.',
  input: z.object({}),
  approval: 'always',
  effect: 'keyed',
  execute: () => 'signed',
});
const survey = defineTool({
  name: 'survey',
  description: 'Surveys.',
  input: z.object({}),
  effect: 'keyed',
  execute: () => {
    surveys += 1;
    return `survey ${surveys}`;
  },
});

beforeAll(async () => {
  server = await startDevServer();
  emulator = await VendorEmulator.start();
  stored = await temporaryStore();
});
afterAll(async () => {
  await server.close();
  await emulator.stop();
  await stored.dispose();
});

/** Runs a worker of a deploy with these tools while `during` goes on. */
async function withWorker(tools: readonly Tool[], during: () => Promise<void>): Promise<void> {
  const worker = await Worker.create({
    connection: server.nativeConnection,
    taskQueue,
    workflowBundle: await workflowBundle(),
    stickyQueueScheduleToStartTimeout: '1 second',
    activities: {
      ...createActivities({
        store: stored.store,
        providers: emulatedProviders(emulator),
        agents: [
          {
            name: 'surveyor',
            instructions: 'You survey.',
            chain: [{ provider: 'anthropic', model: testModel }],
            tools,
          },
        ],
      }),
    },
  });
  await worker.runUntil(during);
}

async function approve(handle: RunHandle): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { approvalId, digest } = item;
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve' }],
  });
}

/** What the pending activity says of why it was given back, as the Web UI shows it. */
async function givenBack(handle: RunHandle): Promise<string> {
  const [activity] = await eventually(
    async () => (await handle.describe()).raw.pendingActivities ?? [],
    ([pending]) => (pending?.attempt ?? 0) > 1,
  );
  return activity?.lastFailure?.message ?? '';
}

test('a worker without a tool of the run leaves the reply that calls it to one that has it: asked for once, blamed on nobody', async () => {
  emulator.script([
    reply.toolCalls([{ name: 'sign', input: {} }]),
    reply.toolCalls([{ name: 'survey', input: {} }]),
    reply.toolCalls([{ name: 'sign', input: {} }]),
    reply.text('done'),
  ]);
  const handle: RunHandle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: uniqueName('run'),
    args: [{ request: { agent: 'surveyor', goal: 'Survey.' } }],
  });
  await withWorker([sign, survey], async () => {
    await firstPending(handle);
  });
  await withWorker([sign], async () => {
    await approve(handle);
    const said = await givenBack(handle);
    expect(said).toContain('lacks the tool "survey" of agent "surveyor"');
    expect(said).toContain('Deploy a worker that has it');
  });
  expect(emulator.requests).toHaveLength(2);
  await withWorker([sign, survey], async () => {
    await eventually(
      () => Promise.resolve(emulator.requests.length),
      (requests) => requests === 3,
    );
    await approve(handle);
    expect(await outcomeOf(handle)).toMatchObject({
      status: 'completed',
      report: { modelCalls: 4, toolCallsSucceeded: 3, toolCallsFailed: 0, healed: {} },
    });
  });
  expect(surveys).toBe(1);
  emulator.assertDrained();
});

test('a worker without the tool of an approved call leaves the call to one that has it', async () => {
  emulator.script([reply.toolCalls([{ name: 'sign', input: {} }]), reply.text('done')]);
  const handle: RunHandle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: uniqueName('run'),
    args: [{ request: { agent: 'surveyor', goal: 'Sign.' } }],
  });
  await withWorker([sign], async () => {
    await firstPending(handle);
  });
  await withWorker([survey], async () => {
    await approve(handle);
    expect(await givenBack(handle)).toContain('lacks the tool "sign" of agent "surveyor"');
  });
  await withWorker([sign], async () => {
    expect(await outcomeOf(handle)).toMatchObject({
      status: 'completed',
      report: { toolCallsSucceeded: 1, toolCallsFailed: 0 },
    });
  });
  emulator.assertDrained();
});
