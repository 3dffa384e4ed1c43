/** The chaos's checker finds a planted violation of each invariant, and nothing in a record where all is right. */
import type { ChaosRecord, Invariant, SeenJob } from '../../bench/chaos/check';
import { countDeclared, findViolations } from '../../bench/chaos/check';
import { runChaos, violationText } from '../../bench/chaos/command-line';
import type { ChaosOptions } from '../../bench/chaos/play';
import { planJobs } from '../../bench/chaos/jobs';
import { faultKinds, planFaults } from '../../bench/chaos/schedule';

const atMs = Date.UTC(2026, 10, 29, 12);
const stopped = {
  text: 'stop worker 1',
  fromMs: atMs - 5_000,
  untilMs: atMs + 5_000,
  delays: true,
};
const tools = ['bank_keyed', 'bank_irreversible', 'bank_reconcilable', 'bank_read'] as const;
const calls = tools.map((tool, index) => ({
  callId: `s1n0-${index}`,
  tool,
  isRead: tool === 'bank_read',
}));
const request = { model: 'claude-sonnet-5', answer: 'reply', abandoned: false, billUsd: 0.01 };

const job: SeenJob = {
  job: { id: 's1n0', kind: 'payer', atMs: 0, calls },
  runId: 'run-1',
  end: {
    status: 'completed',
    answer: 'done s1n0',
    cost: { known: 0.01, expected: 0.02, most: 0.03 },
  },
  results: Object.fromEntries(
    calls.map(({ callId, isRead }, index) => [
      callId,
      `<tool_output>\n${isRead ? 'read' : `paid, receipt key-${index}`}\n</tool_output>`,
    ]),
  ),
  changed: [],
  requests: [
    { ...request, atMs },
    { ...request, atMs: atMs + 1_000 },
  ],
};
const entry = (index: number, key = `key-${index}`) => ({ callId: `s1n0-${index}`, key, atMs });
const record: ChaosRecord = {
  faults: [stopped, { ...stopped, text: 'kill worker 2', delays: false }],
  jobs: [job],
  ledger: [entry(0), entry(1), entry(2)],
  clients: [
    { runId: 'run-1', ids: ['0.1.0', '0.2.0'], all: ['0.1.0', '0.2.0'], status: 'completed' },
  ],
  strangers: [],
  invalidRequests: [],
  mismatches: [],
  notMade: [],
  exits: [],
};

function withJob(change: Partial<SeenJob>): Partial<ChaosRecord> {
  return { jobs: [{ ...job, ...change }] };
}

function withEnd(change: Partial<SeenJob['end']>): Partial<ChaosRecord> {
  return withJob({ end: { ...job.end, ...change } });
}

function withResult(index: number, content: string): Partial<ChaosRecord> {
  return withJob({ results: { ...job.results, [`s1n0-${index}`]: content } });
}

function withClient(change: Partial<ChaosRecord['clients'][number]>): Partial<ChaosRecord> {
  return { clients: record.clients.map((client) => ({ ...client, ...change })) };
}

function withoutResult(index: number): Partial<ChaosRecord> {
  const kept = Object.entries(job.results).filter(([callId]) => callId !== `s1n0-${index}`);
  return withJob({ results: Object.fromEntries(kept) });
}

const invariantsIn = (change: Partial<ChaosRecord>): readonly Invariant[] =>
  findViolations({ ...record, ...change }).map(({ invariant }) => invariant);

test('finds nothing where all is right', () => {
  expect(findViolations(record)).toEqual([]);
});

const why = { cause: 'stopped', paragraph: 'A person stopped it.' };
const planted: readonly (readonly [Invariant, string, Partial<ChaosRecord>])[] = [
  ['every run ends as asked', 'a run that failed', withEnd({ status: 'failed', why })],
  ['every run ends as asked', 'a run that still waits', withEnd({ status: 'waiting', why })],
  ['every run ends as asked', 'an answer to another job', withEnd({ answer: 'done s1n7' })],
  ['no run twice', 'a run that nobody started', { strangers: ['a run that nobody started'] }],
  ['no effect twice', 'a keyed one', { ledger: [...record.ledger, entry(0, 'other')] }],
  ['no effect twice', 'an irreversible one', { ledger: [...record.ledger, entry(1)] }],
  [
    'no effect twice',
    'a reconcilable one without a stall',
    { ledger: [...record.ledger, entry(2)], faults: record.faults.slice(1) },
  ],
  [
    'no effect twice',
    'a reconcilable one under two keys',
    { ledger: [...record.ledger, entry(2, 'other')] },
  ],
  ['no result without its effect', 'told as done', { ledger: record.ledger.slice(1) }],
  ['no result without its effect', "another call's", withResult(0, 'paid, receipt key-2')],
  ['no result lost', 'a keyed one told as unknown', withResult(0, '{"code":"outcome_unknown"}')],
  ['no result lost', 'a read without a result', withoutResult(3)],
  ['no result changed', 'from one request to the next', withJob({ changed: ['s1n0-0'] })],
  [
    'nothing unpaid',
    'a bill above the bound',
    withEnd({ cost: { known: 0, expected: 0.01, most: 0.015 } }),
  ],
  [
    'nothing unpaid',
    'no cost at all',
    withJob({ end: { status: 'completed', answer: 'done s1n0' } }),
  ],
  [
    'nothing paid twice',
    'more is certain than was billed',
    withEnd({ cost: { known: 0.021, expected: 0.03, most: 0.04 } }),
  ],
  ['every request is valid', 'one that is refused', { invalidRequests: ['request 3 is refused'] }],
  ['every history replays', 'one that differs', { mismatches: ['run-1: another command'] }],
  ['every event once, in order', 'a lost one', withClient({ ids: ['0.1.0'] })],
  ['every event once, in order', 'a doubled one', withClient({ ids: ['0.1.0', '0.2.0', '0.2.0'] })],
  ['every event once, in order', 'an order', withClient({ ids: ['0.2.0', '0.1.0'] })],
  ['no process ends by itself', 'a crash', { exits: [{ text: 'worker 1 ended', atMs }] }],
];

test.each(planted)('finds a violation of "%s": %s', (invariant, _which, change) => {
  expect(invariantsIn(change)).toEqual([invariant]);
});

test('finds an effect whose result was lost, and an end that nobody can name', () => {
  expect(invariantsIn(withoutResult(0))).toEqual([
    'no effect without its result',
    'no result lost',
  ]);
  const unnamed = { cause: 'stopped', paragraph: '' };
  expect(invariantsIn(withEnd({ status: 'failed', why: unnamed }))).toEqual([
    'every run ends as asked',
    'why names each end and wait',
  ]);
});

test('finds a stream that has not ended', () => {
  const clients = record.clients.map(({ runId, ids, all }) => ({ runId, ids, all }));
  expect(invariantsIn({ clients })).toEqual(['every event once, in order']);
});

test('counts what the guarantees declare, and does not call it a violation', () => {
  const declared: ChaosRecord = { ...record, ledger: [...record.ledger, entry(2)] };
  expect(findViolations(declared)).toEqual([]);
  expect(countDeclared(declared)).toEqual({ repeated: 1, unknown: 0, failed: 0 });
  const unknown = withResult(1, '{"code":"outcome_unknown"} is not known');
  expect(invariantsIn(unknown)).toEqual([]);
  expect(countDeclared({ ...record, ...unknown })).toMatchObject({ unknown: 1 });
});

const asked: ChaosOptions = { seed: 7, minutes: 2, runs: 5, only: faultKinds };

test('a violation names the seed, the run, the faults around it and how to repeat it', () => {
  const [violation] = findViolations({ ...record, ledger: [...record.ledger, entry(1)] });
  if (violation === undefined) throw new Error('no violation');
  const text = violationText(violation, asked);
  expect(text).toContain('seed 7');
  expect(text).toContain('run: run-1');
  expect(text).toContain('around it: stop worker 1');
  expect(text).toContain('npm run chaos -- --minutes 2 --seed 7 --runs 5');
});

test('plans the same faults and jobs for a seed, and each kind of fault within three minutes', () => {
  expect(planFaults(3, 3)).toEqual(planFaults(3, 3));
  expect(planFaults(3, 3)).not.toEqual(planFaults(4, 3));
  expect(planJobs(3, 3, 14)).toEqual(planJobs(3, 3, 14));
  const kinds = new Set(planFaults(3, 3).map(({ kind }) => kind));
  expect([...kinds].toSorted()).toEqual([...faultKinds].toSorted());
});

test.each([
  ['without a cluster', [], /set TEMPORAL_ADDRESS, CHAOS_STOP_TEMPORAL/],
  ['with a seed that is none', ['--seed', 'x'], /--seed takes a whole number above 0, not "x"/],
  ['with an unknown kind of fault', ['--only', 'flood'], /no kind of fault "flood"/],
])('fails %s, and says what to do', async (_which, args, said) => {
  const lines: string[] = [];
  const output = {
    result: (line: string) => lines.push(line),
    people: (line: string) => lines.push(line),
  };
  expect(await runChaos(args, {}, output)).toBe(2);
  expect(lines.join('\n')).toMatch(said);
});
