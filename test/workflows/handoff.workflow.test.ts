/** Handoffs on a real server: one run, several agents, over roll-overs, forks, vendors and kills of the worker's memory. */
import { z } from 'zod';
import { defineAgent, defineTool } from '../../activities/index';
import type { RunHandle } from '../../client/index';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld } from '../support/agent-world';
import { eventually, otherModel, startAgentWorld, testModel } from '../support/agent-world';
import { startOwnServer } from '../support/temporal';

/** Events after which the server suggests a new segment. */
const suggestAfterEvents = 20;

const seen: unknown[] = [];
const tool = (name: string, output: string) =>
  defineTool({
    name,
    description: 'Looks something up.',
    input: z.object({}),
    effect: 'read',
    context: z.object({ customerId: z.string() }),
    execute: (_input, { context, agent }) => {
      seen.push([name, agent, context]);
      return output;
    },
  });

const customer = z.object({ customerId: z.string(), plan: z.string().default('basic') });

const billing = defineAgent({
  name: 'billing',
  instructions: ({ context }) => `You are billing, for ${context.customerId}.`,
  chain: [{ provider: 'openai', model: otherModel }],
  context: z.object({ customerId: z.string() }),
  tools: [tool('invoices', 'invoice 7 is paid')],
  handoffs: ['triage', { agent: 'legal', approval: 'always' }],
});
const talker = defineAgent({
  name: 'talker',
  instructions: 'You are talker.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [],
});
const legal = defineAgent({
  name: 'legal',
  instructions: 'You are legal.',
  chain: [{ provider: 'chat', model: otherModel }],
  tools: [],
});
const triage = defineAgent({
  name: 'triage',
  instructions: ({ context }) => `You are triage, plan ${context.plan}.`,
  chain: [{ provider: 'anthropic', model: testModel }],
  context: customer,
  completion: 'tool',
  output: z.object({ solved: z.boolean() }),
  tools: [tool('tickets', 'one ticket')],
  handoffs: [billing, talker],
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([triage, billing, talker, legal], {
    server: await startOwnServer({ rollsOverAfter: suggestAfterEvents }),
    // Each workflow task replays the run from its history.
    maxCachedWorkflows: 0,
  });
});
afterAll(async () => {
  await world.dispose();
});
beforeEach(() => {
  world.emulator.clearScripts();
  seen.length = 0;
});

/** Billing reads only a part of it. */
const context = { customerId: 'C-1', plan: 'gold' };
const known = { customerId: 'C-1' };
const call = (name: string, input = {}) => reply.toolCalls([{ name, input }]);
const transfer = (to: string) => call(`transfer_to_${to}`, { reason: `Ask ${to}.` });
const solved = call('complete_task', { summary: 'Solved.', result: { solved: true } });

const whoIn = ({ systemText }: RecordedRequest): string =>
  /You are (\w+)/.exec(systemText)?.[1] ?? '';

function requestsSince(first: number): readonly RecordedRequest[] {
  return world.emulator.requests.slice(first);
}

async function storyOf(run: RunHandle): Promise<readonly TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return entries;
}

const handoffsIn = (story: readonly TimelineEntry[]): readonly string[] =>
  story.flatMap((entry) => (entry.type === 'HandoffEvent' ? [`${entry.from} > ${entry.to}`] : []));

test('one transcript, other instructions, tools and vendors; the output is that of the agent that was started', async () => {
  const { length } = world.emulator.requests;
  world.emulator.script([
    call('tickets'),
    transfer('billing'),
    call('invoices'),
    transfer('triage'),
    call('tickets'),
    solved,
  ]);
  const run = await world.client.start(triage, { goal: 'Is invoice 7 paid?', context });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: { solved: true } });
  expect(requestsSince(length).map(whoIn)).toEqual([
    'triage',
    'triage',
    'billing',
    'billing',
    'triage',
    'triage',
  ]);
  // A roll-over lies between, and the agent that acts went with the state.
  const status = await run.status();
  expect(status.segments).toBeGreaterThan(1);
  expect(status.agent).toBe('triage');
  expect(status).not.toHaveProperty('actingAgent');
  const [, , ofBilling] = requestsSince(length);
  const body = JSON.stringify(ofBilling?.body);
  for (const text of ['You are billing, for C-1.', 'one ticket', 'Ask billing.', 'complete_task'])
    expect(body).toContain(text);
  // Billing does not have what triage has, nor its own way to end.
  expect(ofBilling?.toolNames).toEqual([
    'invoices',
    'transfer_to_triage',
    'transfer_to_legal',
    'complete_task',
    'ask_user',
  ]);
  // What triage was given came back whole, though billing reads a part of it.
  expect(JSON.stringify(requestsSince(length).at(-1)?.body)).toContain('plan gold');
  expect(seen).toEqual([
    ['tickets', 'triage', known],
    ['invoices', 'billing', known],
    ['tickets', 'triage', known],
  ]);
  expect(handoffsIn(await storyOf(run))).toEqual(['triage > billing', 'billing > triage']);
});

test('an agent without tools goes on with calls of tools that it does not have', async () => {
  const { length } = world.emulator.requests;
  world.emulator.script([call('tickets'), transfer('talker'), solved]);
  const run = await world.client.start(triage, { goal: 'Just talk.', context });
  expect(await run.result()).toMatchObject({
    status: 'completed',
    report: { agent: 'triage', actingAgent: 'talker' },
  });
  expect(requestsSince(length).map(whoIn)).toEqual(['triage', 'triage', 'talker']);
});

test('a person decides about a handoff that needs approval', async () => {
  world.emulator.script([transfer('billing'), transfer('legal'), solved]);
  const run = await world.client.start(triage, { goal: 'Sue.', context });
  const [item] = await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  expect(item).toMatchObject({ type: 'approval', tool: 'transfer_to_legal' });
  expect(await run.status()).toMatchObject({ agent: 'triage', actingAgent: 'billing' });
  await run.approve(item?.type === 'approval' ? item.approvalId : '');
  expect(await run.result()).toMatchObject({ report: { actingAgent: 'legal' } });
});

test('a fork begins with the agent that acted at that point', async () => {
  world.emulator.script([transfer('billing'), call('invoices'), solved]);
  const first = await world.client.start(triage, { goal: 'Pay.', context });
  expect(await first.result()).toMatchObject({ status: 'completed' });
  const { length } = world.emulator.requests;
  world.emulator.script([transfer('triage'), call('tickets'), solved, solved]);
  const later = await world.client.fork(first.runId, 2);
  expect(await later.result()).toMatchObject({ status: 'completed', output: { solved: true } });
  const earlier = await world.client.fork(first.runId, 0);
  expect(await earlier.result()).toMatchObject({ status: 'completed' });
  expect(requestsSince(length).map(whoIn)).toEqual(['billing', 'triage', 'triage', 'triage']);
  expect(seen.at(-1)).toEqual(['tickets', 'triage', known]);
});

test('a run without the context that its agent needs is refused before anything is spent', async () => {
  const { length } = world.emulator.requests;
  const run = await world.client.start({ agent: 'billing', goal: 'Pay.' });
  expect(await run.result()).toMatchObject({
    status: 'failed',
    failure: { code: 'config_invalid' },
  });
  expect(world.emulator.requests).toHaveLength(length);
});
