/** The scorecard's command line, its rows as data, and its judgement, without any run. */
import { runScorecard } from '../../bench/scorecard/command-line';
import { failedOver, retried, stoppedAtOnce } from '../../bench/scorecard/provider/fault-builders';
import type { SeenFault } from '../../bench/scorecard/provider/judge-fault';
import { judgeFault, scorecardKey } from '../../bench/scorecard/provider/judge-fault';
import { providerFaults } from '../../bench/scorecard/provider/provider-faults';
import { scoreProviderFaults } from '../../bench/scorecard/provider/score-provider-faults';
import type { ScorecardSection, SectionScore } from '../../bench/scorecard/section';
import { fault } from '../../testing/emulator/script';
import type { RunOutcome, RunReport } from '../../workflows/core/run/outcome';
import { noUsage } from '../../workflows/core/budget/spend';

const seeds: (number | undefined)[] = [];

function section(name: string, score: SectionScore): ScorecardSection {
  return {
    name,
    about: `faults of ${name}`,
    score: (seed) => {
      seeds.push(seed);
      return Promise.resolve(score);
    },
  };
}

const wrong = {
  id: 'a row with a name that is so long that no terminal of eighty columns can hold all of it',
  expected: 'heals by retry',
  got: 'failed: the message of a failure is often longer than one line of a terminal is wide',
};
const aCost = (calls: number, tokens: number, seconds: number) => ({ calls, tokens, seconds });
const rightSection = section('calm', {
  summary: { faults: 1 },
  rows: [{ id: 'a', expected: 'b' }],
});
const wrongSection = section('storm', {
  summary: { faults: 2 },
  rows: [
    { id: 'right', expected: 'heals', fault: { right: 'recovers', added: aCost(1, 40, 1.5) } },
    { id: 'right too', expected: 'heals', fault: { right: 'recovers', added: aCost(2, 20, 3) } },
    { id: 'stopped', expected: 'stops', fault: { right: 'stops' } },
    { id: wrong.id, expected: wrong.expected, fault: { right: 'recovers' }, wrong },
  ],
});

async function command(
  args: readonly string[],
): Promise<{ code: number; results: readonly string[]; told: string }> {
  const results: string[] = [];
  const told: string[] = [];
  const output = {
    result: (line: string) => results.push(line),
    people: (text: string) => told.push(text),
  };
  const code = await runScorecard(args, output, [rightSection, wrongSection]);
  return { code, results, told: told.join('\n') };
}

describe('the command', () => {
  test('prints the summary of the one section and ends with 0 when all is right', async () => {
    const { code, results, told } = await command(['--only', 'calm', '--json']);
    expect({ code, results }).toEqual({ code: 0, results: ['{"faults":1}'] });
    expect(told).toContain('calm: 1 of 1 right');
  });

  test('counts the faults of all sections, keeps what each one counts, and ends with 1 when a row is wrong', async () => {
    const { code, results, told } = await command(['--json', '--seed', '7']);
    expect(code).toBe(1);
    expect(seeds.slice(-2)).toEqual([7, 7]);
    const none = { faults: 0, recoverable: 0, recovered: 0, stoppedReadably: 0 };
    const all = { faults: 4, recoverable: 3, recovered: 2, stoppedReadably: 1 };
    expect(JSON.parse(results.at(-1) ?? '')).toEqual({
      ...all,
      wrong: [{ area: 'storm', ...wrong }],
      byArea: {
        calm: { ...none, checks: 1, checksRight: 1, summary: { faults: 1 } },
        storm: {
          ...{ ...all, checks: 0, checksRight: 0, summary: { faults: 2 } },
          added: aCost(1.5, 30, 2.25),
        },
      },
    });
    expect(told).toMatch(
      /^storm +4 +2\/3 66\.7 % \(20\.8 to 93\.9\) +1\/1 .* 1\.5 \/ 30 \/ 2\.25$/m,
    );
  });

  test('shows wrong rows first and keeps to 80 columns', async () => {
    const { told, results } = await command(['--only', 'storm']);
    expect(results).toEqual([]);
    expect(told).toMatch(/^WRONG {2}a row with/);
    expect(told.indexOf('ok   right')).toBeGreaterThan(told.indexOf('got'));
    expect(Math.max(...told.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test.each([
    [['--only', 'calms'], 'There is no section "calms".'],
    [['--onyl', 'calm'], "'--onyl'"],
    [['calm'], 'calm'],
    [['--seed', 'x'], '--seed is "x": give a whole number from 0.'],
  ])('answers %j with the usage and 2', async (args, words) => {
    const { code, results, told } = await command(args);
    expect({ code, results }).toEqual({ code: 2, results: [] });
    expect(told).toContain(words);
    expect(told).toContain('--only SECTION,…');
    expect(told).toContain('storm');
  });
});

describe('the rows', () => {
  const rows = providerFaults();

  test('are far more than the bar of 60, on every wire, each with its own id', () => {
    expect(rows.length).toBeGreaterThan(250);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(new Set(rows.map(({ wire }) => wire))).toEqual(
      new Set(['anthropic', 'responses', 'chat']),
    );
  });

  test('are refused where two have the same id', async () => {
    const row = retried('same', 'chat', fault.http(500), 'overloaded');
    await expect(scoreProviderFaults([row, row])).rejects.toThrow('"chat/same"');
  });
});

const report: RunReport = {
  agent: 'row0',
  iterations: 1,
  modelCalls: 1,
  toolCallsSucceeded: 0,
  toolCallsFailed: 0,
  worked: [],
  didNotWork: [],
  healed: { overloaded: 1 },
  healedBy: { failover: 1 },
  failovers: 0,
  usage: noUsage,
  cost: {},
  elapsedMs: 1,
  activeMs: 1,
  events: 1,
  lastText: '',
};
const completed: RunOutcome = { status: 'completed', answer: 'done', report };
const seen: SeenFault = {
  outcome: completed,
  landed: 1,
  calls: { faulty: 2, second: 0 },
  lateCalls: 0,
  refusals: [],
  toolRuns: [],
};

describe('the judgement', () => {
  const row = retried('500', 'chat', fault.http(500), 'overloaded', { gapMs: 100 });
  const right = { ...seen, gapMs: 100 };

  test('finds nothing wrong where all is as declared', () => {
    expect(judgeFault(row, right)).toEqual({
      row: { id: 'chat/500', expected: '2+0 heals by retry', fault: { right: 'recovers' } },
      extraCalls: 0,
    });
  });

  const { outcome: _ended, ...notEnded } = right;
  test.each<[string, SeenFault, string]>([
    ['a run that does not end', notEnded, 'did not end'],
    [
      'a reply glued to a broken one',
      { ...right, outcome: { ...completed, answer: 'The answer isdone' } },
      'the answer was "The answer isdone"',
    ],
    [
      'a failover that was not needed',
      { ...right, outcome: { ...completed, report: { ...report, failovers: 1 } } },
      '1 failovers',
    ],
    [
      'another reason',
      { ...right, outcome: { ...completed, report: { ...report, healed: { unknown: 1 } } } },
      'healed unknown x1 instead of overloaded x1',
    ],
    ['calls after the end', { ...right, lateCalls: 1 }, '1 calls after the end'],
    ['a retry too soon', { ...right, gapMs: 99 }, 'the next call came after 99 ms instead of 100'],
    ['a request that a vendor refuses', { ...right, refusals: ['roles'] }, 'was refused: roles'],
    ['a fault that did not strike', { ...right, landed: 0 }, '0 of 1 faults landed'],
    [
      'a key in the end',
      { ...right, outcome: { ...completed, report: { ...report, lastText: scorecardKey } } },
      'the end holds',
    ],
  ])('reports %s', (_what, wrongly, words) => {
    expect(judgeFault(row, wrongly).row.wrong?.got).toContain(words);
  });

  const failed: RunOutcome = {
    status: 'failed',
    reason: 'chain_exhausted',
    message: 'row0-faulty/gpt-5: auth (HTTP 401). Check the API key.',
    report,
  };
  const stopRow = stoppedAtOnce('401', 'chat', fault.http(401), 'auth');
  const stopped: SeenFault = { ...seen, outcome: failed, calls: { faulty: 1, second: 0 } };

  test.each<[string, Partial<typeof failed>, string]>([
    ['no remedy', { message: 'row0-faulty/gpt-5: auth (HTTP 401)' }, 'does not say'],
    ['another reason', { reason: 'infra' }, 'the reason is infra'],
    ['a value that is missing', { message: `${failed.message} undefined` }, 'not readable'],
    ['a whole body', { message: failed.message.repeat(50) }, 'characters'],
  ])('reports an end with %s', (_what, change, words) => {
    expect(judgeFault(stopRow, stopped).row.wrong).toBeUndefined();
    const outcome = { ...failed, ...change };
    expect(judgeFault(stopRow, { ...stopped, outcome }).row.wrong?.got).toContain(words);
  });

  test('counts the requests beyond the declared ones, of both routes', () => {
    const both = failedOver('401', 'chat', fault.http(401), 'auth');
    const calls = { faulty: 3, second: 2 };
    expect(judgeFault(both, { ...seen, calls }).extraCalls).toBe(3);
  });
});
