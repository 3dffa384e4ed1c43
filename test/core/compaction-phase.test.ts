/** Compaction within a run: what is held back, refused, retried, waited for, and where it ends. */
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { InfraError } from '../../workflows/core/failure';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import { aMeasure, anAgentError, anInfraError, aRoute, aSnapshot } from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';
import { RunDriver } from '../support/run-driver';

type Answer = ScriptedReply | InfraError | { readonly heldBack: ContextMeasure };

const windowTokens = 100_000;
const chain = [
  aRoute({ windowTokens, maxOutputTokens: 8_000 }),
  aRoute({ provider: 'beta', model: 'model-2', windowTokens, maxOutputTokens: 8_000 }),
];
const tooLarge = { heldBack: aMeasure({ tokens: 95_000 }) };

function drive(
  answers: readonly Answer[],
  world: Partial<DrivenWorld> = {},
  snapshot: Partial<AgentSnapshot> = {},
): RunDriver {
  return new RunDriver({
    prepare: () => aSnapshot({ chain, ...snapshot }),
    model: (_request, call) => answers[call - 1] ?? { text: 'one call too many' },
    ...world,
  });
}

const done: Answer = { text: 'done' };
const tiersOf = (run: RunDriver): readonly number[] => run.compactions.map(({ tier }) => tier);

it('compacts what was held back, and calls again with the smaller transcript', () => {
  const run = drive([{ calls: [{ name: 'search' }] }, tooLarge, done]).run();
  expect(run.outcome).toMatchObject({ status: 'completed', report: { iterations: 2 } });
  expect(tiersOf(run)).toEqual([3]);
  const last = run.requests.at(-1);
  expect(last?.messages[0]).toMatchObject({ blocks: [{ text: 'compaction 1' }] });
  expect(last?.messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
  expect(last?.input.pendingResults).toBeUndefined();
  expect(run.entries).toContainEqual(
    expect.objectContaining({ type: 'CompactionEvent', tier: 3, tokensAfter: 50_000 }),
  );
});

it("keeps a person's text and the error note over a compaction", () => {
  const run = drive([
    {
      calls: [
        {
          name: 'search',
          error: { kind: 'agent', code: 'invalid_params', message: 'bad', recoverable: true },
        },
      ],
    },
    tooLarge,
    done,
  ]).run();
  expect(run.requests.at(-1)?.input.note).toContain('bad');
});

it('strips, and summarizes the oldest half where the request is still too large (scenario 3)', () => {
  const strippable = { heldBack: aMeasure({ tokens: 97_000, strippableTokens: 20_000 }) };
  const run = drive([strippable, done], {
    compact: (input) => ({
      tokensBefore: input.tier === 1 ? 97_000 : 92_000,
      measure: aMeasure({ tokens: input.tier === 1 ? 92_000 : 50_000 }),
    }),
  }).run();
  expect(run.outcome.status).toBe('completed');
  expect(tiersOf(run)).toEqual([1, 3]);
});

it('compaction-01: three compactions at most, then less is kept free for the reply, and the run goes on', () => {
  const heavy = aMeasure({ tokens: 73_000, fixedTokens: 21_000, tailTokens: 22_000 });
  const route = aRoute({ windowTokens: 65_536, maxOutputTokens: 32_000 });
  const run = drive(
    [{ heldBack: heavy }, { calls: [{ name: 'search' }] }, done],
    { compact: () => ({ tokensBefore: 73_000, measure: { ...heavy, tokens: 44_200 } }) },
    { chain: [route] },
  ).run();
  expect(run.outcome.status).toBe('completed');
  expect(run.compactions.length).toBeLessThanOrEqual(3);
  expect(run.requests.at(-1)?.input.bounds).toMatchObject({ reserveTokens: 4_096 });
});

it('lets the call itself be measured where a foreseen compaction proves needless', () => {
  // A reply that leaves no trace, so that the vendor's count still holds.
  const full: Answer = { text: '', error: anAgentError(), contextTokens: 88_000 };
  const run = drive([full, done], {
    // What is stored fits; the text that a person adds is in no transcript yet.
    compact: (input) => (input.isDue === true ? {} : { isNeedless: true }),
  });
  run.step();
  run.say({ type: 'message-added', text: 'x'.repeat(20_000) });
  run.run();
  expect(run.outcome).toMatchObject({ status: 'completed' });
  expect(run.compactions).toHaveLength(1);
  expect(run.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'user' });
});

it('ends readably where nothing makes it fit, after at most three compactions', () => {
  const stuck = aMeasure({ tokens: 150_000, fixedTokens: 140_000, tailTokens: 5_000 });
  const run = drive([{ heldBack: stuck }, done], {
    compact: () => ({ tokensBefore: 150_000, measure: stuck }),
  }).run();
  expect(run.outcome).toMatchObject({ status: 'failed', reason: 'context_overflow' });
  const message = run.outcome.status === 'failed' ? run.outcome.message : '';
  expect(message).toContain('150000 tokens');
  expect(message).toContain('100000 tokens');
  expect(run.compactions.length).toBeLessThanOrEqual(3);
  expect(run.requests).toHaveLength(1);
});

it('goes on with a route that has a larger window, and stays there', () => {
  const stuck = aMeasure({ tokens: 150_000, fixedTokens: 10_000, tailTokens: 135_000 });
  const run = drive(
    [{ heldBack: stuck }, { calls: [{ name: 'search' }] }, done],
    { compact: () => ({ tokensBefore: 150_000, measure: stuck }) },
    { chain: [chain[0] ?? aRoute(), aRoute({ provider: 'large', windowTokens: 400_000 })] },
  ).run();
  expect(run.outcome).toMatchObject({ status: 'completed', report: { failovers: 1 } });
  expect(run.requests.map(({ input }) => input.routeIndex)).toEqual([0, 1, 1]);
});

it('asks for a shorter reply where the vendor names exact numbers', () => {
  const overflow = { inputTokens: 90_000, outputTokens: 16_000, windowTokens: 100_000 };
  const refused = anInfraError('context_overflow', { overflow });
  const run = drive(
    [refused, done],
    {},
    { chain: [aRoute({ windowTokens: 120_000, maxOutputTokens: 16_000 })] },
  );
  run.run();
  expect(run.requests.map(({ input }) => input.maxOutputTokens)).toEqual([undefined, 10_000]);
  expect(run.compactions).toHaveLength(0);
});

it('compacts once on a refusal without numbers, and corrects the window', () => {
  const overflow = { measure: aMeasure({ tokens: 60_000 }) };
  const run = drive([anInfraError('context_overflow', { overflow }), done]).run();
  expect(run.outcome).toMatchObject({
    status: 'completed',
    report: { healed: { context_overflow: 1 } },
  });
  expect(run.compactions).toHaveLength(1);
  expect(run.requests.at(-1)?.input.bounds?.windowTokens).toBe(61_200);
});

it('takes a 413 as a limit of bytes', () => {
  const overflow = { measure: aMeasure({ tokens: 30_000, bytes: 1_000_000, images: 3 }) };
  const run = drive([anInfraError('context_overflow', { status: 413, overflow }), done], {
    compact: () => ({ measure: aMeasure({ tokens: 20_000, bytes: 100_000 }) }),
  }).run();
  expect(run.outcome.status).toBe('completed');
  expect(run.requests.at(-1)?.input.bounds).toMatchObject({ windowTokens, maxBytes: 900_000 });
});

it('ends after three refusals in a row', () => {
  const overflow = { measure: aMeasure({ tokens: 60_000 }) };
  const refused = anInfraError('context_overflow', { overflow });
  const run = drive([refused, refused, refused, refused, refused, done]).run();
  expect(run.outcome).toMatchObject({ status: 'failed', reason: 'context_overflow' });
  expect(run.compactions.length).toBeLessThanOrEqual(3);
  expect(run.requests.length).toBeLessThanOrEqual(4);
});

it('asks the next route for a summary, and describes without a model where none gives one', () => {
  const failures = [
    anInfraError('overloaded'),
    { failure: anInfraError('format'), measure: tooLarge.heldBack },
    {},
  ];
  const run = drive([tooLarge, done], {
    compact: (_input, call) => failures[call - 1] ?? {},
  }).run();
  expect(run.compactions.map(({ tier, summary }) => [tier, summary?.routeIndex])).toEqual([
    [3, 0],
    [3, 1],
    [4, undefined],
  ]);
  expect(run.requests.at(-1)?.input.routeIndex).toBe(1);
  expect(run.outcome.status).toBe('completed');
});

it('waits for the store and compacts again', () => {
  const run = drive([tooLarge, done], {
    compact: (_input, call) => (call === 1 ? anInfraError('store_unavailable') : {}),
  }).run();
  expect(tiersOf(run)).toEqual([3, 3]);
  expect(run.outcome.status).toBe('completed');
});

it.each(['stop-requested', 'cancel-requested'] as const)(
  'lands before the run ends on %s',
  (type) => {
    const run = drive([tooLarge, done]);
    while (run.state.phase.type !== 'compacting') run.step();
    run.say({ type, reason: 'enough' });
    expect(run.state.phase).toMatchObject({ type: 'ending', outstanding: 'c1' });
    run.run();
    expect(run.outcome).toMatchObject({
      status: type === 'stop-requested' ? 'stopped' : 'cancelled',
    });
  },
);

it('warns once from 80 % on', () => {
  const full = { calls: [{ name: 'search' }], contextTokens: 85_000 };
  const run = drive([full, full, done]).run();
  expect(run.entries.filter(({ type }) => type === 'ContextWarningEvent')).toHaveLength(1);
});
