/** Subagents: a tool call that is a run of another agent. What it is given, and what comes back (ADR 0021). */
import type { AgentError } from '../failure';
import type { GuardCounts } from '../guard/state';
import type { Limits } from '../limits';
import { failureMessageChars, previewChars } from '../limits';
import { nanoUsdOf } from '../budget/model-price';
import type { Head } from '../message';
import type { RunOutcome, RunReport } from '../run/outcome';
import type { Allowance, CallSpend } from '../budget/spend';

/** What the core must know of a tool that is a subagent. */
export interface SubagentPolicy {
  readonly agent: string;
  /** Share of what is left of the run's budget, above 0 and at most 1. */
  readonly share?: number;
  readonly budget?: Allowance;
  readonly limits?: Partial<Limits>;
  /** Tools of the agent and of those below it; absent from snapshots of release 0.2.0. */
  readonly tools?: readonly string[];
}

/** Limits that a run hands down: what it has left of its own. The optional ones are absent from runs of release 0.2.0. */
export interface HandedLimits extends Pick<
  Limits,
  'maxEvents' | 'maxToolCalls' | 'maxActiveMs' | 'maxSubagentDepth'
> {
  /** Edits of a file that was not edited yet. */
  readonly maxEditsPerFile?: number;
  /** Calls that are left, by tool that is capped above. */
  readonly toolCallsLeft?: { readonly [tool: string]: number };
  /** Edits that are left, by hash of the file. */
  readonly fileEditsLeft?: { readonly [fileHash: string]: number };
}

/** What a run knows of the run that started it. */
export interface ParentRun {
  readonly runId: string;
  /** How many runs are above this one. */
  readonly depth: number;
  readonly allowance?: Allowance;
  /** No limit of this run is larger. */
  readonly limits: HandedLimits;
  /** The stored input that holds the task, where it is too long to travel. */
  readonly taskBlob?: string;
}

/** Where the answer of a subagent stands. */
export interface SubagentAnswer {
  readonly runId: string;
  /** Transcript that ends with the answer. */
  readonly head: Head;
}

/** What a run consumed, as the run above it must count it. */
interface SubagentConsumption {
  readonly spend: CallSpend;
  readonly unpricedCalls: number;
  readonly toolCalls: number;
  readonly events: number;
  readonly activeMs: number;
  readonly guard: GuardCounts;
}

/** How a subagent came back. */
export type SubagentEnd =
  | {
      readonly type: 'ended';
      readonly status: RunOutcome['status'];
      /** Of a failed run. */
      readonly reason?: string;
      readonly message: string;
      readonly worked: readonly string[];
      readonly head?: Head;
      readonly consumed: SubagentConsumption;
    }
  /** It is gone without a word, such as terminated: what it consumed is not known. */
  | { readonly type: 'lost'; readonly message: string }
  /** It never began. */
  | { readonly type: 'not-started'; readonly message: string };

/** A subagent in the report of the run that started it. */
export interface SubagentRecord {
  readonly runId: string;
  readonly agent: string;
  readonly status: RunOutcome['status'] | 'lost';
  /** Reason of a failed one. */
  readonly reason?: string;
  /** US dollars, as far as prices are known. */
  readonly usd?: number;
}

/** Characters of an answer that a subagent's own outcome carries; the whole is in the store, and reaches the run above from there (ADR 0021). */
const outcomeAnswerChars = 2_000;
/** Lines of what worked, and of what did not, that it carries. */
const outcomeLines = 5;

function shortReport(report: RunReport): RunReport {
  return {
    ...report,
    worked: report.worked.slice(-outcomeLines),
    didNotWork: report.didNotWork.slice(-outcomeLines),
    lastText: report.lastText.slice(0, previewChars),
    ...(report.subagents === undefined ? {} : { subagents: report.subagents.slice(-outcomeLines) }),
  };
}

/** The outcome of a subagent as it stands in the history of the run above: short, whatever the subagent said. */
export function outcomeForParent(outcome: RunOutcome): RunOutcome {
  const report = shortReport(outcome.report);
  if (outcome.status !== 'completed') return { ...outcome, report };
  const { output: _inTheStore, ...rest } = outcome;
  return { ...rest, answer: outcome.answer.slice(0, outcomeAnswerChars), report };
}

function consumptionOf({ cost, ...report }: RunReport): SubagentConsumption {
  const nanoUsd = nanoUsdOf(cost?.usd ?? cost?.pricedUsd ?? 0);
  const estimatedUsd = cost?.estimatedUsd;
  return {
    spend: {
      usage: report.usage,
      nanoUsd,
      ...(estimatedUsd === undefined
        ? {}
        : { estimated: { nanoUsd: nanoUsdOf(estimatedUsd), tokens: 0 } }),
    },
    unpricedCalls: cost?.unpricedCalls ?? 0,
    toolCalls: report.toolCallsSucceeded + report.toolCallsFailed,
    events: report.events,
    activeMs: report.activeMs,
    guard: report.guard ?? { toolRuns: {}, fileEdits: {} },
  };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, failureMessageChars);
}

/** Reads the outcome of a subagent. */
export function endOfSubagent(outcome: RunOutcome): SubagentEnd {
  const { report, status } = outcome;
  return {
    type: 'ended',
    status,
    ...(outcome.status === 'failed' ? { reason: outcome.reason } : {}),
    message: oneLine(messageOf(outcome)),
    worked: report.worked.slice(-outcomeLines),
    ...(report.head === undefined ? {} : { head: report.head }),
    consumed: consumptionOf(report),
  };
}

function messageOf(outcome: RunOutcome): string {
  switch (outcome.status) {
    case 'completed':
      return outcome.answer.slice(0, previewChars);
    case 'failed':
      return outcome.message;
    case 'stopped':
    case 'cancelled':
      return outcome.reason;
  }
}

/** What the model may do about each reason; another reason says that trying again may fail alike. */
const hints: Readonly<Record<string, string>> = {
  guard_budget: 'Too little was left to spend. Give it a smaller task, or do the work yourself.',
  guard_events: 'Give it a smaller task.',
  guard_tool_calls: 'Give it a smaller task.',
  guard_active_time: 'Give it a smaller task.',
  max_iterations: 'Give it a smaller task.',
  refusal: 'Put the task differently, or do the work yourself.',
  content_filter: 'Put the task differently, or do the work yourself.',
  stopped: 'A person stopped it. Do not start it again for the same task.',
  cancelled: 'A person cancelled it. Do not start it again for the same task.',
};

/** Characters of what worked that the model reads. */
const workedChars = 160;

/** What the model reads of a subagent that gave no answer. */
export function subagentError(
  toolName: string,
  end: Exclude<SubagentEnd, { status: 'completed' }>,
): AgentError {
  const why = end.type === 'ended' ? (end.reason ?? end.status) : end.type;
  const worked = end.type === 'ended' ? oneLine(end.worked.join('; ')).slice(0, workedChars) : '';
  const done = worked === '' ? '' : ` What it had done: ${worked}.`;
  const room = failureMessageChars - done.length;
  const said = `The subagent gave no answer (${why}): ${end.message}`.slice(0, room);
  return {
    kind: 'agent',
    code: 'subagent_failed',
    message: said + done,
    hint: hints[why] ?? 'The same task may fail alike. Find another way, or do the work yourself.',
    recoverable: true,
    toolName,
  };
}
