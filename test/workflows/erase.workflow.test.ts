/** Erasure of a tenant and of a thread: their runs, and what only they have; the runs of others stay whole. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { openStore } from '../../activities/stores/open-store';
import { AgentClient } from '../../client/agent-client';
import { reply } from '../../testing/emulator/script';
import { eraseRuns } from '../../workers/cli/commands/erase';
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
const ask = defineTool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute: () => 'asked',
});

let world: AgentWorld;
let client: Client;
let agents: AgentClient;
beforeAll(async () => {
  // A server of its own: an erasure reads every history that the server has.
  const agent = {
    name: 'worker',
    instructions: 'You work.',
    chain: [{ provider: 'anthropic', model: testModel }],
    tools: [long, ask],
  } as const;
  world = await startAgentWorld([agent], { server: await startOwnServer() });
  const { connection, namespace } = world.server;
  client = new Client({ connection, namespace });
  agents = new AgentClient(client, { taskQueue: world.taskQueue });
});
afterAll(async () => {
  await world.dispose();
});

/** Runs to the end, with an output of its own and one that all have; returns the run's id and its transcript's head. */
async function ranFor(tenant: string | undefined, own: string, runId?: string) {
  world.emulator.script([
    reply.toolCalls([{ name: 'long', input: { text: own } }]),
    reply.toolCalls([{ name: 'long', input: { text: 'same for all' } }]),
    reply.text('done'),
  ]);
  const run = await agents.start({
    agent: 'worker',
    goal: `Work on ${own}.`,
    ...(tenant === undefined ? {} : { tenant }),
    ...(runId === undefined ? {} : { runId }),
  });
  expect(await run.outcome()).toMatchObject({ status: 'completed' });
  const { head } = await run.transcriptHead();
  return { runId: run.runId, head };
}

const isListed = async (runId: string): Promise<boolean> => {
  for await (const { workflowId } of client.workflow.list()) if (workflowId === runId) return true;
  return false;
};
const erase = (of: { tenant?: string; thread?: string }, dryRun = false) =>
  eraseRuns(client, world.stored.store, of, dryRun);

test('a tenant is erased with its runs and content, and nothing of another one', async () => {
  const { store } = world.stored;
  const acme = await ranFor('acme', 'acme-secret');
  const other = await ranFor('other', 'other-secret');
  const none = await ranFor(undefined, 'nobody-secret');
  await eventually(() => isListed(none.runId), Boolean);

  const planned = await erase({ tenant: 'acme' }, true);
  expect(planned.runs).toBe(1);
  expect(planned.nodes.removed).toBeGreaterThan(2);
  expect(planned.shared).toBeGreaterThan(0);
  expect(await store.loadTranscript(acme.head)).not.toHaveLength(0);

  const erased = await erase({ tenant: 'acme' });
  expect(erased).toEqual(planned);
  // As another worker would: without what this process remembers.
  const cold = await openStore(world.stored.url);
  await expect(cold.loadTranscript(acme.head)).rejects.toMatchObject({
    failure: { code: 'store_corrupt' },
  });
  for (const { head } of [other, none])
    expect(JSON.stringify(await cold.loadTranscript(head))).toContain('same for all');
  await cold.close();
  await eventually(
    () => isListed(acme.runId),
    (listed) => !listed,
  );
  expect(await erase({ tenant: 'acme' })).toMatchObject({ runs: 0, nodes: { removed: 0 } });
  // A run can still continue the one that stays.
  world.emulator.script([reply.text('continued')]);
  const next = await agents.start({ agent: 'worker', goal: 'Go on.', continueFrom: other.runId });
  expect(await next.outcome()).toMatchObject({ status: 'completed', answer: 'continued' });
});

test('a thread is erased, but no run whose id only begins like it', async () => {
  const first = await ranFor(undefined, 'thread-secret', 'chat:1');
  const like = await ranFor(undefined, 'like-secret', 'chat:1x');
  const longer = await ranFor(undefined, 'longer-secret', 'chat-2:1');
  await eventually(() => isListed(longer.runId), Boolean);
  expect(await erase({ thread: 'chat' })).toMatchObject({ runs: 1, learned: 0 });
  const cold = await openStore(world.stored.url);
  await expect(cold.loadTranscript(first.head)).rejects.toThrow(/is missing/);
  for (const { head } of [like, longer])
    expect(await cold.loadTranscript(head)).not.toHaveLength(0);
  await cold.close();
});

test('a run in progress is named, and nothing is erased', async () => {
  world.emulator.script([reply.toolCalls([{ name: 'ask', input: {} }])]);
  const run = await agents.start({ agent: 'worker', goal: 'Ask.', tenant: 'busy' });
  await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  await eventually(() => isListed(run.runId), Boolean);
  await expect(erase({ tenant: 'busy' })).rejects.toThrow(
    `1 of these runs are in progress: ${run.runId}. Stop or cancel them`,
  );
  await run.stop('enough');
  expect(await run.outcome()).toMatchObject({ status: 'stopped' });
});
