/** How people define agents: instructions, a chain of routes, tools and limits. */
import type { z } from 'zod';
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import type { Limits } from '../../workflows/core/limits';
import type { Completion } from '../../workflows/core/run/ports';
import type { DecisionPolicy } from '../../workflows/core/tools/ports';
import type { Budget } from '../../workflows/core/budget/spend';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import type { PriceDefinition } from '../models/model-tables';
import type { ModelSettings } from '../providers/settings/model-settings';
import type { AgentType } from '../../workflows/core/typed-agent';
import type { AnyTool, ApprovalContext, RunContext, ToolSource } from '../tools/tool';
import type { Guardrails } from './guardrail';

/** Where a route leads, and its limits. */
interface RoutePlace {
  readonly provider: string;
  readonly model: string;
  /** `text` for models without native tool calls. Default `native`. */
  readonly toolProtocol?: 'native' | 'text';
  /**
   * Limit of one reply in tokens, its reasoning included. Default 8,192, beside a budget of reasoning if there is one; 32,768, but
   * at most a quarter of the window, with an effort of `medium` or more.
   */
  readonly maxOutputTokens?: number;
  /** Context window in tokens; needed for models that the window table does not know. */
  readonly windowTokens?: number;
  /**
   * What happens if the vendor refuses the request itself (`format`, `content_filter`): by default the next provider of the
   * chain is asked once. `end-run` is for content that must not go to another vendor. Default `ask-next-provider`.
   */
  readonly onRefusedRequest?: 'ask-next-provider' | 'end-run';
  /**
   * Milliseconds that the model may go without a piece of content while its server shows that it is alive, or that it thinks.
   * Default `limits.thinkingMs` (300,000). Node ends an answer that sends no byte for 300,000 ms in any case.
   */
  readonly thinkingMs?: number;
  /**
   * What the model takes beside text. Default: by its vendor and name; of models that are not known, images. What it does not take
   * is replaced by a note, and a run whose files no route takes is refused at its start.
   */
  readonly media?: readonly ('image' | 'pdf')[];
  /** What the model costs; needed under a budget in money for models that the price table does not know. */
  readonly prices?: PriceDefinition;
}

/** One route of a chain, as people write it: where it leads, and what it asks of the model there. */
export type RouteDefinition = RoutePlace & ModelSettings;

/** How knowledge of tools is made: by rules alone, which costs nothing, or also by one call of the agent's first route. */
export type KnowledgeSource = 'rules' | 'model';

/**
 * Makes the instructions of one run.
 *
 * Errors: `InfraException` as it is; anything else that it throws ends the run as `config_invalid`.
 */
type Instructions<Context> = {
  // A method, so that an agent with any context is an agent.
  of(run: RunContext<Context>): string | Promise<string>;
}['of'];

/** A handoff, where its tool needs more than the agent's name. */
export interface HandoffDefinition<Context = unknown> {
  /** One of the worker's agents, or its name. */
  readonly agent: AgentType | string;
  /** When to hand over to it, for the model. */
  readonly description?: string;
  /** As that of a tool. */
  readonly approval?:
    | 'never'
    | 'always'
    // A method, so that an agent with any context is an agent.
    | {
        rule(input: { readonly reason: string }, context: ApprovalContext<Context>): boolean;
      }['rule'];
  /** Handoffs to it in one run. Default 5. */
  readonly maxCalls?: number;
}

/** An agent that a run may be handed to: its definition, its name, or either with more about the tool. */
export type Handoff<Context = unknown> = AgentType | string | HandoffDefinition<Context>;

/** An agent as its author writes it. Resolved once at the start of a run; a later deploy changes new runs only. */
export interface AgentDefinition<
  Name extends string = string,
  Context extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Tools extends readonly (AnyTool | ToolSource)[] = readonly (AnyTool | ToolSource)[],
> {
  readonly name: Name;
  /** A text, or what makes one at the start of each run; the run keeps what it returned. */
  readonly instructions: string | Instructions<z.output<Context>>;
  /**
   * Schema of the run's context: an object of the caller's data for tools, approval rules, hints and instructions, which the model
   * does not see. What the schema makes of it must be JSON. Default: runs have no context.
   */
  readonly context?: Context;
  /** First is the primary; the others take over in this order. */
  readonly chain: readonly [RouteDefinition, ...RouteDefinition[]];
  /** A tool, or an MCP server with all of its tools as they come and go: what `connectMcp` returned. */
  readonly tools: Tools;
  /**
   * Agents that may take a run over: each is a tool `transfer_to_<agent>` for the model. The run goes on with its transcript, limits
   * and budget, and with the other agent's instructions, tools and chain; it ends as the agent says with which it was started.
   */
  readonly handoffs?: readonly Handoff<z.output<Context>>[];
  /** Checks of what the agent is asked, and of what its runs answer. */
  readonly guardrails?: Guardrails<z.output<Context>, z.output<Output>>;
  /** Default `text`. */
  readonly completion?: Completion;
  /**
   * Schema of the run's output. Completion `tool`: of `complete_task`'s `result`. Completion `text`: of the answer, which is one JSON
   * object. Where the vendor can, it enforces the form; in any case it is checked here, and the model corrects what does not fit.
   */
  readonly output?: Output;
  /** Limits of its runs. Those that a run is started with replace them, field by field. */
  readonly limits?: Partial<Limits>;
  /** What each run may spend, its subagents included. A run's own budget replaces it, field by field. */
  readonly budget?: Budget;
  /** How long approvals wait, and what happens then. Default: no limit. A tool can override it. */
  readonly approvals?: DecisionPolicy;
  /** The same for the questions of `ask_user`. */
  readonly questions?: DecisionPolicy;
  /**
   * Whether calls of tools that start programs (`run_command`) need approval beyond the tools' own rules: such a program can reach
   * Temporal, and decide what a person should decide. `ask`: each call needs approval. `may-approve`: you accept that programs can
   * approve in a person's place. Default: `ask` if an agent of the worker has approvals and the worker no `approvers`; else only
   * the tools' own rules hold. A sandboxed `run_command` starts no such programs.
   */
  readonly programs?: 'ask' | 'may-approve';
  /** Whether its runs record their errors and use learned patterns. Default `on`. */
  readonly patterns?: 'on' | 'off';
  /**
   * Source of hints and alternatives for tools whose authors wrote none: rules, which cost nothing (default), or also one call
   * of the first route, made once per set of tools and stored.
   */
  readonly knowledge?: KnowledgeSource;
  /** When and how a long conversation is compacted. */
  readonly compaction?: Partial<CompactionConfig>;
  /** How its runs recover when they are stuck. */
  readonly recovery?: Partial<RecoveryPolicy>;
}
