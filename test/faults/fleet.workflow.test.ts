/** A fleet learns from one failure: a hundred runs on one store share health, and one prober at a time tries for all. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { fault, reply } from '../../testing/emulator/script';
import { defaultLimits } from '../../workflows/core/limits';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  otherModel,
  outcomeOf,
  startAgentWorld,
  testModel,
} from '../support/agent-world';

/** The cooldown's minutes in seconds: 4 s, probed 2 s before its end (R-FAIL-5). */
const restMs = 4_000;
const probeEveryMs = 2_000;

const limits: NonNullable<AgentDefinition['limits']> = {
  streamRetryBaseMs: 50,
  probeLeadMs: restMs - probeEveryMs,
  // Longer than a probe takes on a loaded machine: a lease that runs out lets a second prober in, as it should.
  probeLeaseMs: 20_000,
  cooldownMs: { ...defaultLimits.cooldownMs, rate_limit: restMs, overloaded: restMs },
};

let world: AgentWorld;
beforeEach(async () => {
  world = await startAgentWorld([
    {
      name: 'answerer',
      instructions: 'You answer.',
      chain: [
        { provider: 'anthropic', model: testModel },
        { provider: 'openai', model: otherModel },
      ],
      tools: [],
      limits,
    },
  ]);
});
afterEach(() => world.dispose());

async function runAll(count: number): Promise<readonly string[]> {
  const request = { agent: 'answerer', goal: 'Answer.' };
  const outcomes = await Promise.all(Array.from({ length: count }, () => world.run(request)));
  return outcomes.map(({ status }) => status);
}

function timesOf(wire: RecordedRequest['wire'], fromMs: number, toMs: number): readonly number[] {
  return world.emulator.requests
    .filter((request) => request.wire === wire && request.atMs > fromMs && request.atMs < toMs)
    .map(({ atMs }) => atMs);
}

/** Requests that came sooner after the one before than an interval allows. */
function tooSoon(times: readonly number[]): readonly number[] {
  return times.slice(1).filter((atMs, index) => atMs - (times[index] ?? 0) < probeEveryMs);
}

/** Lets one run find out that these routes are down; from then on whatever reaches them is a probe. */
async function learn(
  routes: readonly string[],
): Promise<{ readonly atMs: number; readonly handle: RunHandle }> {
  const handle = await world.start({ agent: 'answerer', goal: 'Answer.' });
  const known = await eventually(
    () => world.stored.store.readHealth(routes),
    (health) => health.length === routes.length,
  );
  return { atMs: Math.max(...known.map(({ lastFailureAtMs = 0 }) => lastFailureAtMs)), handle };
}

test('spares a hundred runs while the primary answers 429, then returns to it', async () => {
  let isLimited = true;
  world.emulator.script(({ wire }) =>
    wire === 'anthropic' && isLimited ? fault.http(429) : reply.text('done'),
  );
  const learnt = await learn([`anthropic/${testModel}`]);
  expect(await runAll(100)).toEqual(Array(100).fill('completed'));
  expect(tooSoon(timesOf('anthropic', learnt.atMs, Date.now()))).toEqual([]);
  isLimited = false;
  const before = world.emulator.requests.length;
  while (!world.emulator.requests.slice(before).some(({ wire }) => wire === 'anthropic')) {
    expect(await runAll(1)).toEqual(['completed']);
  }
  expect(await world.stored.store.readHealth([`anthropic/${testModel}`])).toMatchObject([
    { status: 'healthy', cooldownUntilMs: 0 },
  ]);
});

test('lets fifty runs wait while both vendors are down, with one probe an interval', async () => {
  let isDown = true;
  world.emulator.script(() => (isDown ? fault.http(529) : reply.text('back again')));
  const learnt = await learn([`anthropic/${testModel}`, `openai/${otherModel}`]);
  const waiting = runAll(50);
  await world.emulator.waitFor(
    ({ requests }) => requests.filter(({ atMs }) => atMs > learnt.atMs).length >= 6,
  );
  isDown = false;
  const endedAtMs = Date.now();
  expect(await waiting).toEqual(Array(50).fill('completed'));
  expect(await outcomeOf(learnt.handle)).toMatchObject({ status: 'completed' });
  for (const wire of ['anthropic', 'responses'] as const)
    expect(tooSoon(timesOf(wire, learnt.atMs, endedAtMs))).toEqual([]);
});
