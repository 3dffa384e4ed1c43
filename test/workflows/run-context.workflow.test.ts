/** A run's context on a real server: tools, approval rules, hints and instructions read it, the model does not; threads. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/index';
import { defineAgent, defineSubagent, defineTool } from '../../activities/index';
import type { RunHandle } from '../../client/index';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { customer, seen, supportAgent } from '../support/support-agent';
import { startOwnServer, uniqueName } from '../support/temporal';

/** Events after which the server suggests a new segment. */
const suggestAfterEvents = 20;

const chain = [{ provider: 'anthropic', model: testModel }] as const;
const wait = defineTool({
  name: 'wait',
  description: 'Needs approval.',
  input: z.object({}),
  approval: 'always',
  execute: () => 'waited',
});
const plain = defineAgent({ name: 'plain', instructions: 'You talk.', chain, tools: [wait] });
const lead = defineAgent({
  name: 'lead',
  instructions: 'You delegate.',
  chain,
  context: customer.extend({ note: z.string() }),
  tools: [defineSubagent({ name: 'ask', description: 'Asks support.', agent: supportAgent })],
});
const moody: AgentDefinition = {
  name: 'moody',
  instructions: () => Promise.reject(new Error('no mood today')),
  chain,
  tools: [],
};

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([supportAgent, plain, lead, moody], {
    server: await startOwnServer({ rollsOverAfter: suggestAfterEvents }),
  });
});
afterAll(async () => {
  await world.dispose();
});
beforeEach(() => {
  world.emulator.clearScripts();
  seen.length = 0;
});

const context = { customerId: 'C-1', plan: 'gold' };
const list = reply.toolCalls([{ name: 'list_orders', input: {} }]);
const refunding = (order: string) => reply.toolCalls([{ name: 'refund', input: { order } }]);
const done = reply.toolCalls([
  { name: 'complete_task', input: { summary: 'Done.', result: { refunded: ['A-17'] } } },
]);
const requests = (): readonly string[] =>
  world.emulator.requests.map(({ body }) => JSON.stringify(body));
const lastRequest = (): string => requests().at(-1) ?? '';

async function historyOf(runId: string): Promise<string> {
  const { events } = await world.server.client.getHandle(runId).fetchHistory();
  // The SDK gives payloads in base64.
  return JSON.stringify(events, (key, value: unknown) =>
    key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value,
  );
}

test('tools serve the run’s customer only, across roll-overs, and the model never sees the context', async () => {
  const { length } = world.emulator.requests;
  world.emulator.script([refunding('B-5'), list, refunding('B-6'), list, refunding('A-17'), done]);
  const run = await world.client.start(supportAgent, { goal: 'Refund.', tenant: 'shop', context });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: { refunded: ['A-17'] } });
  expect((await run.status()).segments).toBeGreaterThan(1);
  // Another customer's order does not exist for this run, and the hint knows the customer's own.
  expect(lastRequest()).toContain('There is no order');
  expect(lastRequest()).toContain('The orders are A-17, A-18.');
  expect(lastRequest()).toContain('refunded A-17 for C-1');
  // The tool asked for the customer alone.
  const known = { runId: run.runId, agent: 'support', tenant: 'shop' };
  expect(seen).toEqual(Array(2).fill({ context: { customerId: 'C-1' }, ...known }));
  const sent = requests().slice(length);
  for (const body of sent)
    expect(body).toContain('You support customers of the plan gold at shop.');
  expect(sent[0]).not.toContain('C-1');
  // Later segments carry the reference.
  const history = await historyOf(run.runId);
  expect(history).toContain('hasContext');
  expect(history).not.toContain('customerId');
});

test('an approval rule reads the context, with the defaults of the agent’s schema', async () => {
  world.emulator.script([refunding('A-17'), done]);
  const run = await world.client.start<typeof supportAgent>('support', {
    goal: 'Refund.',
    context: { customerId: 'C-1' },
  });
  const [item] = await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  expect(item).toMatchObject({ type: 'approval', tool: 'refund' });
  expect(requests().at(-1)).toContain('the plan basic at default');
  await run.reject(item?.type === 'approval' ? item.approvalId : '', 'no');
  expect(await run.result()).toMatchObject({ status: 'completed' });
});

test('a fork and a continued run keep the context, or take another', async () => {
  world.emulator.script([list, done]);
  const first = await world.client.start(supportAgent, { goal: 'List.', context });
  await first.result();
  const seenCustomers = async (start: () => Promise<RunHandle<never> | RunHandle>) => {
    seen.length = 0;
    world.emulator.script([list, done]);
    expect(await (await start()).result()).toMatchObject({ status: 'completed' });
    return seen.map((each) => (each as { context: { customerId: string } }).context.customerId);
  };
  const { runId } = first;
  const other = { customerId: 'C-2', plan: 'gold' };
  expect(await seenCustomers(() => world.client.fork(runId, 1))).toEqual(['C-1']);
  expect(await seenCustomers(() => world.client.fork(runId, 1, { context: other }))).toEqual([
    'C-2',
  ]);
  const next = { agent: 'support', goal: 'Go on.', continueFrom: runId };
  let continued = '';
  expect(
    await seenCustomers(async () => {
      const run = await world.client.start(next);
      continued = run.runId;
      return run;
    }),
  ).toEqual(['C-1']);
  expect(await seenCustomers(() => world.client.fork(continued, 1))).toEqual(['C-1']);
  expect(await seenCustomers(() => world.client.start({ ...next, context: other }))).toEqual([
    'C-2',
  ]);
});

test('a subagent gets what its own schema reads of its parent run’s context', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'ask', input: { task: 'List the orders.' } }]),
    list,
    done,
    reply.text('Two orders.'),
  ]);
  const run = await world.client.start(lead, { goal: 'Ask.', context: { ...context, note: 'x' } });
  expect(await run.result()).toMatchObject({ status: 'completed', answer: 'Two orders.' });
  expect(seen).toMatchObject([{ agent: 'support', context: { customerId: 'C-1' } }]);
});

describe('before a run', () => {
  test.each<readonly [what: string, start: () => Promise<unknown>, error: RegExp]>([
    [
      'an unknown agent',
      () => world.client.start('suport', { goal: 'x' }),
      /No agent is called "suport"; the worker that answered .* has support, plain, lead, moody\. .*Nothing was started/,
    ],
    [
      'an unknown option',
      () => world.client.start({ agent: 'plain', goal: 'x', workspce: '/srv' } as never),
      /Unknown option "workspce"; a start takes agent, goal, workspace,/,
    ],
    [
      'what only the runtime sets',
      () => world.client.start({ agent: 'plain', goal: 'x', parent: {} } as never),
      /Unknown option "parent"/,
    ],
    [
      'a missing context',
      () => world.client.start(supportAgent, { goal: 'x' } as never),
      /The context of agent "support" does not fit its schema: context: .*Nothing was started/,
    ],
    [
      'a context that does not fit',
      () => world.client.start(supportAgent, { goal: 'x', context: { customerId: 'X' } }),
      /context\.customerId: .*Nothing was started/,
    ],
    [
      'a context for an agent without one',
      () => world.client.start(plain, { goal: 'x', context: {} } as never),
      /Agent "plain" takes no context\. Leave `context` out/,
    ],
    [
      'a context that is no JSON',
      () => world.client.start('support', { goal: 'x', context: { since: new Date() } as never }),
      /The context must be a JSON object/,
    ],
    [
      'a context that is too large',
      () => world.client.start('support', { goal: 'x', context: { text: 'x'.repeat(20_000) } }),
      /more than 16384 bytes of JSON; give ids/,
    ],
    [
      'a thread id that is none',
      () => Promise.resolve().then(() => world.client.thread('a:b')),
      /The thread id "a:b" must be 1 to 200 letters/,
    ],
  ])('%s is refused', async (_what, start, error) => {
    await expect(start()).rejects.toThrow(error);
  });
});

describe('at the start of a run by name, before a model is asked', () => {
  test.each<readonly [what: string, agent: string, given: object, message: RegExp]>([
    [
      'a missing context',
      'support',
      {},
      /"support": the context does not fit its schema: context: .*Start the run with/,
    ],
    [
      'a context that does not fit',
      'support',
      { context: { plan: 'gold' } },
      /context\.customerId: .*Start the run with/,
    ],
    [
      'a context for an agent without one',
      'plain',
      { context: {} },
      /"plain": it takes no context\. Leave/,
    ],
    [
      'instructions that fail',
      'moody',
      {},
      /"moody": the function `instructions` failed: no mood today/,
    ],
  ])('%s ends it', async (_what, agent, given, message) => {
    const { length } = world.emulator.requests;
    const run = await world.client.start({ agent, goal: 'x', ...given });
    const result = await run.result();
    expect(result).toMatchObject({ status: 'failed', reason: 'infra' });
    expect(result.status === 'failed' && result.message).toMatch(message);
    expect(world.emulator.requests.length).toBe(length);
  });
});

describe('a thread', () => {
  test('continues where its last run ended, past one that never began', async () => {
    const thread = world.client.thread(uniqueName('user'));
    expect(await thread.last()).toBeUndefined();
    world.emulator.script([reply.text('Hello Ann.')]);
    const first = await thread.start(plain, { goal: 'I am Ann.' });
    expect(first.runId).toBe(`${thread.id}:1`);
    expect(await first.result()).toMatchObject({ answer: 'Hello Ann.' });
    const broken = await thread.start('moody', { goal: 'x' });
    expect(await broken.result()).toMatchObject({ status: 'failed' });
    world.emulator.script([reply.text('Ann.')]);
    const third = await thread.start(plain, { goal: 'Who am I?' });
    expect(third.runId).toBe(`${thread.id}:3`);
    expect(await third.result()).toMatchObject({ answer: 'Ann.' });
    for (const text of ['I am Ann.', 'Hello Ann.', 'Who am I?'])
      expect(lastRequest()).toContain(text);
    expect((await thread.last())?.runId).toBe(third.runId);
  });

  test('lets one of several starts at once continue, and none while a run is in progress', async () => {
    const thread = world.client.thread(uniqueName('user'));
    world.emulator.script([reply.text('One.')]);
    await (await thread.start(plain, { goal: 'First.' })).result();
    world.emulator.script([reply.toolCalls([{ name: 'wait', input: {} }])]);
    const starts = await Promise.allSettled(
      ['a', 'b', 'c'].map((goal) => thread.start(plain, { goal })),
    );
    const won = starts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(won.map(({ runId }) => runId)).toEqual([`${thread.id}:2`]);
    const lost = starts.flatMap((each) =>
      each.status === 'rejected' ? [each.reason as unknown] : [],
    );
    for (const error of lost) expect(error).toMatchObject({ code: 'thread-busy' });
    await expect(thread.start(plain, { goal: 'd' })).rejects.toMatchObject({
      code: 'thread-busy',
      message: expect.stringContaining(`"${thread.id}:2"`) as string,
    });
    await won[0]?.stop('enough');
    await won[0]?.result();
  });
});
