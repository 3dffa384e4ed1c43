/** What optional features do inside the activities of others. */
import type { ObservedError } from '../../workflows/core/learning/ports';
import type { Message } from '../../workflows/core/message';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { RecoveryAction, RecoveryTrouble } from '../../workflows/core/recovery/action';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { SubagentAnswer, ToolPolicy } from '../../workflows/core/tools/ports';
import type { Store } from '../stores/store';
import type { ResolvedAgent } from './agent-catalog';
import type { RunConfig } from './run-config';

/** A learned fix as a recovery action, and the pattern that it comes from. */
export interface LearnedAction extends RecoveryAction {
  readonly patternId: string;
}

/** The error that a run is stuck on, and where to look for a fix. */
export interface LearnedQuestion {
  readonly config: Pick<RunConfig, 'tenant' | 'tools'>;
  readonly trouble: RecoveryTrouble;
  readonly messages: readonly Message[];
}

/** What learning does inside other activities. Contract: neither rejects because the store is unavailable. */
export interface LearningHooks {
  /** Records errors that have ended. */
  record(
    store: Store,
    config: RunConfig,
    messages: readonly Message[],
    errors: readonly ObservedError[],
  ): Promise<void>;
  /** The best learned fix; undefined if none. */
  suggest(store: Store, question: LearnedQuestion): Promise<LearnedAction | undefined>;
}

/** The agents of a worker by name. */
export type Agents = ReadonlyMap<string, ResolvedAgent>;

/** What subagents add to agents and tool calls. */
interface SubagentHooks {
  /** Errors: `UserError` for a subagent whose agent the worker does not have, or whose models have no known price. */
  check(agents: Agents): void;
  /** Routes of an agent and of every agent below it. */
  chainsBelow(agent: ResolvedAgent, agents: Agents): readonly RouteConfig[];
  /** The policies with the tools that each subagent has. */
  withToolsBelow(policies: readonly ToolPolicy[], agents: Agents): readonly ToolPolicy[];
  /** The text of a subagent's answer. */
  readAnswer(store: Store, answer: SubagentAnswer): Promise<string>;
}

/** Every hook; a hook is absent if its feature is. */
export interface FeatureHooks {
  readonly learning?: LearningHooks;
  readonly subagents?: SubagentHooks;
  /** The notifiers that each run's snapshot names. */
  readonly notifiersOfRun?: AgentSnapshot['notifiers'];
}
