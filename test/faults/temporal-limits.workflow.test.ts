/** What Temporal limits for one workflow, met on purpose: docs/temporal-limits.md. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { agentRunWorkflow } from '../../workflows/contract';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { uniqueName } from '../support/temporal';

/** More than the updates that the server lets one workflow have in flight (`history.maxInFlightUpdates`, 10). */
const decisions = 32;

const paid: number[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ bill: z.number() }),
  effect: 'irreversible',
  approval: 'always',
  execute: ({ bill }) => {
    paid.push(bill);
    return `paid ${bill}`;
  },
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    {
      name: 'payer',
      instructions: 'You pay bills.',
      chain: [{ provider: 'anthropic', model: testModel }],
      tools: [pay],
    },
  ]);
});
afterAll(() => world.dispose());

test(`${decisions} people decide in the same moment, and each decision counts once`, async () => {
  const bills = Array.from({ length: decisions }, (_, bill) => bill);
  world.emulator.script([
    reply.toolCalls(bills.map((bill) => ({ name: 'pay', input: { bill } }))),
    reply.text('All bills are paid.'),
  ]);
  const { workflowId } = await world.start({ agent: 'payer', goal: 'Pay the bills.' });
  const run = world.client.run(workflowId);
  const pending = await eventually(
    () => run.pending(),
    (items) => items.length === decisions,
  );
  await Promise.all(
    pending.map((item) =>
      item.type === 'approval' ? run.approve(item.approvalId) : Promise.resolve(),
    ),
  );
  expect(await run.result()).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: decisions },
  });
  expect(paid.toSorted((left, right) => left - right)).toEqual(bills);
  world.emulator.assertDrained();
});

test('a decision that no workflow task mentioned is sent again', async () => {
  const { connection, client, namespace } = world.server;
  const taskQueue = uniqueName('silent');
  const { workflowId } = await client.start(agentRunWorkflow, {
    workflowId: uniqueName('run'),
    taskQueue,
  });
  const decided = world.client.run(workflowId).approve('payment-1', { digest: 'sha256:0' });
  const ended = expect(decided).rejects.toMatchObject({ code: 'run-ended' });
  const { workflowService } = connection;
  let carried = 0;
  while (carried < 3) {
    const task = await connection.withDeadline(Date.now() + 30_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
    );
    carried += task.messages.length;
    await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken: task.taskToken });
  }
  await client.getHandle(workflowId).terminate();
  await ended;
});
