/** The activity `runTool` as the core sees it, and what the core must know of tools and their calls. */
import type { ActivityTimes } from '../activity-times';
import type { Attachment } from '../message';
import type { AgentError } from '../failure';
import type { JsonObject } from '../json';
import type { Allowance } from '../budget/spend';
import type { Limits } from '../limits';
import type { ContentHash, DefinitionReference, Head } from '../message';
import type { ShownArguments } from '../secrets/ports';

/** What a repeat of a tool call does to the world. */
export type ToolEffect = 'read' | 'keyed' | 'reconcilable' | 'irreversible';

/** How long a run waits for a person, and what happens then. */
export interface DecisionPolicy {
  /** Milliseconds until the wait expires. Absent: it never does. */
  readonly expiresAfterMs?: number;
  readonly onExpiry: ExpiryAction;
}

/** `reject`: the model reads that nobody decided. `escalate` marks the item, `wait` reminds people; both keep waiting. */
export type ExpiryAction = 'reject' | 'escalate' | 'wait';

/** What the core must know of a tool that is a subagent. */
export interface SubagentPolicy {
  readonly agent: string;
  /** Share of what is left of the run's budget, above 0 and at most 1. */
  readonly share?: number;
  readonly budget?: Allowance;
  readonly limits?: Partial<Limits>;
  /** Tools of the agent and of its own subagents. */
  readonly tools: readonly string[];
}

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
  /** The call hands the run over to this agent. */
  readonly handoff?: string;
  /** A person is asked about a call whose outcome is unknown; absent = the model is told. */
  readonly onUnknown?: 'ask-person';
  /** Of its approvals; absent = the agent's. */
  readonly approvals?: DecisionPolicy;
  /** Its calls run in the workflow's own worker first (ADR 0051); only with effect `read`. */
  readonly quick?: true;
}

/** A result to append before the next model call, in the order of the calls. */
export interface PendingResult {
  readonly toolCallId: string;
  readonly name: string;
  /** Blob with the block's stored content. */
  readonly result?: ContentHash;
  /** Content itself, for short results made by the core (a call that never ran, an answer). */
  readonly text?: string;
  /** With `text`: the images and files that an answer names. */
  readonly attachments?: readonly Attachment[];
  readonly isError: boolean;
  /** What a person changed in the call; the model reads it before the content. */
  readonly notice?: string;
}

/** A tool call that the runtime made because the run was stuck, and its result. */
export interface RuntimeResult {
  readonly pending: PendingResult;
  /** What the model reads about it, before the result. */
  readonly introduction: string;
}

/** Where the answer of a subagent is stored. */
export interface SubagentAnswer {
  readonly runId: string;
  /** Transcript that ends with the answer. */
  readonly head: Head;
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
  /** Normalized identity of name and input. */
  readonly fingerprint: string;
  /** Weaker identities of the call, for the loop detector. */
  readonly alike?: CallLikeness;
  /** File that the call changes: resolved path from the workspace, folded where the file system folds it. */
  readonly editedFile?: string;
  /** Set when the call cannot run; the call then never does. */
  readonly error?: AgentError;
  /** Only with `error`: the tool and its input as the model wrote them, sanitized, at most 200 characters. */
  readonly said?: string;
  /** Set when a person must approve: the digest of the exact action. */
  readonly approvalDigest?: ContentHash;
  /** Set when a person may be asked: the input as people see it. */
  readonly shown?: ShownArguments;
  /** Parameters in use that the tool's schema marks `privileged`. */
  readonly privileged?: PrivilegedUse;
  /** A person changed the arguments: what the model reads with the result. */
  readonly editNotice?: string;
  /** Set when a person approved it with a signature. */
  readonly approval?: SignedApproval;
  /** Of a subagent that has answered; the call then only brings the answer in. */
  readonly answer?: SubagentAnswer;
}

/** A signed approval of a call: with the call as it runs, what a signature is verified with. */
interface SignedApproval {
  readonly signature: string;
  readonly by?: string;
  /** The arguments that the person saw, if they approved the call with others: with the tool, they make the digest that was signed. */
  readonly shown?: Pick<ProposedToolCall, 'input' | 'inputBlob'>;
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

/** A call, and the iteration of its run in which it was made. */
export interface CallPlace {
  /** Idempotency key: `<run key>/<tool call id>`. */
  readonly key: string;
  readonly iteration: number;
}

/** An earlier run that a run builds on. What it did after this point is not in the transcript. */
export interface Origin {
  /** `<workflow id>/<first run id>`. */
  readonly runKey: string;
  /** Run key of the run that people started, if the earlier run was a subagent below it. */
  readonly treeKey?: string;
  /** The last iteration whose results are in the transcript. */
  readonly iteration: number;
  /** Ids of tool calls of later iterations whose results are in the transcript all the same. */
  readonly known?: readonly string[];
}

/** What the record of a call says about its runs. */
export interface Lineage {
  readonly iteration: number;
  /** For a subagent's call: the calls that lead to it; the first is that of the run that people started. */
  readonly callers?: readonly CallPlace[];
  /** The runs that the run builds on, oldest first. */
  readonly origins?: readonly Origin[];
  /** Tools whose effects are repeated, whatever those runs did. */
  readonly repeatEffects?: readonly string[];
}

/** Existing Temporal code that a tool's call runs. The workflow starts it, so history is the record of its start (ADR 0058). */
export type TemporalWork = {
  /** The name of its type: of the activity, the workflow, or the Nexus operation. */
  readonly name: string;
  /** A Nexus operation has one. */
  readonly args: readonly unknown[];
  /** Milliseconds: of one attempt of an activity, of anything else from its start to its end. */
  readonly timeoutMs: number;
} & (
  | {
      readonly type: 'activity';
      readonly taskQueue?: string;
      /** Milliseconds that an attempt may wait for a worker. */
      readonly queueTimeoutMs: number;
      readonly heartbeatTimeoutMs?: number;
      /** Temporal's retry policy. */
      readonly retry: { readonly maximumAttempts: number };
    }
  | { readonly type: 'workflow'; readonly taskQueue?: string; readonly workflowId: string }
  | { readonly type: 'nexus'; readonly endpoint: string; readonly service: string }
);

/**
 * Why such work gave no result. `not-started`: it did nothing. `started-before`: nor that, since its id was taken. `error`: it says so itself. `cancelled`, `lost` (its worker, or it was
 * terminated), `timed-out`: it may have taken effect. `unread`: it is done, and its result cannot be read.
 */
export type WorkFailure =
  'not-started' | 'started-before' | 'error' | 'cancelled' | 'lost' | 'timed-out' | 'unread';

/** How such work ended. */
export type WorkEnd =
  | { readonly type: 'completed'; readonly output?: unknown }
  | {
      readonly type: 'failed';
      readonly reason: WorkFailure;
      readonly message: string;
      /** With `error`: the type of its ApplicationFailure. */
      readonly errorType?: string;
    };

/** Input of one tool execution: with `answer`, it only brings in what a subagent said. */
export interface RunToolInput
  extends
    DefinitionReference,
    Pick<ProposedToolCall, 'toolCallId' | 'name' | 'input' | 'inputBlob' | 'answer' | 'approval'> {
  /** Stable over attempts, workers and segments. */
  readonly idempotencyKey: string;
  /** Digest of the action that a person may have approved: the call runs only if it still is that action. */
  readonly approvedDigest?: ContentHash;
  readonly lineage?: Lineage;
  /** Of a local call: an earlier try of it may have ended its worker, so it must not run locally. */
  readonly mayBeRepeat?: true;
  /** Blob with the run's facts: history has it in place of them (`SentToolCall`). */
  readonly run?: ContentHash;
  /** Of a call whose Temporal work has ended: it only brings in the result. */
  readonly ended?: WorkEnd;
}

/** The same in history: the facts of the run are in the store. */
export interface SentToolCall extends Omit<
  RunToolInput,
  'storeId' | 'definition' | 'idempotencyKey' | 'lineage'
> {
  readonly run: ContentHash;
  /** Absent: as the call's id says. */
  readonly iteration?: number;
}

/** What the loop detector knows of a result. */
export interface ResultIdentity {
  /** Normalized identity of the content. */
  readonly fingerprint: string;
  /** Hashes of some of its lines, to measure how much of it is new. */
  readonly sketch?: readonly string[];
  /** The tool's own service is down or throttles: no evidence of a loop. */
  readonly outage?: true;
  /** The call worked, but what it gave has the form of an error. */
  readonly saysFailed?: true;
}

/** A path that an output names. */
export interface FoundPath {
  /** At most 200 characters. */
  readonly path: string;
  /** Line of the sanitized output, from 1. */
  readonly line: number;
}

/** Paths and facts from a whole output: nothing here was cut (ADR 0033). */
export interface OutputFindings {
  /** At most 48, of at most 4,000 characters together. */
  readonly paths: readonly FoundPath[];
  /** Whole lines: those that name a path, else the first; at most 4 of at most 160 characters. */
  readonly facts: readonly string[];
}

/** The result of one tool execution. Its content is in the store. */
export interface RunToolResult extends ResultIdentity, ActivityTimes {
  /** Blob with the stored `ToolResultBlock`; absent only when the store was down, then `text` has it. */
  readonly result?: ContentHash;
  readonly text?: string;
  readonly preview: string;
  readonly bytes: number;
  /** Absent if the call failed, nothing was found, or the output is not stored whole. */
  readonly findings?: OutputFindings;
  /** Set when the tool failed in a way that the model may correct. */
  readonly error?: AgentError;
  /** Nobody knows whether the call took effect; the error has the evidence. */
  readonly isOutcomeUnknown?: true;
  /** The call has no result yet: the workflow starts this work, and calls again with its end. */
  readonly work?: TemporalWork;
}

/** Name and input of the tools that the core itself answers. */
export const completeTaskTool = 'complete_task';

/** Asks a person and waits durably for the answer. */
export const askUserTool = 'ask_user';

/** Reads a stored output that the model got only a part of; offered once the conversation names one (R-WORDS-1). */
export const readOutputTool = 'read_output';
