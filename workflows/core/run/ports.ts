/** The activity `prepareRun` as the core sees it: what a run is started with, and the snapshot that it carries. */
import type { Allowance, Budget, CallSpend } from '../budget/spend';
import type { CompactionConfig } from '../context/compaction-config';
import type { Limits } from '../limits';
import type { ContentHash, Head } from '../message';
import type { RouteConfig } from '../model-call/ports';
import type { PersonNotice } from '../people/ports';
import type { RecoveryPolicy } from '../recovery/action';
import type { ParentRun } from '../subagents/subagent';
import type { DecisionPolicy, PendingResult, ToolPolicy } from '../tools/ports';

/** How a run ends well: by an answer without a tool call, or by the tool `complete_task` only. */
export type Completion = 'text' | 'tool';

/** An agent's definition as it was when the run started. */
export interface AgentSnapshot {
  readonly agent: string;
  /** Rules that the run follows (`rules.ts`); absent = 1. */
  readonly rules?: number;
  /** Blob with the run's whole config: instructions, tools' descriptions and schemas, chain, limits. */
  readonly definition: ContentHash;
  readonly storeId: string;
  readonly completion: Completion;
  readonly chain: readonly RouteConfig[];
  readonly tools: readonly ToolPolicy[];
  readonly limits: Limits;
  /** What the run and the runs below it may spend; absent = no budget. */
  readonly budget?: Allowance;
  /** Absent in runs that release 0.1.0 prepared. */
  readonly compaction?: CompactionConfig;
  /** Absolute path of the run's workspace on the worker's machine. */
  readonly workspace?: string;
  /** How the run gets out of a rut; absent: not at all. */
  readonly recovery?: RecoveryPolicy;
  /** Of approvals; absent = they wait without limit. */
  readonly approvals?: DecisionPolicy;
  /** Of `ask_user`; absent = questions wait without limit. */
  readonly questions?: DecisionPolicy;
  /** The run tells the corpus of its errors. */
  readonly learns?: true;
  /** Who is told when the run waits for a person, and of which waits; absent: nobody is, and no activity runs. */
  readonly notifiers?: {
    readonly names: readonly string[];
    readonly on: readonly PersonNotice['kind'][];
  };
}

/** Input of the activity that resolves an agent at the start of a run. */
export interface PrepareRunInput {
  readonly agent: string;
  readonly goal: string;
  readonly workspace?: string;
  readonly limits?: Partial<Limits>;
  /** Replaces the agent's budget, field by field. */
  readonly budget?: Budget;
  /** Set by the run that started this one as a subagent; people never set it. */
  readonly parent?: ParentRun;
  /** Continue this transcript; without it a new one is begun. */
  readonly head?: Head;
  /** With `head`: what the transcript goes on with, instead of the goal; empty: with nothing new. */
  readonly message?: string;
  /** With `head`: results that the run before had not brought into its transcript. */
  readonly pendingResults?: readonly PendingResult[];
  readonly storeId?: string;
  /** Whose run it is: what is learned of it serves no other tenant. Default `default`. */
  readonly tenant?: string;
}

/** A run that can begin: its config snapshot and the transcript that holds the goal. */
export interface PrepareRunResult {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
  /** What the preparation itself consumed: a model was asked about the tools. */
  readonly spend?: CallSpend;
}
