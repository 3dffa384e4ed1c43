/** Layer 1 end to end: the chain over three vendors, cooldowns, waits, ends that name every reason, and a switch in mid-transcript. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import { defaultLimits } from '../../workflows/core/limits';
import type { RunRequest } from '../../workflows/core/run/ports';
import type { AgentWorld } from '../support/agent-world';
import { eventually, outcomeOf, startAgentWorld, statusOf } from '../support/agent-world';
import { expectAllLanded, wireAgents, wireRoutes, wireRoutesOf } from './wires';
import { storyOf } from '../support/folded-story';

const look = defineTool({
  name: 'look',
  description: 'Looks at something.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  execute: ({ at }) => `seen: ${at}`,
});

/** One set of routes for each test, since all runs share a route's health. */
const sets = 9;
let set = 0;
const nameOf = (place: number): string => {
  const { provider, model } = wireRoutesOf(set)[place] ?? { provider: '', model: '' };
  return `${provider}/${model}`;
};

function chainedAgent(_: unknown, index: number): AgentDefinition {
  const [first, ...others] = wireRoutesOf(index).map(({ wire: _, ...route }) => route);
  if (first === undefined) throw new Error('a chain has routes');
  return {
    name: `chained-${index}`,
    instructions: 'You look at things.',
    chain: [index === sets - 1 ? { ...first, onRefusedRequest: 'end-run' } : first, ...others],
    tools: [look],
    limits: { streamRetries: 0, streamRetryBaseMs: 1 },
  };
}

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    ...Array.from({ length: sets }, chainedAgent),
    ...wireAgents(1, [look], { streamRetries: 0 }),
  ]);
});
afterAll(() => world.dispose());
let before = 0;
beforeEach(() => {
  world.emulator.clearScripts();
  before = world.emulator.requests.length;
});

/** A request for the next set's agent; `nameOf` then names its routes. */
function chained(): RunRequest {
  set += 1;
  return { agent: `chained-${set}`, goal: 'Look.' };
}

const calls = (...places: string[]): ReturnType<typeof reply.toolCalls> =>
  reply.toolCalls(places.map((at) => ({ name: 'look', input: { at } })));

function script(steps: { readonly [Wire in 'anthropic' | 'responses' | 'chat']?: Step[] }): void {
  for (const { wire } of wireRoutes) world.emulator.script(steps[wire] ?? [], { wire });
}

function requests(): readonly RecordedRequest[] {
  return world.emulator.requests.slice(before);
}

test('goes down the chain, says so in timeline and status, and stays where it is answered', async () => {
  script({
    anthropic: [fault.http(529)],
    responses: [fault.http(401)],
    chat: [calls('a'), reply.text('done')],
  });
  const handle = await world.start(chained());
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { failovers: 2, healed: { overloaded: 1, auth: 1 }, modelCalls: 4, iterations: 2 },
  });
  expect(requests().map(({ wire }) => wire)).toEqual(['anthropic', 'responses', 'chat', 'chat']);
  expectAllLanded(requests());
  const entries = await storyOf(world, handle);
  expect(entries.filter(({ type }) => type === 'FailoverEvent')).toMatchObject([
    { from: nameOf(0), to: nameOf(1), reason: 'overloaded' },
    { from: nameOf(1), to: nameOf(2), reason: 'auth' },
  ]);
  expect(
    entries.flatMap((entry) =>
      entry.type === 'IterationStartedEvent' ? [[entry.route, entry.isFallback]] : [],
    ),
  ).toEqual([
    [nameOf(0), false],
    [nameOf(1), true],
    [nameOf(2), true],
    [nameOf(2), true],
  ]);
  expect(await statusOf(handle)).toMatchObject({
    route: nameOf(2),
    isFallback: true,
    failovers: 2,
  });
  world.emulator.assertDrained();
});

test('goes back to the primary when its cooldown is over', async () => {
  script({
    anthropic: [fault.http(503), reply.text('back')],
    responses: [calls('a')],
  });
  const overloaded = 1;
  const outcome = await world.run({
    ...chained(),
    limits: { cooldownMs: { ...defaultLimits.cooldownMs, overloaded } },
  });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'back', report: { failovers: 1 } });
  expect(requests().map(({ wire }) => wire)).toEqual(['anthropic', 'responses', 'anthropic']);
  world.emulator.assertDrained();
});

test('waits on a durable timer while all cool, shows why, and goes on with the first that is free', async () => {
  script({
    anthropic: [fault.http(529)],
    responses: [fault.http(429, { error: { message: 'Slow down.' } }), reply.text('done')],
    chat: [fault.http(503)],
  });
  const cooldownMs = { ...defaultLimits.cooldownMs, rate_limit: 6_000 };
  const handle = await world.start({ ...chained(), limits: { cooldownMs } });
  const waiting = await eventually(
    () => statusOf(handle),
    ({ status }) => status === 'waiting',
  );
  for (const part of [
    'provider: ',
    `${nameOf(0)}: overloaded`,
    `${nameOf(1)}: rate_limit`,
    `${nameOf(2)}: overloaded`,
  ])
    expect(waiting.reason).toContain(part);
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'done' });
  expect(requests().map(({ wire }) => wire)).toEqual([
    'anthropic',
    'responses',
    'chat',
    'responses',
  ]);
  const [, limited, , again] = requests();
  expect((again?.atMs ?? 0) - (limited?.atMs ?? 0)).toBeGreaterThanOrEqual(2_900);
  const { events } = await handle.fetchHistory();
  expect(events?.filter((event) => event.timerFiredEventAttributes)).toHaveLength(1);
  world.emulator.assertDrained();
});

test("fails with every provider's reason where waiting cannot cure it", async () => {
  script({
    anthropic: [fault.http(401)],
    responses: [fault.http(404)],
    chat: [fault.http(402)],
  });
  const outcome = await world.run(chained());
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: 'chain_exhausted',
    failure: { code: 'chain_exhausted' },
  });
  const message = outcome.status === 'failed' ? outcome.message : '';
  expect(message).toContain('waiting cannot cure it');
  expect(message).toContain(`${nameOf(0)}: auth (`);
  expect(message).toContain(`${nameOf(1)}: model_not_found (`);
  expect(message).toContain(`${nameOf(2)}: billing (`);
  expect(requests()).toHaveLength(3);
  world.emulator.assertDrained();
});

const refused = fault.http(400, {
  error: { message: 'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum' },
});
const kept = sets - 1;

test('puts what one vendor refuses to the next one, and gives the first no cooldown, in this run and in others', async () => {
  script({
    anthropic: [refused, refused, reply.text('taken')],
    responses: [calls('a'), calls('b'), reply.text('done')],
  });
  const request = chained();
  const outcome = await world.run(request);
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: 'done',
    report: { failovers: 2, healed: { format: 2 }, modelCalls: 5 },
  });
  // Refused twice in a row, so this run asks no third time; the next run does.
  const wires = ['anthropic', 'responses', 'anthropic', 'responses', 'responses'];
  expect(requests().map(({ wire }) => wire)).toEqual(wires);
  expect(await world.run(request)).toMatchObject({ answer: 'taken', report: { failovers: 0 } });
  expect(await world.stored.store.readHealth([nameOf(0)])).toEqual([
    expect.objectContaining({ cooldownUntilMs: 0 }),
  ]);
  world.emulator.assertDrained();
});

test('ends with both messages if the next vendor refuses too, and asks nobody if the route forbids it', async () => {
  script({ anthropic: [refused, refused], responses: [refused] });
  const outcome = await world.run(chained());
  const message = outcome.status === 'failed' ? outcome.message : '';
  expect(outcome).toMatchObject({ status: 'failed', reason: 'infra', failure: { code: 'format' } });
  expect(message).toContain(`${nameOf(1)} refused the request`);
  expect(message).toContain(`no more are asked: ${nameOf(0)} refused the request`);
  expect(requests().map(({ wire }) => wire)).toEqual(['anthropic', 'responses']);
  const alone = await world.run({ agent: `chained-${kept}`, goal: 'Look.' });
  expect(alone).toMatchObject({ status: 'failed', report: { modelCalls: 1, failovers: 0 } });
  expect(alone.status === 'failed' && alone.message).toContain("onRefusedRequest is 'end-run'");
  world.emulator.assertDrained();
});

/** Larger than the window of any route. */
const tooLong = { anthropic: 'prompt is too long: 2100000 tokens > 2000000 maximum' } as const;
const overflow = fault.http(400, {
  error: {
    code: 'context_length_exceeded',
    type: 'invalid_request_error',
    message: `${tooLong.anthropic}. Your input exceeds the context window of this model.`,
  },
});

test.each([
  ['context overflow', overflow, 'context_overflow', /too long/],
  ['a content filter', reply.text('I', { stop: 'content-filter' }), 'filter', /filter|declined/],
  ['a refusal', reply.refusal('I will not do this.'), 'refusal', /declined|filter/],
] as const)(
  'ends readably on %s, after exactly one request, without going down the chain',
  async (_name, step, reason, words) => {
    for (const { wire } of wireRoutes) {
      world.emulator.clearScripts();
      before = world.emulator.requests.length;
      world.emulator.script([step], { wire });
      const outcome = await world.run({ agent: `${wire}-0`, goal: 'Go.' });
      expect(outcome).toMatchObject({ status: 'failed', report: { modelCalls: 1, failovers: 0 } });
      expect(outcome.status === 'failed' && outcome.message).toMatch(words);
      // Anthropic has one stop reason for both.
      const possible = reason === 'filter' ? ['content_filter', 'refusal'] : [reason];
      expect(possible).toContain(outcome.status === 'failed' && outcome.reason);
      expect(requests()).toHaveLength(1);
      expectAllLanded(requests());
    }
    world.emulator.assertDrained();
  },
);

test('switches vendors in mid-run, with parallel calls and reasoning in the transcript, and no vendor refuses', async () => {
  const thinking = (at: string, ...more: string[]): Step =>
    reply.toolCalls(
      [at, ...more].map((place) => ({ name: 'look', input: { at: place } })),
      { reasoning: `I think about ${at}.`, text: `Looking at ${at}.` },
    );
  script({
    anthropic: [thinking('a1', 'a2'), fault.http(529), thinking('a3', 'a4'), fault.cutStream()],
    responses: [
      thinking('r1', 'r2', 'r3'),
      fault.overloadedInStream(),
      thinking('r4'),
      fault.http(503),
      fault.http(503),
    ],
    chat: [thinking('c1', 'c2'), thinking('c3'), reply.text('done', { reasoning: 'Enough.' })],
  });
  // Cooldowns of a millisecond: each iteration begins with the primary again.
  const cooldownMs = { ...defaultLimits.cooldownMs, overloaded: 1, network: 60_000 };
  const handle = await world.start({
    ...chained(),
    limits: { cooldownMs, maxIterations: 20 },
  });
  const outcome = await outcomeOf(handle);
  expect(world.emulator.refusals).toEqual([]);
  expect(outcome.status).toBe('completed');
  const shown = requests().map(({ wire }) => wire.charAt(0));
  expect(shown.join('')).toBe('aa' + 'r' + 'aar' + 'c' + 'r' + 'rc' + 'rc');
  const again = JSON.stringify(requests()[3]?.body);
  expect(again).toContain('I think about a1.');
  expect(again).not.toContain('I think about r1.');
  const last = requests().at(-1);
  expect(last?.toolResults).toHaveLength(last?.toolCalls.length ?? -1);
  expect(last?.toolResults.length).toBe(outcome.report.toolCallsSucceeded);
  expectAllLanded(requests());
  world.emulator.assertDrained();
});
