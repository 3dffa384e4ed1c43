/** What must hold after every chaos, checked on plain data: a violation names the run and the faults around it. */
import { judgeIds } from '../scorecard/gateway/score-streams';
import type { LedgerEntry } from '../scorecard/effects/bank';
import type { Usage } from '../../workflows/core/budget/spend';
import type { Job, JobCall } from './jobs';

/** What must hold. */
export type Invariant =
  | 'every run ends as asked'
  | 'why names each end and wait'
  | 'no run twice'
  | 'no effect twice'
  | 'no effect without its result'
  | 'no result without its effect'
  | 'no result lost'
  | 'no result changed'
  | 'nothing unpaid'
  | 'nothing paid twice'
  | 'every request is valid'
  | 'every history replays'
  | 'every event once, in order'
  | 'no process ends by itself';

/** A fault as it happened. */
export interface PlayedFault {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** A process that stalls, or a request that travels for long: what it was about to do may happen late. */
  readonly delays: boolean;
}

/** How a run ended, or where it is. */
export interface SeenEnd {
  readonly status: string;
  /** Its answer or output, as text. */
  readonly answer?: string;
  /** US dollars, as the report says: what is certain, what is expected, and the most. */
  readonly cost?: { readonly known: number; readonly expected: number; readonly most: number };
  /** Of `why`, where the run did not complete. */
  readonly why?: { readonly cause: string; readonly paragraph: string };
}

/** One request in a vendor's ledger. */
export interface SeenRequest {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly model: string;
  /** The scripted answer, such as `reply` or the name of a fault. */
  readonly answer: string;
  /** The client went away first. */
  readonly abandoned: boolean;
  /** Billed tokens, by class; absent if nothing is billed. */
  readonly usage?: Usage;
  /** US dollars. */
  readonly billUsd: number;
}

/** What one job came to. */
export interface SeenJob {
  readonly job: Job;
  /** Absent if its run never started. */
  readonly runId?: string;
  readonly end: SeenEnd;
  /** Results by call, as the model was told. */
  readonly results: Readonly<Record<string, string>>;
  /** Calls whose result changed from one request to the next. */
  readonly changed: readonly string[];
  /** What its requests came to at the vendors, in order. */
  readonly requests: readonly SeenRequest[];
}

/** One reader of a run's events, over all of its connections. */
export interface SeenClient {
  readonly runId: string;
  readonly ids: readonly string[];
  /** Absent if the stream has not ended. */
  readonly status?: string;
  /** What history has. */
  readonly all: readonly string[];
}

/** All that is known after a chaos. */
export interface ChaosRecord {
  readonly faults: readonly PlayedFault[];
  readonly jobs: readonly SeenJob[];
  readonly ledger: readonly LedgerEntry[];
  readonly clients: readonly SeenClient[];
  /** Runs that no job and no subagent accounts for. */
  readonly strangers: readonly string[];
  /** Requests that a vendor refuses, or that belong to no job. */
  readonly invalidRequests: readonly string[];
  /** Histories that do not fit the workflow code, with the first difference. */
  readonly mismatches: readonly string[];
  /** Faults that could not be made: the world's trouble, not the product's. */
  readonly notMade: readonly string[];
  /** Processes that ended though nobody ended them. */
  readonly exits: readonly { readonly text: string; readonly atMs: number }[];
}

/** One thing that must not be. */
export interface Violation {
  readonly invariant: Invariant;
  readonly text: string;
  readonly runId?: string;
  /** Milliseconds since the epoch, where a moment is known. */
  readonly atMs?: number;
  /** What broke around that moment. */
  readonly faults: readonly string[];
}

type Found = Omit<Violation, 'faults'>;

/** A ten-thousandth of a cent: the most that adding dollars as fractions may lose. */
const epsilonUsd = 1e-6;
/** Milliseconds before and after a moment in which a fault may have to do with it. */
const aroundMs = 60_000;

/** How the model knows a call. */
type Report = 'done' | 'unknown' | 'failed';

function reportOf(content: string): Report {
  if (/outcome_unknown|is not known|looked into what came of it/.test(content)) return 'unknown';
  return /receipt|^read$/m.test(content) ? 'done' : 'failed';
}

function near(faults: readonly PlayedFault[], fromMs: number, untilMs: number): PlayedFault[] {
  return faults.filter(
    (each) => each.fromMs <= untilMs + aroundMs && each.untilMs >= fromMs - aroundMs,
  );
}

/** The one repeat that `docs/guarantees.md` declares: a stall within a `reconcilable` tool, repeated under the same key. */
function isDeclaredRepeat(
  { tool }: JobCall,
  entries: readonly LedgerEntry[],
  faults: readonly PlayedFault[],
): boolean {
  const [first, last] = [entries[0], entries.at(-1)];
  if (tool !== 'bank_reconcilable' || first === undefined || last === undefined) return false;
  const isSameKey = entries.every(({ key }) => key === first.key);
  return isSameKey && near(faults, first.atMs, last.atMs).some(({ delays }) => delays);
}

/** What must hold of a call that the run completed with. */
function checkResult(
  { job, results }: SeenJob,
  { callId, tool, isRead }: JobCall,
  entries: readonly LedgerEntry[],
): readonly (readonly [Invariant, string])[] {
  const content = results[callId];
  const isApplied = entries.length > 0;
  if (content === undefined)
    return [
      ...(isApplied
        ? ([['no effect without its result', 'applied, but no result was told']] as const)
        : []),
      ['no result lost', `job ${job.id} completed, but the model has no result of it`],
    ];
  const report = reportOf(content);
  if (report === 'done' && !isRead && !isApplied)
    return [['no result without its effect', 'told as done, but never applied']];
  if (report === 'done' && isApplied && !entries.some(({ key }) => content.includes(key)))
    return [['no result without its effect', `told with the receipt of another call: ${content}`]];
  if (report === 'unknown' && !/irreversible|ask/.test(tool))
    return [['no result lost', `can be found out, but was told as unknown: ${content}`]];
  return [];
}

function checkCall(
  seen: SeenJob,
  call: JobCall,
  entries: readonly LedgerEntry[],
  faults: readonly PlayedFault[],
): readonly Found[] {
  const [first] = entries;
  const keys = entries.map(({ key }) => key).join(' and ');
  const found: readonly (readonly [Invariant, string])[] = [
    ...(entries.length > 1 && !isDeclaredRepeat(call, entries, faults)
      ? ([['no effect twice', `applied ${entries.length} times, under ${keys}`]] as const)
      : []),
    ...(seen.end.status === 'completed' ? checkResult(seen, call, entries) : []),
  ];
  return found.map(([invariant, text]) => ({
    ...{ invariant, text: `${call.tool} ${call.callId}: ${text}` },
    ...(seen.runId === undefined ? {} : { runId: seen.runId }),
    ...(first === undefined ? {} : { atMs: first.atMs }),
  }));
}

function answerProblem({ job, end }: SeenJob): string | undefined {
  const { status, answer = '', why } = end;
  if (status !== 'completed') return `${status}: ${why?.paragraph ?? 'nobody can say why'}`;
  return answer.includes(job.id) ? undefined : `completed with "${answer.slice(0, 100)}"`;
}

function checkCost({ job, runId, end, requests }: SeenJob): readonly Found[] {
  const run = runId === undefined ? {} : { runId };
  const bill = requests.reduce((sum, { billUsd }) => sum + billUsd, 0);
  const usd = (amount: number): string => `$${amount.toFixed(6)}`;
  const found = (invariant: Invariant, charged: string): Found => ({
    ...{ invariant, ...run },
    text: `job ${job.id}: the bill is ${usd(bill)}, and the run reports ${charged}`,
  });
  if (end.cost === undefined)
    return end.status === 'completed' && bill > 0 ? [found('nothing unpaid', 'no cost')] : [];
  const { known, expected, most } = end.cost;
  const charged = `${usd(known)} as certain, ${usd(expected)} as expected, ${usd(most)} at most`;
  return [
    ...(bill > most + epsilonUsd ? [found('nothing unpaid', charged)] : []),
    ...(known > bill + epsilonUsd ? [found('nothing paid twice', charged)] : []),
  ];
}

function checkJob(
  seen: SeenJob,
  ledger: ReadonlyMap<string, readonly LedgerEntry[]>,
  faults: readonly PlayedFault[],
): readonly Found[] {
  const { job, runId, end, changed } = seen;
  const run = runId === undefined ? {} : { runId };
  const problem = answerProblem(seen);
  const isUnnamed = end.status !== 'completed' && (end.why?.paragraph ?? '') === '';
  return [
    ...(problem === undefined
      ? []
      : [
          {
            invariant: 'every run ends as asked' as const,
            text: `job ${job.id}: ${problem}`,
            ...run,
          },
        ]),
    ...(isUnnamed
      ? [
          {
            invariant: 'why names each end and wait' as const,
            text: `job ${job.id}: ${end.status}`,
            ...run,
          },
        ]
      : []),
    ...changed.map((callId) => ({
      invariant: 'no result changed' as const,
      text: `${callId}: a later request shows another result`,
      ...run,
    })),
    ...job.calls.flatMap((call) => checkCall(seen, call, ledger.get(call.callId) ?? [], faults)),
    ...checkCost(seen),
  ];
}

function checkClient({ runId, ids, status, all }: SeenClient): readonly Found[] {
  const { lost, doubled, outOfOrder } = judgeIds(ids, all);
  if (lost + doubled + outOfOrder === 0 && status !== undefined) return [];
  const text = `${lost} lost, ${doubled} doubled, ${outOfOrder} out of order of ${all.length}; the stream ended as ${status ?? 'nothing'}`;
  return [{ invariant: 'every event once, in order', text, runId }];
}

function byCall(ledger: readonly LedgerEntry[]): ReadonlyMap<string, readonly LedgerEntry[]> {
  const calls = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) calls.set(entry.callId, [...(calls.get(entry.callId) ?? []), entry]);
  return calls;
}

const named = (invariant: Invariant, texts: readonly string[]): readonly Found[] =>
  texts.map((text) => ({ invariant, text }));

/** Everything in the record that must not be. */
export function findViolations(record: ChaosRecord): readonly Violation[] {
  const { faults, jobs, clients, strangers, invalidRequests, mismatches, exits } = record;
  const ledger = byCall(record.ledger);
  const found: readonly Found[] = [
    ...jobs.flatMap((seen) => checkJob(seen, ledger, faults)),
    ...clients.flatMap(checkClient),
    ...named('no run twice', strangers),
    ...named('every request is valid', invalidRequests),
    ...named('every history replays', mismatches),
    ...exits.map((exit) => ({ invariant: 'no process ends by itself' as const, ...exit })),
  ];
  return found.map((each) => ({
    ...each,
    faults:
      each.atMs === undefined ? [] : near(faults, each.atMs, each.atMs).map(({ text }) => text),
  }));
}

/** Repeats and failures that are no violation, for the report. */
export function countDeclared({ faults, jobs, ledger }: ChaosRecord): {
  readonly repeated: number;
  readonly unknown: number;
  readonly failed: number;
} {
  const entries = byCall(ledger);
  const report = jobs.flatMap(({ results }) => Object.values(results).map(reportOf));
  const calls = jobs.flatMap(({ job }) => job.calls);
  return {
    repeated: calls.filter(({ callId, ...call }) => {
      const own = entries.get(callId) ?? [];
      return own.length > 1 && isDeclaredRepeat({ callId, ...call }, own, faults);
    }).length,
    unknown: report.filter((each) => each === 'unknown').length,
    failed: report.filter((each) => each === 'failed').length,
  };
}
