/** A thin slice of the scorecard's section `learning`: one rut, taught, learned and left sooner; a bad pattern found out. */
import { learningRuts } from '../../bench/scorecard/learning/learning-ruts';
import { scoreLearning } from '../../bench/scorecard/learning/score-learning';

test('patterns lead out of a rut with fewer calls, and a planted bad one is demoted within three uses', async () => {
  const { rows, summary } = await scoreLearning(learningRuts.slice(0, 1));
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(summary['badPatternUses']).toBeLessThanOrEqual(3);
  expect(Number(summary['callsToRecoveryOn'])).toBeLessThan(Number(summary['callsToRecoveryOff']));
});
