/** Schedules on a real server: they fire, skip while a run is in progress, and their runs are found by search attributes. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { AgentClient } from '../../client/agent-client';
import type { ClientError } from '../../client/client-error';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { uniqueName } from '../support/temporal';

const publish = defineTool({
  name: 'publish',
  description: 'Publishes.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute: () => 'published',
});
const reporter: AgentDefinition = {
  name: 'reporter',
  instructions: 'You report.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [publish],
};
const writer: AgentDefinition = { ...reporter, name: 'writer', tools: [] };

let world: AgentWorld;
let client: AgentClient;
beforeAll(async () => {
  world = await startAgentWorld([reporter, writer]);
  client = world.client;
  const { connection, namespace } = world.server;
  const taskQueue = { name: world.taskQueue };
  await eventually(
    () => connection.workflowService.describeTaskQueue({ namespace, taskQueue }),
    ({ pollers }) => pollers.length > 0,
  );
});
afterAll(() => world.dispose());

const everySecond = { intervals: [{ every: '1 second' }] };

test('a schedule fires, skips what would overlap, and its run is found and carried to its end', async () => {
  const scheduleId = uniqueName('report');
  world.emulator.script([
    reply.toolCalls([{ name: 'publish', input: {} }]),
    reply.text('published it'),
  ]);
  const schedule = await client.schedule(
    reporter,
    { goal: 'Report.', tenant: 'acme' },
    {
      scheduleId,
      spec: everySecond,
      policies: { overlap: 'SKIP' },
    },
  );
  try {
    // The first run waits for an approval meanwhile.
    const { info } = await eventually(
      () => schedule.describe(),
      (described) => described.info.numActionsSkippedOverlap > 1,
    );
    expect(info.numActionsTaken).toBe(1);
    await schedule.pause('seen enough');
    const [found, ...others] = await eventually(
      () => client.list({ scheduleId, agent: 'reporter', status: 'waiting' }),
      (runs) => runs.length > 0,
    );
    expect(others).toEqual([]);
    expect(found?.runId).toMatch(new RegExp(`^${scheduleId}-\\d{4}-\\d\\d-\\d\\dT`));
    const run = client.run(found?.runId ?? '');
    const [item] = await run.pending();
    if (item?.type !== 'approval') throw new Error('an approval was expected');
    await run.approve(item.approvalId);
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'published it' });
    world.emulator.assertDrained();
  } finally {
    await schedule.delete();
  }
});

test('a paused schedule runs when it is triggered, with what it was made with', async () => {
  const scheduleId = uniqueName('write');
  world.emulator.script([reply.text('written')]);
  const schedule = await client.schedule(
    'writer',
    { goal: 'Write about *schedules*.' },
    { scheduleId, spec: everySecond, state: { paused: true } },
  );
  try {
    await schedule.trigger();
    const [found] = await eventually(
      () => client.list({ scheduleId }),
      (runs) => runs.length > 0,
    );
    const run = client.run(found?.runId ?? '');
    expect(await run.result()).toMatchObject({ status: 'completed', answer: 'written' });
    expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain(
      'Write about *schedules*.',
    );
  } finally {
    await schedule.delete();
  }
});

test('nothing is made for a schedule that cannot work', async () => {
  const scheduleId = uniqueName('wrong');
  const schedule = { scheduleId, spec: everySecond, state: { paused: true } };
  const refused = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'not refused',
      (thrown: unknown) => (thrown as ClientError).code,
    );
  expect(await refused(client.schedule('nobody', { goal: 'x' }, schedule))).toBe('agent-unknown');
  expect(await refused(client.schedule('writer', { goal: ' ' }, schedule))).toBe('invalid-input');
  expect(
    await refused(
      client.schedule('writer', { goal: 'x' }, { ...schedule, spec: { cronExpressions: ['?'] } }),
    ),
  ).toBe('invalid-input');
  const made = await client.schedule('writer', { goal: 'x' }, schedule);
  expect(await refused(client.schedule('writer', { goal: 'x' }, schedule))).toBe('schedule-exists');
  await made.delete();

  const { connection } = world.server;
  const elsewhere = new AgentClient(new Client({ connection, namespace: 'nowhere' }));
  expect(await refused(elsewhere.schedule('writer', { goal: 'x' }, schedule))).toBe('unreachable');
});
