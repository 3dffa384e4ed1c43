/** The scorecard's section `why`: incidents on real worker processes, and a wrong expectation is reported. */
import path from 'node:path';
import { incidents } from '../../bench/scorecard/why/incidents';
import { scoreWhy } from '../../bench/scorecard/why/score-why';

/** One of each kind: no worker, a deploy, a person, a provider, an end, a server that is gone. */
const guarded = [
  'no-worker',
  'changed-code',
  'approval-with-expiry',
  'rate-limited',
  'malformed-call',
  'mcp-gone',
];
const execArgv = ['--require', path.resolve(__dirname, '..', 'support', 'run-typescript.cjs')];

test('the cause and the next step of incidents are named, and what is not named is reported', async () => {
  const chosen = incidents.filter(({ id }) => guarded.includes(id));
  expect(chosen).toHaveLength(guarded.length);
  const [first] = incidents.filter(({ id }) => id === 'iteration-cap');
  if (first === undefined) throw new Error('there is no cap');
  const misjudged = { ...first, expected: { ...first.expected, next: 'buy a larger machine' } };
  const { summary, rows } = await scoreWhy([...chosen, misjudged], { execArgv });
  expect(rows.flatMap(({ id, wrong }) => (wrong === undefined ? [] : [id]))).toEqual([
    'iteration-cap',
  ]);
  expect(summary).toEqual({ incidents: 7, named: 6 });
});
