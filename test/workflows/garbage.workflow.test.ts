/** A sweep in a loop beside live workers: no run breaks, and what runs that Temporal forgot had written goes. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { reply } from '../../testing/emulator/script';
import { collectGarbage } from '../../workers/cli/commands/gc';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { startOwnServer } from '../support/temporal';

const long = defineTool({
  name: 'long',
  description: 'Gives a long output.',
  input: z.object({ text: z.string() }),
  effect: 'keyed',
  execute: ({ text }) => text.repeat(30_000),
});

let world: AgentWorld;
beforeAll(async () => {
  // A server of its own: a sweep reads every history that the server has.
  const agent = {
    name: 'worker',
    instructions: 'You work.',
    chain: [{ provider: 'anthropic', model: testModel }],
    tools: [long],
  } as const;
  world = await startAgentWorld([agent], { server: await startOwnServer() });
});
afterAll(async () => {
  await world.dispose();
});

const steps = (text: string) => [
  reply.toolCalls([{ name: 'long', input: { text } }]),
  reply.toolCalls([{ name: 'long', input: { text: 'same for all' } }]),
  reply.text('done'),
];

/** Longer than a write waits here for its history; much shorter than a run with its pauses. */
const graceMs = 4_000;

test('runs beside a sweep in a loop all finish, and a forgotten run leaves nothing', async () => {
  const { connection, namespace } = world.server;
  const client = new Client({ connection, namespace });
  const { store } = world.stored;
  const collect = (grace = graceMs): ReturnType<typeof collectGarbage> =>
    collectGarbage(client, store, { grace, namespace });
  await expect(collect()).rejects.toThrow(/names the store/);

  world.emulator.script(steps('forgotten'));
  const forgotten = await world.start({ agent: 'worker', goal: 'Work, then be forgotten.' });
  expect(await forgotten.result()).toMatchObject({ status: 'completed' });
  const sweeping = { on: true, times: 0 };
  const loop = (async () => {
    while (sweeping.on) {
      await collect();
      sweeping.times += 1;
    }
  })();
  for (let round = 0; round < 3; round += 1) {
    world.emulator.script(steps(`round ${round}`));
    const outcome = await world.run({ agent: 'worker', goal: `Round ${round}.` });
    expect(outcome).toMatchObject({ status: 'completed' });
  }
  await connection.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: forgotten.workflowId },
  });
  expect(sweeping.times).toBeGreaterThan(0);
  sweeping.on = false;
  await loop;
  // Six nodes a run; the list of workflows lags behind the deletion.
  await eventually(
    async () => (await collect()).nodes.kept,
    (kept) => kept <= 3 * 6,
  );
  const dry = await collectGarbage(client, store, { grace: graceMs, namespace, dryRun: true });
  expect(dry.nodes.removed + dry.blobs.removed + dry.toolRecords.removed).toBe(0);
});
