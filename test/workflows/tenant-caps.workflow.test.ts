/** Caps of tenants on real runs: they end readably, others go on, and a run that is gone leaves its place. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import { fault, reply } from '../../testing/emulator/script';
import { totalTokens } from '../../workflows/core/budget/spend';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { AgentWorld } from '../support/agent-world';
import {
  eventually,
  firstPending,
  outcomeOf,
  startAgentWorld,
  testModel,
} from '../support/agent-world';

const look = defineTool({
  name: 'look',
  description: 'Looks at a page.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  execute: ({ page }) => `page ${page}`,
});

const helper: AgentDefinition = {
  name: 'helper',
  instructions: 'You help.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [look],
  limits: { streamRetryBaseMs: 50 },
};

const agents: readonly AgentDefinition[] = [
  helper,
  {
    ...helper,
    name: 'leader',
    tools: [
      look,
      defineSubagent({ name: 'delegate', description: 'Hands a task over.', agent: 'helper' }),
    ],
  },
  { ...helper, name: 'asker', completion: 'tool' },
  {
    ...helper,
    name: 'unpriced',
    chain: [{ provider: 'chat', model: 'unheard-of', windowTokens: 9_000 }],
  },
];

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(agents, {
    tenantCaps: {
      thrifty: { tokens: 12_000 },
      rich: { usd: 100 },
      single: { runs: 1 },
      family: { runs: 1, usd: 100 },
    },
  });
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

const day = (): string => new Date().toISOString().slice(0, 10);

async function spentBy(tenant: string) {
  // A test that runs over midnight finds its runs in either day.
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const days = await Promise.all(
    [yesterday, day()].map((each) => world.stored.store.tenants.usage(each)),
  );
  const found = days.flat().filter((each) => each.tenant === tenant);
  return {
    tokens: found.reduce((sum, { spent }) => sum + spent.tokens, 0),
    nanoUsd: found.reduce((sum, { spent }) => sum + spent.nanoUsd, 0),
    held: found.flatMap(({ held }) => Object.keys(held)),
    requests: found.reduce((sum, { requests }) => sum + requests, 0),
  };
}

const tokensOf = ({ report }: RunOutcome): number => totalTokens(report.usage);

test('the runs of a tenant end readably when its day is spent, and those of others go on', async () => {
  world.emulator.script((request) => {
    const page = (request.messagesCount + 1) / 2;
    return reply.toolCalls([{ name: 'look', input: { page } }], { text: 'word '.repeat(400) });
  });
  const ask = { agent: 'helper', goal: 'Read on.' };
  const outcomes = await Promise.all([
    world.run({ ...ask, tenant: 'thrifty' }),
    world.run({ ...ask, tenant: 'thrifty' }),
  ]);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: 'failed', reason: 'guard_tenant_cap' });
    expect(outcome).toMatchObject({
      message: expect.stringMatching(
        /^Forced stop: .*the cap of tenant "thrifty" for \d{4}-\d\d-\d\d \(UTC\) is 12000 tokens\. Go on after midnight UTC, or raise the cap/,
      ) as string,
    });
  }
  const used = outcomes.reduce((sum, outcome) => sum + tokensOf(outcome), 0);
  const { tokens, held } = await spentBy('thrifty');
  expect({ tokens, held }).toEqual({ tokens: used, held: [] });
  expect(used).toBeLessThanOrEqual(12_000);
  expect(used).toBeGreaterThan(8_000);
  // Side by side, each of the two was refused what the other one held: what is left may do for a shorter conversation.
  let refused = await world.run({ ...ask, tenant: 'thrifty' });
  while (refused.report.modelCalls > 0) refused = await world.run({ ...ask, tenant: 'thrifty' });
  expect(refused).toMatchObject({ reason: 'guard_tenant_cap', report: { modelCalls: 0 } });
  expect((await spentBy('thrifty')).tokens).toBeLessThanOrEqual(12_000);
  world.emulator.clearScripts();
  world.emulator.script([reply.text('Done.')]);
  expect(await world.run({ ...ask, tenant: 'other' })).toMatchObject({ status: 'completed' });
});

test('counts each request once: replies, retries, broken streams, and those of subagents', async () => {
  world.emulator.script([
    fault.http(529),
    fault.cutStream({ during: reply.text('some words '.repeat(60)), afterCharacters: 200 }),
    reply.toolCalls([{ name: 'delegate', input: { task: 'Look.' } }]),
    reply.text('Looked.'),
    reply.text('Done.'),
  ]);
  const outcome = await world.run({ agent: 'leader', goal: 'Lead.', tenant: 'rich' });
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { subagents: [{ agent: 'helper' }] },
  });
  const { mostUsd = 0, mostTokens = 0 } = outcome.report.cost;
  const { tokens, nanoUsd, requests, held } = await spentBy('rich');
  expect([tokens, requests, held]).toEqual([mostTokens, 5, []]);
  expect(nanoUsd / 1e9).toBeCloseTo(mostUsd, 9);
});

test('a model without a price is refused at the start under a cap in money', async () => {
  expect(await world.run({ agent: 'unpriced', goal: 'Go.', tenant: 'rich' })).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(/Tenant "rich".*chat\/unheard-of/) as string,
  });
});

test('one run in progress: the next is refused, until the first is terminated', async () => {
  world.emulator.script(() =>
    reply.toolCalls([{ name: 'ask_user', input: { question: 'Which one?' } }]),
  );
  const request = { agent: 'asker', goal: 'Ask.', tenant: 'single' };
  const first = await world.start(request);
  await firstPending(first);
  const refused = await world.run(request);
  expect(refused).toMatchObject({
    status: 'failed',
    reason: 'guard_tenant_cap',
    message: expect.stringMatching(
      /^Forced stop: tenant "single" has as many runs in progress as its cap allows, 1\. Start this run again/,
    ) as string,
  });
  await first.terminate('its worker is of no use');
  const second = await world.start(request);
  await firstPending(second);
  expect(await world.run(request)).toMatchObject({ reason: 'guard_tenant_cap' });
  await world.client.run(second.workflowId).stop('enough');
  expect(await outcomeOf(second)).toMatchObject({ status: 'stopped' });
  world.emulator.clearScripts();
  world.emulator.script([
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'Done.' } }]),
  ]);
  expect(await world.run(request)).toMatchObject({ status: 'completed' });
});

test('a subagent works in the place of its parent run', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'delegate', input: { task: 'Look.' } }]),
    reply.text('Looked.'),
    reply.text('Done.'),
  ]);
  const outcome = await world.run({ agent: 'leader', goal: 'Lead.', tenant: 'family' });
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { subagents: [{ agent: 'helper', status: 'completed' }] },
  });
  await eventually(
    () => spentBy('family'),
    ({ requests }) => requests === 3,
  );
});
