/** How people define tools: a zod schema, an effect class, a time limit, and a function. */
import type { z } from 'zod';
import type { MediaPart } from '../../workflows/core/attachments';
import type { JsonObject } from '../../workflows/core/json';
import type { RetryPolicy } from '@temporalio/common';
import type {
  DecisionPolicy,
  ToolEffect,
  SubagentPolicy,
  WorkEnd,
} from '../../workflows/core/tools/ports';
import type { ParsedInput } from './input-problems';
import type { PrivilegedParameter } from './privileged-parameters';

/** What an author's code may know of the run that it works for. None of it comes from the model. */
export interface RunContext<Context = unknown> {
  /** The workflow's id. */
  readonly runId: string;
  readonly agent: string;
  /** `default` unless the run was started with another. */
  readonly tenant: string;
  /** Absolute path of the run's workspace, if it has one. */
  readonly workspace: string | undefined;
  /** What the caller gave, as the `context` schema of whoever reads it returns it; undefined without a schema. */
  readonly context: Context;
}

/** What a tool may use while it runs. */
export interface ToolContext<Context = unknown> extends RunContext<Context> {
  readonly toolCallId: string;
  /** Same for every attempt of this call; give it to the service that you call. */
  readonly idempotencyKey: string;
  /** Aborted on cancel, time limit and worker shutdown. */
  readonly signal: AbortSignal;
  /** Attempt of this execution, from 1. */
  readonly attempt: number;
  /** Shows progress to people; may be lost. */
  readonly progress: (text: string) => void;
  /**
   * Reads stored output (for tools that page through large results).
   *
   * Errors: `ToolError` `invalid_params` for a ref that nothing is stored under.
   */
  readonly readBlob: (
    hash: string,
    offset: number,
    length: number,
  ) => Promise<{ text: string; totalBytes: number }>;
  /** A stored image or PDF, to show it again; undefined for anything else. @internal */
  readonly readMedia?: (hash: string) => Promise<MediaPart | undefined>;
}

/** What an approval rule may use in addition to the input. */
export interface ApprovalContext<Context = unknown> extends RunContext<Context> {
  readonly tool: string;
  readonly toolCallId: string;
  readonly iteration: number;
}

/** What a probe found out about an earlier attempt. */
export type ProbeAnswer =
  | { readonly type: 'applied'; readonly output: unknown }
  | { readonly type: 'not-applied' }
  | { readonly type: 'unknown'; readonly evidence: string };

/** Who decides about a call whose outcome is unknown. */
type OnUnknown = 'tell-model' | 'ask-person';

/** What every kind of existing Temporal code has. */
interface TargetOptions {
  /** Schema of the result; the model reads what it returns. Default: the result as it is. */
  readonly result?: z.ZodType;
}

/** What activities and workflows take. */
interface QueueOptions<Input, Context> extends TargetOptions {
  /** Task queue of the workers that have it. Default: that of the run. */
  readonly taskQueue?: string;
  /** Its arguments, as JSON. Default: the checked input as the only one. With effect `keyed`, pass `idempotencyKey` on. */
  readonly args?: (input: Input, context: ToolContext<Context>) => readonly unknown[];
}

/** An activity of a worker that you have already, in any language. */
interface ActivityTarget<Input, Context> extends QueueOptions<Input, Context> {
  /** Name of its type. */
  readonly activity: string;
  /** Temporal's, with `maximumAttempts`. Default: 3 attempts for `read` and `keyed`; the other effects get one. */
  readonly retry?: RetryPolicy;
  /** Milliseconds between its heartbeats, after which an attempt counts as lost. Default: it sends none. */
  readonly heartbeatTimeoutMs?: number;
  /** Milliseconds that an attempt waits for a worker. Default 60,000. */
  readonly scheduleToStartTimeoutMs?: number;
}

/** A workflow that you have already; it runs as a child of the agent's run. */
interface WorkflowTarget<Input, Context> extends QueueOptions<Input, Context> {
  /** Name of its type. */
  readonly workflow: string;
  /** Its id, by which it is started once. Default: the call's idempotency key. */
  readonly workflowId?: (input: Input, context: ToolContext<Context>) => string;
}

/** An operation of a Nexus service. Temporal repeats its start until it is answered, so its effect is `read` or `keyed`. */
interface NexusTarget<Input, Context> extends TargetOptions {
  readonly nexusOperation: string;
  readonly service: string;
  readonly endpoint: string;
  /** Its input, as JSON. Default: the checked input. With effect `keyed`, pass `idempotencyKey` on. */
  readonly input?: (input: Input, context: ToolContext<Context>) => unknown;
}

/** Existing Temporal code that does a tool's work: the workflow runs it (ADR 0058). */
export type TemporalTarget<Input = unknown, Context = unknown> =
  ActivityTarget<Input, Context> | WorkflowTarget<Input, Context> | NexusTarget<Input, Context>;

/** A tool as its author writes it. */
export interface ToolDefinition<
  Input extends z.ZodType = z.ZodType,
  Context extends z.ZodType = z.ZodType,
  Name extends string = string,
> {
  /** `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: Name;
  readonly description: string;
  /** An object schema. */
  readonly input: Input;
  /**
   * Schema of what the tool needs of the run's context; it gets that and no more. A run whose context does not fit is refused at
   * its start. Default: the tool gets no context.
   */
  readonly context?: Context;
  /** What a repeat does. Default `irreversible`, the safest. */
  readonly effect?: ToolEffect;
  /** Milliseconds that one execution may take. Default 60,000. */
  readonly timeoutMs?: number;
  /** Whether a person must approve a call. A rule that throws, or answers anything but `false`, asks. Default `never`. */
  readonly approval?:
    | 'never'
    | 'always'
    | ((input: z.output<Input>, context: ApprovalContext<z.output<Context>>) => boolean);
  /** How long approvals of this tool wait, and what happens then. Default: as the agent says. */
  readonly approvals?: DecisionPolicy;
  /**
   * It starts programs that the model chooses and that can reach Temporal, so they could decide approvals themselves; `programs` of
   * the agent says what follows. Default false.
   */
  readonly runsPrograms?: boolean;
  /** Trusted advice for the model when this tool fails, by the tool's author. */
  readonly hint?:
    | string
    | ((error: unknown, input: unknown, run: RunContext<z.output<Context>>) => string | undefined);
  /**
   * Input property that names the file which this tool changes. Default: found by name if the tool's name says that it edits
   * files.
   */
  readonly editsFile?: string;
  /** Inputs that are mere labels: calls that differ only in them are the same call. */
  readonly cosmetic?: readonly string[];
  /**
   * It usually ends within a second and uses little of a core, so its calls run in the workflow's own worker, without a task
   * of their own; after 3 s such a call is stopped and starts again as an ordinary activity (ADR 0051). Only with effect `read`.
   * Default false.
   */
  readonly quick?: boolean;
  /** Calls per run. High-risk tools have a default by name (R-GUARD-4), others none. */
  readonly maxCalls?: number;
  /**
   * Who decides when it is unknown whether a call took effect. `tell-model` (default): the model gets the evidence as an error.
   * `ask-person`: the call waits as a question, and a person's answer is its result.
   */
  readonly onUnknown?: OnUnknown;
  /** Input property shown in the Web UI beside the tool's name. */
  readonly label?: string;
  /**
   * `keep` (default): paths in outputs stay as the tool gives them, so that the model can use them in its next call. `hide`: paths
   * below the workspace become relative, and of personal and temporary places only the last part is shown, as in errors.
   */
  readonly paths?: 'keep' | 'hide';
  /**
   * Does the work. Returns what the model reads: a string unchanged, a response, stream, or generator as the text that it gives,
   * an image or a file as a part with its bytes (`{ type: 'image', data }`, also several of them and texts in an array),
   * anything else as JSON. What JSON cannot carry says in its place what it was (ADR 0044).
   *
   * Or names the Temporal code that does it: `{ activity }`, `{ workflow }` or `{ nexusOperation, service, endpoint }`.
   *
   * Errors: throw `ToolError` for what the model can correct, `InfraException` for what only people can; any other throw is
   * an `AgentError` `tool_execution_failed`. Temporal code throws an `ApplicationFailure` whose type is a code of `ToolError`, or
   * `tool_infrastructure`.
   */
  readonly execute:
    | ((input: z.output<Input>, context: ToolContext<z.output<Context>>) => unknown)
    | TemporalTarget<z.output<Input>, z.output<Context>>;
  /** For `reconcilable`: finds out whether an earlier attempt with this key was applied. */
  readonly probe?: (
    idempotencyKey: string,
    input: z.output<Input>,
    context: ToolContext<z.output<Context>>,
  ) => Promise<ProbeAnswer>;
}

/** A tool with its defaults filled in and its schema converted; made by `defineTool` or from an MCP server. */
export interface Tool<Context = unknown, Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly effect: ToolEffect;
  /** In words why the tool cannot work with a run's context; undefined if it can. Absent: it needs none. */
  readonly contextProblem?: (context: Context) => string | undefined;
  /** @internal */
  readonly timeoutMs: number;
  /** @internal */
  readonly approval: 'never' | 'always' | 'rule';
  /** @internal */
  readonly approvals: DecisionPolicy | undefined;
  /** @internal */
  readonly runsPrograms?: boolean;
  /** @internal */
  readonly editsFile: string | undefined;
  /** @internal */
  readonly cosmetic: readonly string[];
  /** @internal */
  readonly maxCalls: number | undefined;
  /** @internal */
  readonly onUnknown: OnUnknown;
  /** @internal */
  readonly label: string | undefined;
  /** @internal */
  readonly quick?: boolean;
  /** Outputs hide the machine's paths, as errors do. @internal */
  readonly hidesPaths?: boolean;
  /** The call hands the run over to this agent. @internal */
  readonly handoff?: string;
  /** The call is a run of another agent. @internal */
  readonly subagent?: Omit<SubagentPolicy, 'tools'>;
  /** Checks input: the parsed value, or the problems in words for the model. @internal */
  readonly parse: (input: unknown) => ParsedInput;
  /** @internal */
  readonly needsApproval: (input: unknown, context: ApprovalContext) => boolean;
  /** Parameters of this input, as the model gave it, that the schema marks `privileged`. @internal */
  readonly privilegedIn: (input: JsonObject) => readonly PrivilegedParameter[];
  /** @internal */
  readonly hintFor: (error: unknown, input: unknown, run: RunContext) => string | undefined;
  /** @internal */
  readonly execute: (input: unknown, context: ToolContext) => unknown;
  /** Of a tool whose `execute` only prepares Temporal work: its output, or a throw, once that has ended. @internal */
  readonly readEnd?: (end: WorkEnd) => unknown;
  /** Name of the MCP server that the tool is of. @internal */
  readonly source?: string;
  /** Of a tool whose definition can change while the worker runs: what approvals are bound to beside the call. @internal */
  readonly definitionDigest?: () => string;
  /** Reads that definition again, at its source. @internal */
  readonly readDefinition?: () => Promise<void>;
  /** @internal */
  readonly probe:
    | ((idempotencyKey: string, input: unknown, context: ToolContext) => Promise<ProbeAnswer>)
    | undefined;
}

/** A tool, whatever it needs of a run's context. */
export type AnyTool = Tool<never>;

/** Tools that come and go while a worker runs: an MCP server's. */
export interface ToolSource {
  readonly name: string;
  /** Those that are there now. */
  readonly tools: readonly Tool[];
  /** Of all its tools, those that come later included; `rule` where they differ. */
  readonly approval: 'never' | 'always' | 'rule';
  /** Whether any of them does. */
  readonly runsPrograms: boolean;
  /** Why there are none, in words; undefined once they were listed. */
  readonly problem: string | undefined;
  /** A tool by the name that a run has, even if it is not there now. @internal */
  readonly toolNamed: (name: string) => Tool;
}
