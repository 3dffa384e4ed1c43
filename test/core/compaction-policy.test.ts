/** Which tier comes when (R-CTX-6), and what follows if no tier helps. */
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { CompactionFacts } from '../../workflows/core/context/compaction-policy';
import type { DoneCompaction, ContextBounds } from '../../workflows/core/context/measure';
import { decideCompaction, decideTier } from '../../workflows/core/context/compaction-policy';
import { aMeasure } from '../support/builders';
import { fc } from '../support/properties';

const bounds: ContextBounds = {
  windowTokens: 100_000,
  reserveTokens: 8_000,
  warnTokens: 80_000,
  compactTokens: 87_400,
};

function facts(changes: Partial<CompactionFacts> = {}): CompactionFacts {
  return {
    measure: aMeasure({ tokens: 95_000 }),
    bounds,
    leastBounds: { ...bounds, reserveTokens: 6_250, compactTokens: 89_062 },
    config: defaultCompaction,
    done: [],
    canSummarize: true,
    refused: false,
    ...changes,
  };
}

const done = (tier: DoneCompaction['tier'], from: number, to: number): DoneCompaction => ({
  tier,
  tokensBefore: from,
  tokensAfter: to,
});

describe('decideCompaction', () => {
  it('sends what fits (tier 0)', () => {
    expect(decideCompaction(facts({ measure: aMeasure({ tokens: 87_400 }) }))).toEqual({
      type: 'send',
    });
  });

  it('strips first, and summarizes the oldest half where that is not enough (scenario 3)', () => {
    const first = facts({ measure: aMeasure({ tokens: 97_000, strippableTokens: 10_000 }) });
    expect(decideCompaction(first)).toMatchObject({ type: 'compact', tier: 1 });
    const still = facts({ measure: aMeasure({ tokens: 92_000 }), done: [done(1, 97_000, 92_000)] });
    expect(decideCompaction(still)).toMatchObject({ type: 'compact', tier: 3 });
    const after = aMeasure({ tokens: 52_000 });
    const compressed = facts({
      measure: after,
      done: [done(1, 97_000, 92_000), done(3, 92_000, 52_000)],
    });
    expect(decideCompaction(compressed)).toEqual({ type: 'send' });
  });

  it('passes tier 1 over where stripping would free less than the set share', () => {
    const little = aMeasure({ tokens: 95_000, strippableTokens: 9_000 });
    expect(decideTier(facts({ measure: little }))).toBe(3);
  });

  it('summarizes everything before the tail where the oldest half leaves no room', () => {
    const heavy = aMeasure({ tokens: 140_000, fixedTokens: 20_000, tailTokens: 20_000 });
    expect(decideTier(facts({ measure: heavy }))).toBe(2);
  });

  it('describes without a model where no route can summarize', () => {
    expect(decideTier(facts({ canSummarize: false }))).toBe(4);
  });

  it.each([
    [5, undefined],
    [6, 3],
  ])('summarizes nothing of %i messages: tier %s', (messages, tier) => {
    expect(decideTier(facts({ measure: aMeasure({ tokens: 95_000, messages }) }))).toBe(tier);
  });

  it.each([
    ['bytes', { bytes: 2_000 }, true],
    ['as many bytes as are allowed', { bytes: 1_000 }, false],
    ['images', { over: 'images' as const }, true],
  ])('strips what frees few tokens where %s are too many: %j', (_, over, strips) => {
    const measure = aMeasure({ tokens: 95_000, strippableTokens: 1, ...over });
    const tier = decideTier(facts({ measure, bounds: { ...bounds, maxBytes: 1_000 } }));
    expect(tier === 1).toBe(strips);
  });

  it('strips nothing where there is nothing to strip', () => {
    const measure = aMeasure({ tokens: 95_000, over: 'images' });
    expect(decideTier(facts({ measure }))).not.toBe(1);
    expect(decideTier(facts({ measure: { ...measure, images: 1 } }))).toBe(1);
  });

  it.each([
    ['the tail is empty', { tailTokens: 0, fixedTokens: 1_000 }],
    ['instructions and tools fill the window', { tailTokens: 10_000, fixedTokens: 100_000 }],
  ])('shortens no tail where %s', (_, sizes) => {
    const measure = aMeasure({ tokens: 150_000, messages: 3, ...sizes });
    expect(decideCompaction(facts({ measure }))).toEqual({ type: 'stop' });
  });

  it('keeps the last compaction for the tail', () => {
    const measure = aMeasure({ tokens: 150_000, tailTokens: 10_000, strippableTokens: 50_000 });
    const twice = [done(1, 300_000, 200_000), done(3, 200_000, 150_000)];
    const all = { measure, config: { ...defaultCompaction, maxCompactions: 3 } };
    expect(decideCompaction(facts({ ...all, done: twice }))).toEqual({
      type: 'compact',
      tier: 1,
      trimTail: true,
    });
    const spent = [...twice, done(1, 150_000, 150_000)];
    expect(decideCompaction(facts({ ...all, done: spent }))).toEqual({ type: 'stop' });
  });

  it('goes on to the next tier where a compaction shrank by less than the set share, even if it fits', () => {
    const thin = facts({ measure: aMeasure({ tokens: 87_000 }), done: [done(1, 92_000, 87_000)] });
    expect(decideCompaction(thin)).toMatchObject({ type: 'compact', tier: 3 });
  });

  it('never compacts more than three times without a reply, whatever the numbers (compaction-01)', () => {
    const whole = fc.nat(200_000);
    fc.assert(
      fc.property(
        fc.record({
          tokens: whole,
          fixedTokens: whole,
          tailTokens: whole,
          strippableTokens: whole,
        }),
        fc.array(whole, { minLength: 12, maxLength: 12 }),
        fc.boolean(),
        fc.boolean(),
        (first, later, canSummarize, refused) => {
          let before = aMeasure(first);
          let made: readonly DoneCompaction[] = [];
          for (const tokens of later) {
            const decision = decideCompaction(
              facts({ measure: before, done: made, canSummarize, refused }),
            );
            if (decision.type !== 'compact') return;
            const { tier, trimTail } = decision;
            made = [
              ...made,
              {
                ...done(tier, before.tokens, tokens),
                ...(trimTail ? { trimmedTail: true as const } : {}),
              },
            ];
            before = aMeasure({ ...first, tokens });
            expect(made.length).toBeLessThanOrEqual(3);
          }
          throw new Error('it never decided anything else');
        },
      ),
    );
  });

  it('keeps less free for the reply before it shortens the tail, then takes a larger window, then stops', () => {
    const spent = [done(3, 120_000, 90_000), done(2, 90_000, 88_000)];
    const base = { done: spent, largerRoute: 1 };
    const fitsLeast = facts({ ...base, measure: aMeasure({ tokens: 88_000 }) });
    expect(decideCompaction(fitsLeast)).toEqual({ type: 'lower-reserve' });
    const large = { ...base, measure: aMeasure({ tokens: 95_000 }) };
    expect(decideCompaction(facts(large))).toEqual({ type: 'compact', tier: 1, trimTail: true });
    const trimmed = [...spent, { ...done(1, 95_000, 94_000), trimmedTail: true as const }];
    expect(decideCompaction(facts({ ...large, done: trimmed }))).toEqual({
      type: 'use-larger-window',
      routeIndex: 1,
    });
    const { largerRoute: _none, ...alone } = facts({ ...large, done: trimmed });
    expect(decideCompaction(alone)).toEqual({ type: 'stop' });
  });
});
