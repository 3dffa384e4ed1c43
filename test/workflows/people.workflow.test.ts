/** What people do to a run, on Temporal: approve, reject, answer, add messages, escalate, stop, cancel; and what is refused. */
import { WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  firstPending,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';

const chain: AgentDefinition['chain'] = [{ provider: 'anthropic', model: testModel }];

let transfers: number[] = [];
const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers money.',
  input: z.object({ amount: z.number() }),
  effect: 'irreversible',
  approval: ({ amount }) => amount >= 100,
  execute: ({ amount }) => {
    transfers.push(amount);
    return `transferred ${amount}`;
  },
});

let abortedTools = 0;
const slow = defineTool({
  name: 'slow',
  description: 'Takes a minute, unless it is stopped.',
  input: z.object({}),
  effect: 'read',
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        abortedTools += 1;
        reject(new Error('stopped'));
      });
    }),
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    {
      name: 'banker',
      instructions: 'You transfer money.',
      chain,
      tools: [transfer, slow],
      limits: { heartbeatTimeoutMs: 2_000 },
    },
  ]);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  transfers = [];
  abortedTools = 0;
});

const start = (): Promise<RunHandle> => world.start({ agent: 'banker', goal: 'Transfer.' });
const call = (...amounts: number[]): ReturnType<typeof reply.toolCalls> =>
  reply.toolCalls(amounts.map((amount) => ({ name: 'transfer', input: { amount } })));

async function approval(handle: RunHandle): Promise<{ approvalId: string; digest: string }> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error(`an approval was expected, got ${item.type}`);
  return { approvalId: item.approvalId, digest: item.digest };
}

async function refusal(update: Promise<unknown>): Promise<string> {
  const thrown: unknown = await update.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(WorkflowUpdateFailedError);
  return thrown instanceof WorkflowUpdateFailedError ? String(thrown.cause?.message) : '';
}

test('asks before a call that its rule names, runs the others, and goes on after the approval', async () => {
  world.emulator.script([call(5, 500), reply.text('done')]);
  const handle = await start();
  const pending = await approval(handle);
  await eventually(
    () => Promise.resolve(transfers),
    (list) => list.includes(5),
  );
  expect(transfers).toEqual([5]);
  const status = await eventually(
    () => statusOf(handle),
    (view) => view.status === 'waiting',
  );
  expect(status).toMatchObject({ reason: 'approval' });
  await handle.executeUpdate('resolveApproval', { args: [{ ...pending, decision: 'approve' }] });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(transfers).toEqual([5, 500]);
  world.emulator.assertDrained();
});

test('tells the model why a person rejected its call', async () => {
  world.emulator.script([call(500), reply.text('as you wish')]);
  const handle = await start();
  const pending = await approval(handle);
  await handle.executeUpdate('resolveApproval', {
    args: [{ ...pending, decision: 'reject', reason: 'too much money' }],
  });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'as you wish' });
  expect(transfers).toEqual([]);
  const last = world.emulator.requests.at(-1);
  expect(last?.lastToolResults[0]?.content).toContain('tool_denied');
  expect(last?.lastUserText).toContain('too much money');
  world.emulator.assertDrained();
});

test('refuses decisions that do not fit, with a reason, and the run goes on waiting', async () => {
  world.emulator.script([call(500), reply.text('done')]);
  const handle = await start();
  const pending = await approval(handle);
  const update = (args: unknown): Promise<string> =>
    refusal(handle.executeUpdate('resolveApproval', { args: [args] }));
  expect(await update({ ...pending, digest: 'another', decision: 'approve' })).toContain('digest');
  expect(await update({ ...pending, approvalId: 'x', decision: 'approve' })).toContain('Waiting');
  expect(await update({ ...pending, decision: 'maybe' })).toContain('"approve" or "reject"');
  expect(await update(null)).toContain('approvalId');
  expect(await update({ ...pending, approvalId: 7, decision: 'approve' })).toContain('approvalId');
  expect(
    await refusal(handle.executeUpdate('answer', { args: [{ questionId: 'q', answer: 'a' }] })),
  ).toContain('Waiting: none');
  expect(
    await refusal(
      handle.executeUpdate('answer', { args: [{ questionId: 'q', answer: 'a'.repeat(100_000) }] }),
    ),
  ).toContain('at most');
  await handle.signal('stop', 'not an object');
  expect(await handle.result()).toMatchObject({ status: 'stopped' });
  expect(transfers).toEqual([]);
});

test('brings a message into the next request, and does not end over one', async () => {
  world.emulator.script([call(500), reply.text('hello to you too')]);
  const handle = await start();
  const pending = await approval(handle);
  await handle.signal('addMessage', { text: 'Say hello as well.' });
  await handle.executeUpdate('resolveApproval', { args: [{ ...pending, decision: 'approve' }] });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(world.emulator.requests.at(-1)?.lastUserText).toContain('Say hello as well.');
  world.emulator.assertDrained();
});

test('hands over to a person on escalate, and goes on with the answer', async () => {
  world.emulator.script([call(500), reply.text('thank you')]);
  const handle = await start();
  const pending = await approval(handle);
  await handle.signal('escalate', { reason: 'let me look' });
  await handle.executeUpdate('resolveApproval', { args: [{ ...pending, decision: 'approve' }] });
  const question = await eventually(
    () => firstPending(handle),
    (item) => item.type === 'question',
  );
  expect(question).toEqual({ type: 'question', questionId: 'escalation', question: 'let me look' });
  await handle.executeUpdate('answer', {
    args: [{ questionId: 'escalation', answer: 'All is well, go on.' }],
  });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(world.emulator.requests.at(-1)?.lastUserText).toContain('All is well, go on.');
  world.emulator.assertDrained();
});

test('stops a running tool and returns the partial result', async () => {
  world.emulator.script([call(5), reply.toolCalls([{ name: 'slow', input: {} }])]);
  const handle = await start();
  await eventually(
    () => statusOf(handle),
    (status) => status.doing.includes('slow'),
  );
  await handle.signal('stop', { reason: 'enough' });
  expect(await handle.result()).toMatchObject({
    status: 'stopped',
    reason: 'enough',
    report: { worked: ['transfer'], didNotWork: ['slow: stopped with the run'] },
  });
  expect(abortedTools).toBe(1);
});

test("ends as cancelled on Temporal's own cancel", async () => {
  world.emulator.script([reply.toolCalls([{ name: 'slow', input: {} }])]);
  const handle = await start();
  await eventually(
    () => statusOf(handle),
    (status) => status.doing.includes('slow'),
  );
  await handle.cancel();
  const thrown: unknown = await handle.result().catch((error: unknown) => error);
  expect(thrown instanceof WorkflowFailedError && thrown.cause).toBeInstanceOf(CancelledFailure);
  expect(abortedTools).toBe(1);
  expect(await statusOf(handle)).toMatchObject({ status: 'cancelled' });
});

test('refuses what cannot work before anything is spent', async () => {
  const before = world.emulator.requests.length;
  const outcomes = await Promise.all([
    world.run({ agent: 'nobody', goal: 'Go.' }),
    world.run({ agent: 'banker', goal: '  ' }),
    world.run({ agent: 'banker', goal: 'Go.', workspace: '/no/such/place' }),
    world.run({ agent: 'banker', goal: 'Go.', limits: { maxIterations: 0 } }),
    world.run({ agent: 'banker', goal: 'x'.repeat(70_000) }),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(5).fill('failed'));
  const messages = outcomes.map((outcome) => (outcome.status === 'failed' ? outcome.message : ''));
  expect(messages[0]).toContain('No agent is called "nobody"; this worker has banker');
  expect(messages[1]).toContain('goal is empty');
  expect(messages[2]).toContain('/no/such/place');
  expect(messages[3]).toContain('limits.maxIterations');
  expect(messages[4]).toContain('70000 characters');
  expect(world.emulator.requests.length).toBe(before);
});

test("no page, list or line of Temporal's shows a secret of a person's texts, and the model reads them as given", async () => {
  const token = 'ghp_1234567890abcdefghijABCDEFGHIJ123456';
  const { client, server } = world;
  const { client: temporal } = server;
  world.emulator.script([call(500)]);
  const before = world.emulator.requests.length;
  const run = await client.start({ agent: 'banker', goal: `Pay with ${token}, quickly.` });
  const handle = temporal.getHandle(run.runId);
  const { approvalId } = await approval(handle);
  await run.escalate(`It has ${token} in it.`);
  await run.reject(approvalId, `Not with ${token}.`);
  await eventually(
    () => run.pending(),
    ([item]) => item?.type === 'question',
  );
  const described = await handle.describe();
  const entries: unknown[] = [];
  for await (const entry of run.events()) entries.push(entry);
  const shown = JSON.stringify([
    await described.staticSummary(),
    await described.staticDetails(),
    await handle.query('__temporal_workflow_metadata'),
    described.typedSearchAttributes.getAll(),
    described.memo,
    await run.status(),
    await run.pending(),
    entries,
  ]);
  expect(shown).toContain('It has [redacted] in it.');
  expect(shown).toContain('Pay with [redacted], quickly.');
  expect(shown).not.toContain(token);
  world.emulator.script([reply.text('As you wish.')]);
  await run.answer('escalation', `Then use ${token} no more.`);
  expect(JSON.stringify(await run.result())).not.toContain(token);
  const read = world.emulator.requests.slice(before).map(({ body }) => JSON.stringify(body));
  for (const text of [`Pay with ${token}`, `Not with ${token}`, `Then use ${token}`])
    expect(read.at(-1)).toContain(text);
});
