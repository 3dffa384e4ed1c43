/** How a run ended, in a form that a person can read and a program can switch on. */
import type { RunCost } from '../budget/cost';
import type { Failure } from '../failure';
import type { GuardCounts } from '../guard/state';
import type { JsonValue } from '../json';
import type { Head } from '../message';
import type { SubagentRecord } from '../subagents/subagent';
import type { Usage } from '../budget/usage';

/** Why a run was ended by the runtime. */
export type FailureReason =
  | 'circuit_breaker'
  | 'max_iterations'
  | 'guard_events'
  | 'guard_tool_calls'
  | 'guard_active_time'
  | 'guard_budget'
  | 'guard_tool_cap'
  | 'guard_file_edits'
  | 'guard_loop'
  | 'gave_up'
  | 'infra'
  | 'chain_exhausted'
  | 'refusal'
  | 'content_filter'
  | 'context_overflow';

/** What worked and what did not: part of every outcome. */
export interface RunReport {
  readonly agent: string;
  readonly iterations: number;
  readonly modelCalls: number;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  /** The last successful tool calls, newest last, at most 20 lines. */
  readonly worked: readonly string[];
  /** The last failures, newest last, at most 20 lines. */
  readonly didNotWork: readonly string[];
  /** Failures that the run got over, by code. */
  readonly healed: { readonly [code: string]: number };
  readonly failovers: number;
  /** Times that the conversation was made smaller; absent where it never was. */
  readonly compactions?: number;
  readonly usage: Usage;
  /** Share of the input tokens that came from the vendors' prompt caches; absent where nothing was sent. */
  readonly cachedShare?: number;
  /** What it cost, the runs below it included; absent from runs of release 0.1.0. */
  readonly cost?: RunCost;
  /** Milliseconds from start to end, and of them at work. */
  readonly elapsedMs: number;
  readonly activeMs: number;
  readonly events: number;
  /** Transcript as it was at the end. */
  readonly head?: Head;
  readonly storeId?: string;
  readonly lastText: string;
  /** Only of a run that another one started: what it used of the caps that hold for the tree. */
  readonly guard?: GuardCounts;
  /** The last subagents, newest last, at most 20. */
  readonly subagents?: readonly SubagentRecord[];
}

/** The end of a run. `completed` and `stopped` are returned; the others fail the workflow with this as details. */
export type RunOutcome =
  | {
      readonly status: 'completed';
      /** Final text, or `summary` of `complete_task`; at most 16,000 characters. */
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
