/** How a run ended, in a form that a person can read and a program can switch on. */
import type { CallSpend, RunCost, Usage } from '../budget/spend';
import type { Failure, HealedBy } from '../failure';
import type { Counts, GuardCounts } from '../limits';
import type { JsonValue } from '../json';
import type { Head } from '../message';
import type { AccountSlice, RunCounters } from './account';

/** Why a run was ended by the runtime. */
export type FailureReason =
  | 'circuit_breaker'
  | 'max_iterations'
  | 'guard_events'
  | 'guard_tool_calls'
  | 'guard_active_time'
  | 'guard_budget'
  | 'guard_tenant_cap'
  | 'guard_tool_cap'
  | 'guard_file_edits'
  | 'guard_loop'
  | 'gave_up'
  | 'infra'
  | 'chain_exhausted'
  | 'refusal'
  | 'guardrail'
  | 'content_filter'
  | 'context_overflow';

/** Why the runtime ends a run, and the message that people read. */
export interface Stop {
  readonly reason: FailureReason;
  readonly message: string;
}

/** A subagent in the report of its parent run. */
export interface SubagentRecord {
  readonly runId: string;
  readonly agent: string;
  readonly status: RunOutcome['status'] | 'lost';
  /** Reason of a failed one. */
  readonly reason?: string;
  /** US dollars, as far as prices are known. */
  readonly usd?: number;
}

/** What worked and what did not: part of every outcome. */
export interface RunReport
  extends
    Omit<RunCounters, 'toolCalls' | 'segments' | 'timers' | 'callsThisIteration'>,
    Pick<AccountSlice, 'worked' | 'didNotWork' | 'lastText'> {
  readonly agent: string;
  /** The agent that acted at the end, if the run was handed over. */
  readonly actingAgent?: string;
  /** What to change in the agent's definition, each once; absent if nothing. */
  readonly advice?: readonly string[];
  /** Failures that were healed, by code. */
  readonly healed: Counts;
  /** The same, by what healed them: the model's next try, a retry, a failover, recovery, or a person. */
  readonly healedBy: { readonly [By in HealedBy]?: number };
  /**
   * Errors that the model could correct, those of them that were over at its first retry without help, and their share from 0
   * to 1; absent if there were none.
   */
  readonly corrections?: {
    readonly troubles: number;
    readonly atFirstRetry: number;
    readonly rate: number;
  };
  /** How often the conversation was compacted; absent if it never was. */
  readonly compactions?: number;
  readonly usage: Usage;
  /** Share of the input tokens that came from the vendors' prompt caches; absent if nothing was sent. */
  readonly cachedShare?: number;
  /** What it cost, its subagents included. */
  readonly cost: RunCost;
  /** Milliseconds from start to end, and of them at work. */
  readonly elapsedMs: number;
  readonly activeMs: number;
  /** Transcript as it was at the end. */
  readonly head?: Head;
  readonly storeId?: string;
  /** What people said and no model has read: at most 20 lines of 300 characters, newest last; absent if all was read. */
  readonly unread?: readonly string[];
  /** Only of a subagent: what it used of the caps that hold for the tree of runs. */
  readonly guard?: GuardCounts;
  /** The last subagents, newest last, at most 20. */
  readonly subagents?: readonly SubagentRecord[];
}

/** The end of a run. `completed` and `stopped` are returned; the others fail the workflow with this as details. */
export type RunOutcome =
  | {
      readonly status: 'completed';
      /** Final text, or `summary` of `complete_task`, whole up to 1.4 MB; of a longer one, head and tail, and where the rest is. */
      readonly answer: string;
      /** Value given to `complete_task` where the agent declares an output schema. */
      readonly output?: JsonValue;
      readonly report: RunReport;
    }
  | { readonly status: 'stopped'; readonly reason: string; readonly report: RunReport }
  | {
      readonly status: 'failed';
      readonly reason: FailureReason;
      readonly message: string;
      readonly failure?: Failure;
      readonly report: RunReport;
    }
  | { readonly status: 'cancelled'; readonly reason: string; readonly report: RunReport };

/** What a subagent consumed, as its parent run counts it. */
export interface SubagentConsumption {
  readonly spend: CallSpend;
  readonly unpricedCalls: number;
  readonly toolCalls: number;
  readonly events: number;
  readonly activeMs: number;
  readonly guard: GuardCounts;
}

/** How a subagent ended. */
export type SubagentEnd =
  | {
      readonly type: 'ended';
      readonly status: RunOutcome['status'];
      /** Of a failed run. */
      readonly reason?: string;
      readonly message: string;
      readonly worked: readonly string[];
      /** Lines about calls of which nobody knows whether they took effect. */
      readonly unsettled?: readonly string[];
      readonly head?: Head;
      readonly consumed: SubagentConsumption;
    }
  /** It is gone without an outcome, for example terminated: what it consumed is unknown. */
  | { readonly type: 'lost'; readonly message: string }
  /** It never started. */
  | { readonly type: 'not-started'; readonly message: string };

/** The phase of a run that has ended. */
export interface Ended {
  readonly type: 'ended';
  readonly outcome: RunOutcome;
}

function isEnded(phase: { readonly type: string }): phase is Ended {
  return phase.type === 'ended';
}

/** How a run ended; undefined while it is in progress. */
export function endedStatus(phase: { readonly type: string }): RunOutcome['status'] | undefined {
  return isEnded(phase) ? phase.outcome.status : undefined;
}
