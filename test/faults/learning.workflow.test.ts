/** A thin slice of the scorecard's section `learning`: one case, taught, learned and solved sooner; a bad pattern is demoted. */
import { learningCases } from '../../bench/scorecard/learning/learning-cases';
import { scoreLearning } from '../../bench/scorecard/learning/score-learning';

test('patterns solve a case with fewer calls, and a planted bad one is demoted within three uses', async () => {
  const { rows, summary } = await scoreLearning(learningCases.slice(0, 1));
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(summary['badPatternUses']).toBeLessThanOrEqual(3);
  expect(Number(summary['callsToRecoveryOn'])).toBeLessThan(Number(summary['callsToRecoveryOff']));
});
