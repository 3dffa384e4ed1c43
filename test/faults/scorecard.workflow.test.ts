/** The scorecard's provider section: rows of every kind are right, and the scorecard can fail. */
import { asking, retried, stoppedAtOnce } from '../../bench/scorecard/provider/fault-builders';
import { providerFaults } from '../../bench/scorecard/provider/provider-faults';
import { scoreProviderFaults } from '../../bench/scorecard/provider/score-provider-faults';
import { fault } from '../../testing/emulator/script';

/** At least one row of each kind, over all wires. */
const guarded = [
  'anthropic/400 credit too low',
  'responses/400 context window',
  'chat/503 Gemini unavailable',
  'anthropic/529 on the only route',
  'responses/200, server_error in the failed shape',
  'chat/200, fin in mid-arguments',
  'anthropic/200 with a web page',
  'responses/nothing listens',
  'chat/nothing but pings in mid-text',
  'anthropic/429, retry-after-ms wins',
  'responses/529 until the cooldown ends',
  'chat/one byte per write',
  'anthropic/token limit in mid-arguments',
  'responses/arguments cut twice',
  'anthropic/case transport-01',
];

test('rows of every kind do what they declare, at the declared number of calls', async () => {
  const faults = providerFaults().filter(({ id }) => guarded.includes(id));
  expect(faults.map(({ id }) => id).sort()).toEqual([...guarded].sort());
  const { summary } = await scoreProviderFaults(faults);
  expect(summary).toEqual({
    faults: 15,
    recovered: 14,
    stoppedReadably: 1,
    wrong: [],
    extraCalls: 0,
  });
});

test('a wrong expectation, a call too many, a fault that never struck and a tool run are reported', async () => {
  const wrongEnd = retried('401 taken for transient', 'chat', fault.http(401), 'auth');
  const tooManyCalls = stoppedAtOnce('529 for once', 'chat', fault.http(529), 'overloaded');
  const neverStruck = retried(
    'a 503 that comes too late',
    'anthropic',
    fault.http(503, { delayMs: 60_000 }),
    'timeout',
    { limits: { firstByteMs: 1_000 } },
  );
  const row = retried('an undeclared tool run', 'responses', fault.http(500), 'overloaded');
  const ranTool = {
    ...row,
    after: [asking('secretly'), ...row.after],
    needed: { faulty: 3, second: 0 },
  };
  const right = retried('a right one', 'responses', fault.http(500), 'overloaded');
  const { summary, rows } = await scoreProviderFaults([
    wrongEnd,
    tooManyCalls,
    neverStruck,
    ranTool,
    right,
  ]);
  expect(summary).toEqual({
    faults: 5,
    recovered: 1,
    stoppedReadably: 0,
    wrong: [
      {
        id: 'chat/401 taken for transient',
        expected: '2+0 heals by retry',
        got: expect.stringMatching(
          /^failed: chain_exhausted: .*; the run did not complete; 1\+0 calls instead of 2\+0 calls$/,
        ) as string,
      },
      {
        id: 'chat/529 for once',
        expected: '1+0 stops: chain_exhausted',
        got: expect.stringMatching(/; 2\+0 calls instead of 1\+0 calls$/) as string,
      },
      {
        id: 'anthropic/a 503 that comes too late',
        expected: '2+0 heals by retry',
        got: 'completed, healed timeout x1; 0 of 1 faults landed',
      },
      {
        id: 'responses/an undeclared tool run',
        expected: '3+0 heals by retry',
        got: 'completed, healed overloaded x1; the tool ran with ["secretly"] instead of []',
      },
    ],
    extraCalls: 1,
  });
  expect(rows.at(-1)).toEqual({
    id: 'responses/a right one',
    expected: '2+0 heals by retry',
    fault: { right: 'recovers' },
  });
});
