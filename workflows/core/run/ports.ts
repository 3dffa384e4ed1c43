/** The activity `prepareRun` as the core sees it: what a run is started with, and the snapshot that it carries. */
import type { Attachment } from '../message';
import type { Allowance, Budget, CallSpend } from '../budget/spend';
import type { GuardrailPolicies } from '../guardrails/ports';
import type { CompactionConfig } from '../context/compaction-thresholds';
import type { JsonObject } from '../json';
import type { HandedLimits, Limits } from '../limits';
import type { ContentHash, DefinitionReference, Head } from '../message';
import type { RouteConfig } from '../failover/state';
import type { PersonNotice } from '../notifications/ports';
import type { RecoveryPolicy } from '../recovery/action';
import { invariant } from '../invariant';
import type {
  CallPlace,
  DecisionPolicy,
  Origin,
  PendingResult,
  RuntimeResult,
  ToolPolicy,
} from '../tools/ports';

/** How a run ends well: by an answer without a tool call, or by the tool `complete_task` only. */
export type Completion = 'text' | 'tool';

/** An agent's definition as it was when the run started. */
export interface AgentSnapshot {
  /** The agent that acts: after a handoff another one than the run was started with. */
  readonly agent: string;
  /** Names of the changes (`workflows/flags.ts`) that the workflow code of the run's start knew. */
  readonly flags: readonly string[];
  /** Blob with the run's whole config: instructions, tools' descriptions and schemas, chain, limits. */
  readonly definition: ContentHash;
  readonly storeId: string;
  /** Blob with the run's facts (`RunFacts`): what activities get in place of them. */
  readonly run?: ContentHash;
  /** Tokens of instructions, tools, and goal by our own count: the least that the first request has. */
  readonly firstTokens?: number;
  readonly completion: Completion;
  readonly chain: readonly RouteConfig[];
  readonly tools: readonly ToolPolicy[];
  readonly limits: Limits;
  /** What the run and its subagents may spend; absent: no budget. */
  readonly budget?: Allowance;
  readonly compaction: CompactionConfig;
  /** The definition holds a context, which subagents, forks and continued runs are given by its hash. */
  readonly hasContext?: true;
  /** Absolute path of the run's workspace on the worker's machine. */
  readonly workspace?: string;
  /** How the run recovers when it is stuck; absent: not at all. */
  readonly recovery?: RecoveryPolicy;
  /** Of approvals; absent = they wait without limit. */
  readonly approvals?: DecisionPolicy;
  /** Public keys of the people who may decide on approvals; absent: decisions need no signature. */
  readonly approvers?: readonly string[];
  /** Of `ask_user`; absent = questions wait without limit. */
  readonly questions?: DecisionPolicy;
  /** What checks before the agent's first call and before the answer; absent: nothing. */
  readonly guardrails?: GuardrailPolicies;
  /** The run records its errors for learning. */
  readonly learns?: true;
  /** Who is notified of which waits for a person; absent: nobody, and no activity runs. */
  readonly notifiers?: {
    readonly names: readonly string[];
    readonly on: readonly PersonNotice['kind'][];
  };
}

/** What a run knows of the run that started it. */
interface ParentRun {
  readonly runId: string;
  /** How many runs lead to this one: 1 for a subagent of a run that people started. */
  readonly depth: number;
  readonly allowance?: Allowance;
  /** No limit of this run is larger. */
  readonly limits: HandedLimits;
  /** The stored input that holds the task, if it is too long to travel. */
  readonly taskBlob?: string;
  /** The calls that lead to this run; the first is that of the run that people started. */
  readonly callers?: readonly CallPlace[];
}

/** What a run is started with. */
export interface RunRequest {
  readonly agent: string;
  readonly goal: string;
  /** Images and files that the goal, or the `message`, names: what `AgentClient.upload` returned with that text. */
  readonly attachments?: readonly Attachment[];
  readonly workspace?: string;
  readonly limits?: Partial<Limits>;
  /** Replaces the agent's budget, field by field. */
  readonly budget?: Budget;
  /** Set by the run that started this one as a subagent; people never set it. */
  readonly parent?: ParentRun;
  /** Continue this transcript; without it a new one is begun. */
  readonly head?: Head;
  /** With `head`: the message that continues the transcript, instead of the goal; empty: nothing new. */
  readonly message?: string;
  /** With `head`: results that the earlier run had not yet appended to its transcript. */
  readonly pendingResults?: readonly PendingResult[];
  /** With `head`: likewise, of calls that the earlier run's runtime made on its own. */
  readonly runtimeResults?: readonly RuntimeResult[];
  readonly storeId?: string;
  /** The runs that this one builds on, oldest first; set for a fork and a continued run, never by people. */
  readonly origins?: readonly Origin[];
  /**
   * With `origins`: tools whose effects this run repeats, even if an earlier run already had the very same effect after the point
   * where this run begins. Without it, such a call is answered from the record, or a person is asked.
   */
  readonly repeatEffects?: readonly string[];
  /** Whose run it is: what is learned from it serves no other tenant. Default `default`. */
  readonly tenant?: string;
  /**
   * The caller's data for tools, approval rules, hints and instructions; the model never sees it by itself. At most `contextBytes`
   * of JSON, checked by the agent's schema. Only the first segment's input holds it; then it is in the store, with the definition.
   */
  readonly context?: JsonObject;
  /** Instead of `context`: the definition of the run whose context this one takes. Set for subagents, forks and continued runs. */
  readonly contextOf?: ContentHash;
  /**
   * The agent that the run was handed to: it acts, and the run ends as `agent` says. Set by a handoff, and for a fork of a run that
   * was handed over.
   */
  readonly actingAgent?: string;
}

/** Input of the activity that resolves an agent at the start of a run. */
export interface PrepareRunInput extends RunRequest {
  /** Copied into the snapshot. */
  readonly flags: readonly string[];
  /** `<workflow id>/<first run id>`; absent: the snapshot has no `run`, and activities get the facts themselves. */
  readonly runKey?: string;
  /** The run is under way, with this transcript, and handed over to `actingAgent`. */
  readonly underway?: { readonly head: Head };
}

/** What is the same in every model call and tool call of a run: stored once, so that history does not repeat it (ADR 0052). */
export interface RunFacts extends DefinitionReference {
  /** `<workflow id>/<first run id>`: stable over segments, and over a reset of the workflow. */
  readonly runKey: string;
  /** As in `Lineage`. */
  readonly callers?: readonly CallPlace[];
  readonly origins?: readonly Origin[];
  readonly repeatEffects?: readonly string[];
}

/** A run that can begin: its config snapshot and the transcript that holds the goal. */
export interface PrepareRunResult {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
  /** What the preparation consumed: it may ask a model about the tools. */
  readonly spend?: CallSpend;
}

/** The slice of what a run was started with. */
export interface RequestSlice {
  /** Stable over segments: prefix of idempotency keys and tool call ids. */
  readonly runKey: string;
  readonly request: RunRequest;
}

/** The slice that exists once a run is prepared. */
export interface SnapshotSlice {
  readonly snapshot?: AgentSnapshot;
  readonly head?: Head;
}

/** What a prepared run always has. */
export interface Prepared {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
}

/** Snapshot and head of a run that has been prepared. */
export function prepared({ snapshot, head }: SnapshotSlice): Prepared {
  invariant(snapshot !== undefined && head !== undefined, 'the run is not prepared');
  return { snapshot, head };
}

/** The agent that acts, where it is not the one that the run was started with. */
export function handedTo({ snapshot, request }: RequestSlice & SnapshotSlice): string | undefined {
  const acting = snapshot?.agent ?? request.actingAgent;
  return acting === request.agent ? undefined : acting;
}

/** What the core knows of a tool; undefined for a tool that the agent does not have. */
export function toolPolicy({ snapshot }: SnapshotSlice, name: string): ToolPolicy | undefined {
  return snapshot?.tools.find((tool) => tool.name === name);
}

/** Whether a run was started with a change of the workflow's behavior (`workflows/flags.ts`); false before it is prepared. */
export function hasFlag({ snapshot }: SnapshotSlice, name: string): boolean {
  return snapshot?.flags.includes(name) === true;
}
