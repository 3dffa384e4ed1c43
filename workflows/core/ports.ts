/** The activities as the core sees them: their inputs and results. Both sides meet here and nowhere else. */
import type { CompactionConfig } from './compaction-config';
import type { CompactionTier } from './compaction-policy';
import type { ContextBounds, ContextMeasure } from './context-measure';
import type { AgentError, AgentErrorCode, InfraError } from './failure';
import type { JsonObject } from './json';
import type { Limits } from './limits';
import type { ContentHash, Head } from './message';
import type { OpenMatters } from './open-matters';
import type { CountedContext, TokenFactors } from './token-factors';
import type {
  ProgressEstimate,
  RecoveryAction,
  RecoveryPolicy,
  RecoverySource,
  StuckContext,
} from './recovery-action';
import type { ModelPrice } from './model-price';
import type { Allowance, Budget, CallSpend } from './spend';
import type { ParentRun, SubagentAnswer, SubagentPolicy } from './subagent';
import type { Usage } from './usage';

/** How a run ends well: by an answer without a tool call, or by the tool `complete_task` only. */
export type Completion = 'text' | 'tool';

/** What a repeat of a tool call does to the world. */
export type ToolEffect = 'read' | 'keyed' | 'reconcilable' | 'irreversible';

/** One model at one provider: what fails over, cools down and is probed. */
export interface RouteConfig {
  /** Name of a provider that the worker was given, such as `anthropic`. */
  readonly provider: string;
  readonly model: string;
  /** `text` for models without native tool calls. */
  readonly toolProtocol: 'native' | 'text';
  readonly maxOutputTokens: number;
  readonly windowTokens: number;
  readonly temperature?: number;
  /** Absent where nobody knows what the model costs. */
  readonly price?: ModelPrice;
}

/** How long a run waits for a person, and what happens then. */
export interface DecisionPolicy {
  /** Milliseconds until the wait expires. Absent: it never does. */
  readonly expiresAfterMs?: number;
  readonly onExpiry: ExpiryAction;
}

/** `reject`: the model is told that nobody decided. `escalate`: marked, and waits on. `wait`: reminds, and waits on. */
export type ExpiryAction = 'reject' | 'escalate' | 'wait';

/** What the core must know of a tool. Its description and schema stay in the definition blob. */
export interface ToolPolicy {
  readonly name: string;
  readonly effect: ToolEffect;
  readonly timeoutMs: number;
  readonly approval: 'never' | 'always' | 'rule';
  /** Name of the input that holds a file path that the tool changes, for the per-file edit guard. */
  readonly editsFile?: string;
  /** Calls of this tool per run. */
  readonly maxCalls?: number;
  /** Tools that serve the same purpose, best first, at most 3. */
  readonly alternatives?: readonly string[];
  /** The call is a run of another agent. */
  readonly subagent?: SubagentPolicy;
  /** A person is asked what came of a call whose outcome is unknown; absent = the model is told. */
  readonly onUnknown?: 'ask-person';
  /** Of its approvals; absent = the agent's. */
  readonly approvals?: DecisionPolicy;
}

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

/** What every long activity tells beside its result. */
export interface ActivityTimes {
  /** Milliseconds that its last attempt stood in the task queue, where that was long: none of the run's active time. */
  readonly queuedMs?: number;
}

/** A result to append before the next model call, in the order of the calls. */
export interface PendingResult {
  readonly toolCallId: string;
  readonly name: string;
  /** Blob with the block's stored content. */
  readonly result?: ContentHash;
  /** Content itself, for short results made by the core (a call that never ran, an answer). */
  readonly text?: string;
  readonly isError: boolean;
  /** What a person changed in the call, told to the model before the content. */
  readonly notice?: string;
}

/** Input of a model call. */
export interface CallModelInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  /** Place of the route in the run's chain. */
  readonly routeIndex: number;
  /** The route is still recovering: only one prober of all runs may try it, once. */
  readonly probe?: true;
  readonly iteration: number;
  /** Prefix of the ids of the tool calls in this reply: `<prefix>_<iteration>_<index>`. */
  readonly idPrefix: string;
  readonly pendingResults?: readonly PendingResult[];
  /** Texts of people that join the transcript before this call. */
  readonly userTexts?: readonly string[];
  /** Ephemeral: the last user message of this request only, never stored. */
  readonly note?: string;
  /** Replaces the route's `maxOutputTokens` for this call. */
  readonly maxOutputTokens?: number;
  /** Errors that ended since the last call, for the corpus. */
  readonly endedErrors?: readonly ObservedError[];
  /** What this call, all its attempts together, may spend. */
  readonly allowance?: Allowance;
  /** What a vendor last counted of this transcript, as the last call on this route returned it. */
  readonly counted?: CountedContext;
  /** Vendor's tokens per token of ours on this route, as learned so far. */
  readonly tokenFactors?: TokenFactors;
  /** The request is measured and held back where it exceeds them; absent for runs under older rules. */
  readonly bounds?: ContextBounds;
  /** What the runtime itself ran since the last call, to append behind the results. */
  readonly runtimeResults?: readonly RuntimeResult[];
}

/** A tool call that the runtime made on its own to get the run out of a rut, and its result. */
export interface RuntimeResult {
  readonly pending: PendingResult;
  /** What the model is told of it, before the result. */
  readonly introduction: string;
}

/** An error of a run and what became of it; the activity that carries it looks the calls up in the transcript. */
export interface ObservedError {
  /** Unique in all runs. */
  readonly key: string;
  /** Tool whose call failed; empty where the reply as a whole was wrong. */
  readonly tool: string;
  readonly code: AgentErrorCode;
  readonly message: string;
  /** The call that failed, where there was one. */
  readonly callId?: string;
  /** Its input, where the transcript has not got the call. */
  readonly inputBlob?: ContentHash;
  readonly fixedBy: 'model' | 'action' | 'person' | 'none';
  /** The call that worked; with `none`, the one that was tried in vain. */
  readonly fix?: {
    readonly tool: string;
    readonly callId?: string;
    /** Of a call of the runtime, which the transcript has not got as a call; short ones only. */
    readonly input?: JsonObject;
  };
  /** Iterations from the error to its end. */
  readonly steps: number;
  /** Learned pattern that the recovery action came from. */
  readonly patternId?: string;
  readonly atMs: number;
}

/** Input of the activity that tells the corpus of what a run's end left. */
export interface RecordObservationsInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  readonly observations: readonly ObservedError[];
}

/** What a person is told when a run begins to wait for one. All of it is bounded and sanitised. */
export interface PersonNotice {
  readonly kind: 'escalation' | 'question' | 'approval';
  /** Id of the question or approval that the answer names. */
  readonly itemId: string;
  readonly agent: string;
  readonly goal: string;
  /** What is asked. */
  readonly asked: string;
  readonly lastError?: string;
  /** What was tried, newest last. */
  readonly worked: readonly string[];
  readonly didNotWork: readonly string[];
  readonly iteration: number;
  readonly route?: string;
  readonly sinceMs: number;
}

/** What an extraction of patterns came to. */
export interface ExtractionReport {
  readonly tenants: number;
  readonly observations: number;
  readonly patterns: number;
  /** Of the patterns, those that are used. */
  readonly active: number;
}

/** Input of the activity that tells people. */
export interface NotifyInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  /** Names of the worker's notifiers. */
  readonly notifiers: readonly string[];
  /** Stable over attempts, workers and segments, so that receivers can tell repeats. */
  readonly idempotencyKey: string;
  readonly notice: PersonNotice;
}

/** Who was told, and who could not be. */
export interface NotifyResult {
  readonly delivered: readonly string[];
  readonly failed: readonly { readonly notifier: string; readonly message: string }[];
}

/** A tool call of a reply, already checked against its schema. */
export interface ProposedToolCall {
  readonly toolCallId: string;
  readonly name: string;
  /** What it says in the Web UI: `src/a.ts`. At most 80 characters. */
  readonly label?: string;
  /** Parsed input up to 4 KB of JSON; above that it is only in `inputBlob`. */
  readonly input?: JsonObject;
  readonly inputBlob?: ContentHash;
  /** Normalised identity of name and input. */
  readonly fingerprint: string;
  /** Weaker identities of the call, for the loop detector. */
  readonly alike?: CallLikeness;
  /** File that the call changes: resolved path from the workspace, folded where the file system folds it. */
  readonly editedFile?: string;
  /** Set when the call cannot run; the call then never does. */
  readonly error?: AgentError;
  /** Set when a person must approve: the digest of the exact action. */
  readonly approvalDigest?: ContentHash;
  /** Parameters in use that the tool's schema marks `privileged`. */
  readonly privileged?: PrivilegedUse;
  /** A person changed the arguments: what the model is told with the result. */
  readonly editNotice?: string;
  /** Of a subagent that has answered; the call then only brings the answer in. */
  readonly answer?: SubagentAnswer;
}

/** Privileged parameters that a call uses. */
export interface PrivilegedUse {
  /** Digest of the exact action, for the approval that the core may ask for. */
  readonly digest: ContentHash;
  readonly parameters: readonly {
    /** Its path: `options.force`. */
    readonly name: string;
    /** Identity of tool, path and value. */
    readonly use: string;
  }[];
}

/** Weaker identities of a call: what is left of it without the parts in which calls that repeat each other differ. */
export interface CallLikeness {
  /** Without the numbers that move a window over the same thing; read tools only. */
  readonly window?: string;
  /** The action alone, without words beside it that may be mere labels. */
  readonly gist?: string;
  /** What a changing tool is aimed at. */
  readonly target?: string;
  /** The call only waits, waits before it does something, or only thinks aloud. */
  readonly idle?: 'waits' | 'waits-first' | 'thinks';
}

/** Why the model stopped, in neutral words. A cut stream is a failure, never a stop reason. */
export type StopReason =
  | 'end'
  | 'tool-use'
  | 'truncated'
  /** Cut off because the model's window was full. */
  | 'context-full'
  | 'refusal'
  | 'pause'
  | 'filtered';

/** A reply that arrived whole. */
export interface CallModelResult extends ActivityTimes {
  /** Transcript before the reply: pending results and user texts appended. */
  readonly headBefore: Head;
  /** Transcript with the reply; equal to `headBefore` where the reply holds nothing that could be kept. */
  readonly head: Head;
  readonly stopReason: StopReason;
  readonly toolCalls: readonly ProposedToolCall[];
  /** A mistake of the reply as a whole (text protocol: no call, bad JSON, no tool name). */
  readonly error?: AgentError;
  /** Head of the reply's text. */
  readonly textPreview: string;
  /** The reply's whole text up to `answerChars`, only where it called no tool. */
  readonly answer?: string;
  /** Of the reply alone. */
  readonly usage: Usage;
  /** What all attempts of this call consumed, this reply included; absent where it is just `usage` at the route's price. */
  readonly spend?: CallSpend;
  /** Tokens of the request as the vendor counted them. */
  readonly contextTokens: number;
  /** Tokens of the request as they were measured before it went out. */
  readonly estimatedTokens?: number;
  /** What the next call on this route may build its measure on. */
  readonly counted?: CountedContext;
  /** The route's factors after what this call taught (`learnFactors`); the next call on this route takes them. */
  readonly tokenFactors?: TokenFactors;
  /** The request in parts, from the warning threshold on. */
  readonly measure?: ContextMeasure;
  /** Provider failures that this call's attempts healed by retry, in order. */
  readonly healedRetries?: readonly string[];
}

/** A call whose request did not fit, so that nothing was sent. */
export interface ModelCallHeldBack extends ActivityTimes {
  /** Transcript with pending results and user texts appended. */
  readonly headBefore: Head;
  readonly heldBack: ContextMeasure;
}

/** Input of a compaction. */
export interface CompactInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  readonly pendingResults?: readonly PendingResult[];
  readonly runtimeResults?: readonly RuntimeResult[];
  /** Place of the route that will be called: the request is measured as it would go there. */
  readonly routeIndex: number;
  readonly bounds: ContextBounds;
  readonly counted?: CountedContext;
  readonly tokenFactors?: TokenFactors;
  readonly tier: CompactionTier;
  /** Shortens the tool results and texts of the kept tail too, until the request fits. */
  readonly trimTail?: true;
  /** The request was measured or refused; else a request that fits after all is left as it is. */
  readonly isDue?: true;
  /** Who writes the summary: tiers 2 and 3. */
  readonly summary?: {
    readonly routeIndex: number;
    readonly windowTokens: number;
    readonly tokenFactors?: TokenFactors;
  };
  /** What every summary must hold: tiers 2 to 4. */
  readonly matters?: OpenMatters;
  /** What the summary may cost at most. */
  readonly allowance?: Allowance;
  /** Stable over attempts and workers. */
  readonly holder: string;
}

/** What a compaction came to. */
export interface CompactResult extends ActivityTimes {
  /** Transcript with pending results appended. */
  readonly headBefore: Head;
  /** The new transcript; equal to `headBefore` where nothing was changed. */
  readonly head: Head;
  readonly tier: CompactionTier;
  readonly trimmedTail?: true;
  /** The request fits as it is: nothing was done. */
  readonly isNeedless?: true;
  readonly tokensBefore: number;
  readonly messagesBefore: number;
  /** The request as it is now. */
  readonly measure: ContextMeasure;
  /** What the summary consumed; absent where no model was asked. */
  readonly spend?: CallSpend;
  /** No usable summary came; nothing was changed. */
  readonly failure?: InfraError;
}

/** Input of one tool execution. */
export interface RunToolInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly toolCallId: string;
  readonly name: string;
  readonly input?: JsonObject;
  readonly inputBlob?: ContentHash;
  /** Stable over attempts, workers and segments. */
  readonly idempotencyKey: string;
  /** The call is a subagent that has answered: bring the answer in. */
  readonly answer?: SubagentAnswer;
}

/** What the loop detector knows of a result. */
export interface ResultIdentity {
  /** Normalised identity of the content. */
  readonly fingerprint: string;
  /** Hashes of some of its lines, to tell how much of it is new. */
  readonly sketch?: readonly string[];
  /** The tool's own service is down or throttles: no evidence of a loop. */
  readonly outage?: true;
  /** The call worked, but what it gave has the form of an error. */
  readonly saysFailed?: true;
}

/** What one tool execution came to. Its content is in the store. */
export interface RunToolResult extends ResultIdentity, ActivityTimes {
  /** Blob with the stored `ToolResultBlock`; absent only when the store was down, then `text` has it. */
  readonly result?: ContentHash;
  readonly text?: string;
  readonly preview: string;
  readonly bytes: number;
  /** Set when the tool failed in a way that the model may correct. */
  readonly error?: AgentError;
  /** Nobody knows whether the call took effect; the error has the evidence. */
  readonly isOutcomeUnknown?: true;
}

/** Input of a recovery plan, or of a progress estimate by a model. */
export interface PlanRecoveryInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  readonly purpose: 'plan' | 'estimate';
  readonly context: StuckContext;
  /** Place of the route in the run's chain; absent where every route is cooling: then no model is asked. */
  readonly routeIndex?: number;
  readonly probe?: true;
  readonly iteration: number;
  readonly idPrefix: string;
  /** Results that are not in the transcript yet. */
  readonly pendingResults?: readonly PendingResult[];
  /** Prefix of the id that the planned tool call gets. */
  readonly callIdPrefix: string;
  /** Taken where neither a pattern nor the model has a usable answer. */
  readonly fallback: RecoveryAction;
  /** What this plan, all its attempts together, may spend. */
  readonly allowance?: Allowance;
}

/** A plan that can be carried out. */
export interface PlanRecoveryResult extends ActivityTimes {
  readonly action: RecoveryAction;
  readonly source: RecoverySource;
  readonly patternId?: string;
  /** The action's tool call, checked as a model's own; absent where the action has no parameters or cannot run. */
  readonly call?: ProposedToolCall;
  /** Binds a person's decision to this action. */
  readonly digest: ContentHash;
  /** Only for the purpose `estimate`, where the model gave one. */
  readonly estimate?: ProgressEstimate;
  /** Why the model's plan was not used. */
  readonly problem?: string;
  /** What the planner's model consumed; absent where none was asked. */
  readonly spend?: CallSpend;
}

/** Input of the check of arguments that a person changed before approving. */
export interface CheckEditInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly toolCallId: string;
  readonly name: string;
  /** What the person wants to run. */
  readonly input: JsonObject;
  /** What the model asked for. */
  readonly original?: JsonObject;
  readonly originalBlob?: ContentHash;
}

/** Whether changed arguments can run: what is wrong with them, or the call as it then is. */
export type CheckEditResult =
  | { readonly type: 'refused'; readonly problems: string }
  | {
      readonly type: 'accepted';
      readonly call: Pick<
        ProposedToolCall,
        | 'label'
        | 'input'
        | 'inputBlob'
        | 'fingerprint'
        | 'alike'
        | 'editedFile'
        | 'privileged'
        | 'editNotice'
        | 'approvalDigest'
      >;
    };

/** The activities of a run. */
export interface Activities {
  prepareRun(input: PrepareRunInput): Promise<PrepareRunResult>;
  callModel(input: CallModelInput): Promise<CallModelResult | ModelCallHeldBack>;
  compact(input: CompactInput): Promise<CompactResult>;
  runTool(input: RunToolInput): Promise<RunToolResult>;
  checkEdit(input: CheckEditInput): Promise<CheckEditResult>;
  notify(input: NotifyInput): Promise<NotifyResult>;
  recordObservations(input: RecordObservationsInput): Promise<void>;
  extractPatterns(): Promise<ExtractionReport>;
  planRecovery(input: PlanRecoveryInput): Promise<PlanRecoveryResult>;
}

/** Name and input of the tools that the core itself answers. */
export const completeTaskTool = 'complete_task';
/** Asks a person and waits durably for the answer. */
export const askUserTool = 'ask_user';
