/** Exactly one owner retries: requests and their times, counted on the emulator, for each fault on each wire. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { Limits } from '../../workflows/core/limits';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';
import { expectAllLanded, requestsOf, wireAgents, wireRoutes } from './wires';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
});

/** Small enough for a test; only the deadlines of a silent provider are long, for a machine that is busy. */
const limits = {
  streamRetries: 2,
  streamRetryBaseMs: 100,
  firstByteMs: 60_000,
  betweenBytesMs: 60_000,
  thinkingMs: 60_000,
  maxProviderWaitMs: 0,
} as const;

/** One set of agents for each call of `onEveryWire`. */
const sets = 40;
let usedSets = 0;

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(wireAgents(sets, [look], limits));
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

interface WireRun {
  readonly outcome: RunOutcome;
  readonly requests: readonly RecordedRequest[];
}

/** Runs the same script on every wire at once. */
function onEveryWire(
  steps: readonly Step[],
  overrides: Partial<Limits> = {},
): Promise<readonly WireRun[]> {
  const before = world.emulator.requests.length;
  const set = usedSets;
  usedSets += 1;
  return Promise.all(
    wireRoutes.map(async ({ wire }) => {
      world.emulator.script(steps, { wire });
      const outcome = await world.run({ agent: `${wire}-${set}`, goal: 'Go.', limits: overrides });
      return { outcome, requests: requestsOf(world.emulator, wire, before) };
    }),
  );
}

function gapsMs(requests: readonly RecordedRequest[]): readonly number[] {
  return requests.slice(1).map(({ atMs }, index) => atMs - (requests[index]?.atMs ?? 0));
}

const partial = { afterText: 'I had got as far as this' };
const transient: readonly (readonly [name: string, step: Step, code: string])[] = [
  ['429', fault.http(429, { error: { message: 'Slow down.' } }), 'rate_limit'],
  ['529', fault.http(529), 'overloaded'],
  ['503', fault.http(503), 'overloaded'],
  ['504', fault.http(504), 'timeout'],
  ['a reset before the answer', fault.connection('reset'), 'network'],
  ['a cut stream', fault.cutStream(partial), 'network'],
  ['an end without the closing event', fault.missingEnd(), 'network'],
  ['an error inside a 200 stream', fault.overloadedInStream(partial), 'overloaded'],
  ['a 200 without a single event', fault.emptyBody(), 'network'],
  ['silence before the answer', fault.connection('stall'), 'timeout'],
  ['silence within the stream', fault.stall(partial), 'timeout'],
];
/** The one deadline that each silent answer runs into. */
const deadlines: Readonly<Record<string, Partial<Limits>>> = {
  'silence before the answer': { firstByteMs: 1_500 },
  'silence within the stream': { betweenBytesMs: 1_500 },
};

test.each(transient)(
  'gets over %s on the same route, with growing delays, and says how often',
  async (name, step, code) => {
    const steps = [step, step, reply.text('done')];
    for (const { outcome, requests } of await onEveryWire(steps, deadlines[name])) {
      expect(outcome).toMatchObject({
        status: 'completed',
        answer: 'done',
        report: { healed: { [code]: 2 }, failovers: 0, modelCalls: 1, iterations: 1 },
      });
      expectAllLanded(requests);
      expect(requests).toHaveLength(3);
      const [first = 0, second = 0] = gapsMs(requests);
      expect(first).toBeGreaterThanOrEqual(limits.streamRetryBaseMs);
      expect(second).toBeGreaterThanOrEqual(limits.streamRetryBaseMs * 2);
    }
    world.emulator.assertDrained();
  },
);

test.each(transient.filter(([name]) => / cut |inside|^529/.test(name)))(
  'never sends a request more than the two retries of %s',
  async (_name, step, code) => {
    for (const { outcome, requests } of await onEveryWire([step, step, step])) {
      expect(outcome).toMatchObject({
        status: 'failed',
        reason: 'chain_exhausted',
        report: { modelCalls: 1, iterations: 1, healed: {} },
      });
      expect(outcome.status === 'failed' && outcome.message).toContain(`: ${code} (`);
      expectAllLanded(requests);
      expect(requests).toHaveLength(1 + limits.streamRetries);
    }
    world.emulator.assertDrained();
  },
);

test('never repeats a call that got nothing but pings for as long as a thought may take', async () => {
  const step = fault.stall({ ...partial, pingEveryMs: 100 });
  const deadlines = { betweenBytesMs: 1_500, thinkingMs: 1_600 };
  for (const { outcome, requests } of await onEveryWire([step], deadlines)) {
    expect(outcome).toMatchObject({ status: 'failed', reason: 'chain_exhausted' });
    expect(outcome.status === 'failed' && outcome.message).toContain('no piece of content');
    expect(outcome.report.usage.outputTokens).toBeGreaterThan(0);
    expectAllLanded(requests);
    expect(requests).toHaveLength(1);
  }
  world.emulator.assertDrained();
});

test('a server that only pings for longer than a heartbeat may be late loses no attempt', async () => {
  const step = fault.pause(5_000, { pingEveryMs: 100, during: reply.text('done') });
  const deadlines = { betweenBytesMs: 1_500, heartbeatTimeoutMs: 2_500 };
  for (const { outcome, requests } of await onEveryWire([step], deadlines)) {
    expect(outcome).toMatchObject({
      status: 'completed',
      answer: 'done',
      report: { healed: {}, modelCalls: 1, didNotWork: [] },
    });
    expect(requests).toHaveLength(1);
  }
  world.emulator.assertDrained();
});

const quota = 'You exceeded your current quota, please check your plan and billing details.';
const credit = 'Your credit balance is too low to access the API.';
test.each([
  ['401', fault.http(401), 'chain_exhausted', 'auth'],
  ['403', fault.http(403), 'chain_exhausted', 'auth'],
  ['404', fault.http(404), 'chain_exhausted', 'model_not_found'],
  ['no credit', fault.http(400, { error: { message: credit } }), 'chain_exhausted', 'billing'],
  [
    'no quota, told as 429',
    fault.http(429, { error: { code: 'insufficient_quota', message: quota } }),
    'chain_exhausted',
    'billing',
  ],
  ['a refused format', fault.http(400), 'infra', 'format'],
] as const)('never repeats %s', async (_name, step, reason, code) => {
  for (const { outcome, requests } of await onEveryWire([step])) {
    expect(outcome).toMatchObject({ status: 'failed', reason, report: { modelCalls: 1 } });
    expectAllLanded(requests);
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(outcome.report.didNotWork)).toContain(remedyWords[code]);
  }
  world.emulator.assertDrained();
});

/** What a person reads about each permanent failure. */
const remedyWords = {
  auth: 'Check the API key',
  billing: 'Add credit',
  format: 'refused the request as malformed',
  model_not_found: 'Check the model name',
};

test('waits 1.5 s, then 3 s, before the two retries of R-STREAM-2 and R-STREAM-3', async () => {
  const step = fault.http(529);
  const runs = await onEveryWire([step, step, step], { streamRetryBaseMs: 1_500 });
  for (const { requests } of runs) {
    const [first = 0, second = 0, ...others] = gapsMs(requests);
    expect(first).toBeGreaterThanOrEqual(1_500);
    expect(second).toBeGreaterThanOrEqual(3_000);
    // A busy machine adds seconds; another mechanism's retries would come at once, or after a cooldown of a minute.
    expect(Math.max(first, second)).toBeLessThan(30_000);
    expect(others).toEqual([]);
  }
  world.emulator.assertDrained();
});

test.each([
  ['seconds', { 'retry-after': '2' }, 2_000],
  ['milliseconds', { 'retry-after-ms': '1200', 'retry-after': '60' }, 1_200],
])('honors a Retry-After in %s that is longer than the backoff', async (_unit, headers, waitMs) => {
  const runs = await onEveryWire([fault.http(429, { headers }), reply.text('done')]);
  for (const { outcome, requests } of runs) {
    expect(outcome).toMatchObject({ status: 'completed', report: { healed: { rate_limit: 1 } } });
    expect(requests).toHaveLength(2);
    const [gap = 0] = gapsMs(requests);
    expect(gap).toBeGreaterThanOrEqual(waitMs);
    expect(gap).toBeLessThan(waitMs + 30_000);
  }
  world.emulator.assertDrained();
});

test('leaves a Retry-After that is too long for a retry to the cooldown of the route', async () => {
  const headers = { 'retry-after': '3600' };
  for (const { outcome, requests } of await onEveryWire([fault.http(429, { headers })])) {
    expect(outcome).toMatchObject({ status: 'failed', reason: 'chain_exhausted' });
    expect(outcome.status === 'failed' && outcome.message).toContain('maxProviderWaitMs');
    expect(requests).toHaveLength(1);
  }
  world.emulator.assertDrained();
});

test('tells the model in the retry alone what broke and what had arrived', async () => {
  const runs = await onEveryWire([
    fault.cutStream(partial),
    reply.toolCalls([{ name: 'look', input: {} }]),
    reply.text('done'),
  ]);
  for (const { outcome, requests } of runs) {
    expect(outcome).toMatchObject({ status: 'completed', report: { toolCallsSucceeded: 1 } });
    const [broken, retried, next] = requests;
    const nudge = 'did not arrive whole (network)';
    expect(JSON.stringify(broken?.body)).not.toContain(nudge);
    expect(retried?.lastUserText).toContain(nudge);
    expect(retried?.lastUserText).toContain(partial.afterText);
    expect(JSON.stringify(next?.body)).not.toContain(nudge);
    expect(JSON.stringify(next?.body)).not.toContain(partial.afterText);
    expect(requests).toHaveLength(3);
  }
  world.emulator.assertDrained();
});
