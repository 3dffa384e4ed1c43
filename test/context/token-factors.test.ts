/** What a vendor's counts teach, and that estimates stand the test of a bill which is made otherwise. */
import { countedModels, scoreTokens } from '../../bench/scorecard/tokens/score-tokens';
import {
  learnFactors,
  tokenFactorBounds,
  weighTextTokens,
} from '../../workflows/core/context/token-factors';
import { fc } from '../support/properties';

const even = { words: 1, marks: 1, scripts: 1 };

describe('learning from a count', () => {
  it('comes within 1 % of a steady vendor in nine large samples, whatever the text is made of', () => {
    const vendor = { words: 1.6, marks: 1.1, scripts: 1.3 };
    const texts = [
      { words: 4_000, marks: 500, scripts: 0 },
      { words: 500, marks: 4_000, scripts: 0 },
      { words: 200, marks: 300, scripts: 5_000 },
    ];
    let factors = even;
    for (let round = 0; round < 3; round += 1)
      for (const text of texts)
        factors = learnFactors(factors, text, weighTextTokens(text, vendor));
    for (const text of texts) {
      const ratio = weighTextTokens(text, factors) / weighTextTokens(text, vendor);
      expect(Math.abs(ratio - 1)).toBeLessThan(0.01);
    }
  });

  it('hardly moves for a few tokens', () => {
    const moved = learnFactors(even, { words: 20, marks: 0, scripts: 0 }, 60);
    expect(moved.words).toBeLessThan(1.04);
  });

  it.each([
    ['no text', { words: 0, marks: 0, scripts: 0 }, 100],
    ['no bill', { words: 100, marks: 0, scripts: 0 }, 0],
    ['no number', { words: Number.NaN, marks: 0, scripts: 0 }, 100],
  ])('learns nothing from %s', (_name, text, billed) => {
    expect(learnFactors(even, text, billed)).toEqual(even);
  });

  it('stays within its bounds and moves towards the vendor, for any sample', () => {
    const tokens = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(
        fc.record({ words: tokens, marks: tokens, scripts: tokens }),
        fc.integer({ min: -10, max: 1_000_000 }),
        (text, billed) => {
          const learned = learnFactors(even, text, billed);
          const { least, greatest } = tokenFactorBounds;
          for (const factor of Object.values(learned)) {
            expect(factor).toBeGreaterThanOrEqual(least);
            expect(factor).toBeLessThanOrEqual(greatest);
          }
          const total = weighTextTokens(text, even);
          if (billed > 0 && total > 0 && billed < total)
            expect(weighTextTokens(text, learned)).toBeLessThanOrEqual(total + 1);
        },
      ),
    );
  });
});

test.each(countedModels.filter(({ model }) => ['claude-opus-5-5', 'gpt-4.1'].includes(model)))(
  'estimates of mixed conversations on $wire $model are within 5 % after the third call',
  async (model) => {
    const { rows } = await scoreTokens([model], ['a'], ['mixed']);
    expect(rows).toHaveLength(1);
    expect(rows.flatMap(({ wrong }) => (wrong === undefined ? [] : [wrong]))).toEqual([]);
  },
);
