/** The store goes down in each phase of a run: the run pauses where people see it, loses nothing, and goes on. */
import { Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import { defineTool } from '../../activities/tools/define-tool';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunStatusView } from '../../workflows/core/view/status';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  emulatedProviders,
  eventually,
  firstPending,
  outcomeOf,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';
import type { TestPostgres } from '../support/postgres';
import { startPostgres } from '../support/postgres';
import { startDevServer, uniqueName, workflowBundle } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';

let postgres: TestPostgres;
let executions: string[] = [];
const sign = defineTool({
  name: 'sign',
  description: 'Signs.',
  input: z.object({ what: z.string() }),
  effect: 'irreversible',
  approval: 'always',
  execute: ({ what }) => {
    executions.push(what);
    return `signed ${what}`;
  },
});
/** The outage begins while the effect is done and its result not yet stored. */
const strike = defineTool({
  name: 'strike',
  description: 'Takes effect, and the store goes down.',
  input: z.object({}),
  effect: 'irreversible',
  execute: async () => {
    executions.push('strike');
    await postgres.kill();
    return 'it took effect';
  },
});
/** The outage begins in a local call, before its result is stored. */
const glance = defineTool({
  name: 'glance',
  description: 'Looks, and the store goes down.',
  input: z.object({}),
  effect: 'read',
  quick: true,
  execute: async () => {
    if (executions.length === 0) await postgres.kill();
    executions.push('glance');
    return 'a glance';
  },
});
const agent: AgentDefinition = {
  name: 'signer',
  instructions: 'You sign.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [sign, strike, glance],
};

let world: AgentWorld;
beforeAll(async () => {
  postgres = await startPostgres();
  const { url } = postgres;
  const store = await openStore(url, { waitMs: 1_000 });
  world = await startAgentWorld([agent], {
    stored: { store, url, dispose: () => store.close() },
  });
});
afterAll(async () => {
  await world.dispose();
  await postgres.stop();
});
beforeEach(() => {
  world.emulator.clearScripts();
  executions = [];
});

const start = (): Promise<RunHandle> => world.start({ agent: 'signer', goal: 'Sign.' });
const signing = reply.toolCalls([{ name: 'sign', input: { what: 'the paper' } }]);

/** The run shows that it waits for the store, and why. */
async function waitsForStore(handle: RunHandle): Promise<RunStatusView> {
  const view = await eventually(
    () => statusOf(handle),
    ({ status, reason }) => status === 'waiting' && reason?.startsWith('store') === true,
  );
  expect(view.doing).toContain('waiting for');
  expect(view.doing).toContain('store');
  expect(view.lastError ?? view.reason).toContain('unavailable');
  return view;
}

async function decide(handle: RunHandle, decision: 'approve' | 'reject'): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { approvalId, digest } = item;
  await handle.executeUpdate('resolveApproval', { args: [{ approvalId, digest, decision }] });
}

test('down at the start: the run waits and then begins', async () => {
  world.emulator.script([reply.text('done')]);
  const before = world.emulator.requests.length;
  await postgres.kill();
  const handle = await start();
  await waitsForStore(handle);
  expect(world.emulator.requests.length).toBe(before);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'done' });
  world.emulator.assertDrained();
});

test('down before a model call: nothing is sent, and the result before it is not lost', async () => {
  world.emulator.script([signing, reply.text('as you wish')]);
  const handle = await start();
  await firstPending(handle);
  const before = world.emulator.requests.length;
  await postgres.kill();
  await decide(handle, 'reject');
  await waitsForStore(handle);
  expect(world.emulator.requests.length).toBe(before);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'as you wish' });
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('tool_denied');
  expect(world.emulator.requests.at(-1)?.lastUserText).toContain('A person did not approve');
  expect(executions).toEqual([]);
  world.emulator.assertDrained();
});

test('down when the reply arrives: what could not be kept is asked for again', async () => {
  const before = world.emulator.requests.length;
  let struck = 0;
  world.emulator.script(async () => {
    struck += 1;
    if (struck > 1) return undefined;
    await postgres.kill();
    return reply.text('lost');
  });
  world.emulator.script([reply.text('done')]);
  const handle = await start();
  await waitsForStore(handle);
  expect(world.emulator.requests[before]?.progress.landed).toBe(true);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    answer: 'done',
    report: { iterations: 1 },
  });
  expect(world.emulator.requests.slice(before)).toHaveLength(2);
  world.emulator.assertDrained();
});

test('down before a tool: the approved call waits, and runs once', async () => {
  world.emulator.script([signing, reply.text('done')]);
  const handle = await start();
  await firstPending(handle);
  await postgres.kill();
  await decide(handle, 'approve');
  const view = await waitsForStore(handle);
  expect(view.doing).toContain('sign');
  expect(executions).toEqual([]);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0 },
  });
  expect(executions).toEqual(['the paper']);
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('signed the paper');
  world.emulator.assertDrained();
});

test('down after a tool took effect, for longer than it waits: its result is not lost, and it runs once', async () => {
  world.emulator.script([reply.toolCalls([{ name: 'strike', input: {} }]), reply.text('done')]);
  const handle = await start();
  await waitsForStore(handle);
  expect(executions).toEqual(['strike']);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0 },
  });
  expect(executions).toEqual(['strike']);
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toMatch(
    /^<tool_output tool="strike" fence="\w+">\nit took effect\n<\/tool_output/,
  );
  expect(world.emulator.refusals).toEqual([]);
  world.emulator.assertDrained();
});

test('down in a local call: an ordinary activity follows at once, whose result waits as any other', async () => {
  world.emulator.script([reply.toolCalls([{ name: 'glance', input: {} }]), reply.text('done')]);
  const handle = await start();
  await waitsForStore(handle);
  expect(executions).toEqual(['glance', 'glance']);
  await postgres.restart();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0 },
  });
  expect(executions).toEqual(['glance', 'glance']);
  const events = (await handle.fetchHistory()).events ?? [];
  const markers = events.flatMap(({ markerRecordedEventAttributes: marker }) => marker ?? []);
  expect(markers.map(({ failure }) => failure?.applicationFailureInfo?.type)).toContain(
    'store_unavailable',
  );
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('a glance');
  world.emulator.assertDrained();
});

/** Runs a worker with that store while `during` goes on. */
async function withWorker(
  taskQueue: string,
  store: Store,
  emulator: VendorEmulator,
  during: () => Promise<void>,
): Promise<void> {
  const worker = await Worker.create({
    connection: world.server.nativeConnection,
    taskQueue,
    workflowBundle: await workflowBundle(),
    stickyQueueScheduleToStartTimeout: '1 second',
    activities: {
      ...createActivities({ store, providers: emulatedProviders(emulator), agents: [agent] }),
    },
  });
  await worker.runUntil(during);
}

test('a worker with another store leaves the run to the one that has it, and says so', async () => {
  const server = await startDevServer();
  const emulator = await VendorEmulator.start();
  const [own, foreign] = await Promise.all([temporaryStore(), temporaryStore()]);
  const taskQueue = uniqueName('mismatch');
  emulator.script([signing, reply.text('done')]);
  const handle: RunHandle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: uniqueName('run'),
    args: [{ request: { agent: 'signer', goal: 'Sign.' } }],
  });
  await withWorker(taskQueue, own.store, emulator, async () => {
    await firstPending(handle);
  });
  await withWorker(taskQueue, foreign.store, emulator, async () => {
    await decide(handle, 'approve');
    const [activity] = await eventually(
      async () => (await handle.describe()).raw.pendingActivities ?? [],
      ([pending]) => (pending?.attempt ?? 0) > 1,
    );
    const said = activity?.lastFailure?.message ?? '';
    expect(said).toContain(`This worker opened store ${foreign.store.id}`);
    expect(said).toContain('which does not have the run');
    expect(said).toContain('Start a worker with HOLDFAST_STORE');
  });
  expect(executions).toEqual([]);
  await withWorker(taskQueue, own.store, emulator, async () => {
    expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'done' });
  });
  expect(executions).toEqual(['the paper']);
  emulator.assertDrained();
  await Promise.all([own.dispose(), foreign.dispose(), emulator.stop(), server.close()]);
});
