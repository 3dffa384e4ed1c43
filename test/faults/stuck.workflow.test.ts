/** The scorecard's section `stuck`: a rut of each kind on real runs, and a rut that nothing could lead out of is reported. */
import { ruts, scoreStuck } from '../../bench/scorecard/stuck/score-stuck';
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

test('a rut of each kind ends as it should, and a model that heeds nothing is reported', async () => {
  const chosen = ruts.filter(({ id }) => guarded.includes(id));
  expect(chosen).toHaveLength(guarded.length);
  const [dead] = ruts.filter(({ id }) => id === 'dead tool 1');
  if (dead === undefined) throw new Error('there is no dead tool');
  const hopeless = {
    ...dead,
    id: 'a model that heeds nothing, and a planner that lies',
    planner: () => reply.text('{"strategy":"give-up","confidence":7}'),
  };
  const { summary, rows } = await scoreStuck([...chosen, hopeless]);
  expect(summary).toMatchObject({
    ruts: 7,
    recoverable: 5,
    recovered: 4,
    escalated: 1,
    gaveUp: 1,
    hardStopped: 1,
  });
  expect(rows.filter(({ wrong }) => wrong !== undefined).map(({ id }) => id)).toEqual([
    'a model that heeds nothing, and a planner that lies',
    'bar',
  ]);
});
