/** Budgets on real runs: the ledger equals the emulator's bill, and no run passes what it may spend. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { fault, reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { otherModel, startAgentWorld, statusOf, testModel } from '../support/agent-world';

const read = defineTool({
  name: 'read',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  execute: ({ page }) => `page ${page}: ${'all work and no play '.repeat(60)}`,
});

const base: AgentDefinition = {
  name: 'reader',
  instructions: 'You read pages.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [read],
  limits: { streamRetryBaseMs: 50, maxProviderWaitMs: 0 },
};

const agents: readonly AgentDefinition[] = [
  base,
  { ...base, name: 'learned', knowledge: 'model' },
  {
    ...base,
    name: 'two-vendors',
    chain: [
      { provider: 'anthropic', model: 'claude-haiku-4-5' },
      { provider: 'openai', model: otherModel },
    ],
    // A rate limit that lasts rests a route; the other answers.
    limits: { ...base.limits, streamRetries: 1 },
  },
  {
    ...base,
    name: 'unpriced',
    chain: [{ provider: 'chat', model: 'unheard-of', windowTokens: 32_000 }],
  },
  {
    ...base,
    name: 'local',
    chain: [{ provider: 'chat', model: 'home-made', windowTokens: 32_000 }],
  },
];

/** Runs wait for heartbeats and retries, on a machine that has other work. */

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(agents);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

const callPage = (page: number): ReturnType<typeof reply.toolCalls> =>
  reply.toolCalls([{ name: 'read', input: { page } }], { text: `Page ${page} next.` });

/** Runs `work` and gives what the emulator billed for it. */
async function billed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const before = world.emulator.bill.usd;
  const result = await work();
  await world.emulator.waitFor(({ requests }) =>
    requests.every(({ progress }) => progress.finished),
  );
  return [result, world.emulator.bill.usd - before];
}

test('the ledger is the bill, over retries, refusals, a cut stream, the prompt cache and two vendors', async () => {
  const { emulator } = world;
  emulator.script([callPage(1), fault.http(529), callPage(2), fault.http(429), fault.http(429)], {
    wire: 'anthropic',
  });
  emulator.script([callPage(3), reply.text('All read.')], { wire: 'responses' });
  const [outcome, usd] = await billed(() =>
    world.run({ agent: 'two-vendors', goal: 'Read on.', budget: { usd: 5 } }),
  );
  expect(outcome).toMatchObject({ status: 'completed', report: { failovers: 1 } });
  const cost = outcome.report.cost;
  expect(cost.usd).toBeCloseTo(usd, 8);
  expect(usd).toBeGreaterThan(0.003);
  expect(cost).toMatchObject({ budgetUsd: 5 });
  expect(cost.estimatedUsd).toBeUndefined();
  expect(outcome.report.usage.cacheReadTokens).toBeGreaterThan(0);
});

test('what a model was asked about the tools is charged to the run that asked, and to no other', async () => {
  const knowing = JSON.stringify({ tools: [{ name: 'read', hints: [] }] });
  world.emulator.script([reply.text(knowing), reply.text('Done.'), reply.text('Done.')]);
  const budget = { usd: 5 };
  const [first, usd] = await billed(() => world.run({ agent: 'learned', goal: 'Say it.', budget }));
  const [second, less] = await billed(() =>
    world.run({ agent: 'learned', goal: 'Say it.', budget }),
  );
  expect(first.report.cost.usd).toBeCloseTo(usd, 8);
  expect(second.report.cost.usd).toBeCloseTo(less, 8);
  expect(less).toBeLessThan(usd);
  world.emulator.assertDrained();
});

test('a stream that broke off is paid for, by what was said, and told as an estimate', async () => {
  const long = reply.text('a word or two and some more '.repeat(40));
  world.emulator.script([
    fault.cutStream({ during: long, afterCharacters: 600 }),
    fault.overloadedInStream({ during: long, afterCharacters: 300 }),
    reply.text('Done.'),
  ]);
  const [outcome, usd] = await billed(() => world.run({ agent: 'reader', goal: 'Say it.' }));
  const cost = outcome.report.cost;
  expect(outcome.report.healed).toEqual({ network: 1, overloaded: 1 });
  expect(cost.usd).toBeCloseTo(usd, 5);
  expect(cost.estimatedUsd).toBeGreaterThan(0.001);
  expect(cost.estimatedUsd).toBeLessThan(cost.usd ?? 0);
});

function maxTokensOf(request: RecordedRequest): number {
  return Number(request.body['max_tokens']);
}

test('a run ends before a call that it cannot pay, with a smaller reply where that still helps', async () => {
  world.emulator.script((request) =>
    // A model that always says as much as it may.
    reply.toolCalls([{ name: 'read', input: { page: maxTokensOf(request) } }], {
      text: 'word '.repeat(Math.max(maxTokensOf(request) - 60, 1)),
    }),
  );
  const before = world.emulator.requests.length;
  const [outcome, usd] = await billed(() =>
    world.run({ agent: 'reader', goal: 'Read for ever.', budget: { usd: 0.26 } }),
  );
  const cost = outcome.report.cost;
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: 'guard_budget',
    message: expect.stringMatching(
      /^Forced stop: the next model call may take \$0\.\d+, and only \$0\.\d+ is left; it has the budget of \$0\.260 \(\$0\.2\d+ spent\)\.\nEvents processed: \d+ \| Tool calls: \d+ \| Elapsed: /,
    ) as string,
    report: { worked: expect.arrayContaining([expect.stringContaining('read')]) as string[] },
  });
  expect(usd).toBeLessThanOrEqual(0.26);
  expect(usd).toBeGreaterThan(0.2);
  expect(cost.usd).toBeCloseTo(usd, 8);
  const limits = world.emulator.requests.slice(before).map(maxTokensOf);
  expect(limits[0]).toBe(8_192);
  expect(limits.at(-1)).toBeLessThan(8_192);
});

test('a budget in tokens holds too', async () => {
  world.emulator.script((_request, index) => callPage(index));
  const outcome = await world.run({
    agent: 'reader',
    goal: 'Read for ever.',
    budget: { tokens: 6_000 },
  });
  expect(outcome).toMatchObject({ status: 'failed', reason: 'guard_budget' });
  const { usage } = outcome.report;
  const tokens =
    usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  expect(tokens).toBeLessThanOrEqual(6_000);
  expect(tokens).toBeGreaterThan(3_000);
});

test('a stop in mid-stream pays for what had been said, in the run and in its history', async () => {
  world.emulator.script([
    fault.stall({ during: reply.text('half a thought '.repeat(30)), afterCharacters: 200 }),
  ]);
  const before = world.emulator.requests.length;
  const [outcome, usd] = await billed(async () => {
    const handle = await world.start({ agent: 'reader', goal: 'Think.' });
    await world.emulator.waitFor(({ requests }) => requests[before]?.progress.landed === true);
    await handle.signal('stop', { reason: 'enough' });
    const run = world.client.run(handle.workflowId);
    const told = await run.result();
    expect((await statusOf(handle)).cost).toEqual(told.report.cost);
    const folded = await run.status();
    expect(folded.cost).toEqual(told.report.cost);
    return told;
  });
  expect(outcome.status).toBe('stopped');
  expect(outcome.report.cost.usd).toBeCloseTo(usd, 4);
  // More than the prompt alone: what had been said is in it.
  expect(usd).toBeGreaterThan(0.0004);
});

test.each([
  [
    'unpriced',
    { usd: 1 },
    /a budget in US dollars .* needs the price of every model, and that of chat\/unheard-of/,
  ],
  ['reader', { usd: -1 }, /budget\.usd/],
  ['reader', { tokens: 1.5 }, /budget\.tokens/],
])('%s with budget %j is refused before anything is spent', async (agent, budget, words) => {
  const before = world.emulator.requests.length;
  const outcome = await world.run({ agent, goal: 'Go.', budget });
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: { code: 'config_invalid', message: expect.stringMatching(words) as string },
  });
  expect(world.emulator.requests).toHaveLength(before);
});

test('the cost of a model without a known price is unknown, not nothing', async () => {
  world.emulator.script([reply.text('Hello.')]);
  const outcome = await world.run({ agent: 'local', goal: 'Greet.' });
  expect(outcome.status).toBe('completed');
  expect(outcome.report.cost).toEqual({ unpricedCalls: 1, pricedUsd: 0 });
});
