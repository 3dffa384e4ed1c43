/** The scorecard's section `stuck`: one situation of each kind on real runs, and a situation that nothing could resolve is reported. */
import { stuckCases, scoreStuck } from '../../bench/scorecard/stuck/score-stuck';
import { reply } from '../../testing/emulator/script';

/** One of each kind. */
const guarded = [
  'wrong path 1',
  'missing parameter 1',
  'dead tool 1',
  'a first way out that does not help',
  'auth missing 1',
  'impossible task: unicorns',
];

test('one situation of each kind ends as it should, and a model that ignores all advice is reported', async () => {
  const chosen = stuckCases.filter(({ id }) => guarded.includes(id));
  expect(chosen).toHaveLength(guarded.length);
  const [dead] = stuckCases.filter(({ id }) => id === 'dead tool 1');
  if (dead === undefined) throw new Error('there is no dead tool');
  const hopeless = {
    ...dead,
    id: 'a model that heeds nothing, and a planner that lies',
    planner: () => reply.text('{"strategy":"give-up","confidence":7}'),
  };
  const { summary, rows } = await scoreStuck([...chosen, hopeless]);
  expect(summary).toMatchObject({
    situations: 7,
    recoverable: 5,
    recovered: 4,
    escalated: 1,
    gaveUp: 1,
    hardStopped: 1,
    selfCorrectionRate: 0.75,
  });
  expect(rows.filter(({ wrong }) => wrong !== undefined).map(({ id }) => id)).toEqual([
    'a model that heeds nothing, and a planner that lies',
    'bar',
  ]);
});
