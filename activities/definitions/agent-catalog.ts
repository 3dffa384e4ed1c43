/** The agents of a worker, checked when the worker starts, before anything is spent. */
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { Limits } from '../../workflows/core/limits';
import { defaultLimits, defaultToolCompletionIterations } from '../../workflows/core/limits';
import type { Completion } from '../../workflows/core/run/ports';
import type { DecisionPolicy, ToolPolicy } from '../../workflows/core/tools/ports';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { Budget } from '../../workflows/core/budget/spend';
import type { AgentDefinition, KnowledgeSource, RouteDefinition } from './agent';
import { checkDecisionPolicy } from '../tools/check-decision-policy';
import { checkAgentShape } from './check-definition';
import { checkCompaction, checkLimits } from './check-limits';
import { fenceExplanation } from '../untrusted/fence';
import { priceOf, windowOf } from '../models/model-catalog';
import type { PriceTable, WindowTable } from '../models/model-tables';
import { checkPrices, checkWindows } from '../models/model-tables';
import type { Provider, ToolSpec } from '../providers/provider';
import { checkBudget, checkPriced } from './check-budget';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import { defined } from '../../workflows/core/json';
import { resolveRecovery } from './recovery-policy';
import { askUserSpec, completeTaskSpec, reservedToolNames } from '../tools/built-in-tools';
import { readOutput } from '../tools/read-output';
import type { Tool } from '../tools/tool';
import { UserError } from '../lifecycle/user-error';
import { checkToolName } from '../tools/define-tool';

/** Tools that OpenAI accepts in one request; more get 400 (`array_above_max_length`). Two belong to the runtime. */
const maxTools = 128 - reservedToolNames.length;

/** Entries by name. Errors: `UserError` for a name that is given twice. */
function byName<Named extends { readonly name: string }>(
  what: string,
  entries: readonly Named[],
): ReadonlyMap<string, Named> {
  const map = new Map<string, Named>();
  for (const entry of entries) {
    if (map.has(entry.name))
      throw new UserError(`${what} "${entry.name}" is given twice; names must be unique.`);
    map.set(entry.name, entry);
  }
  return map;
}

/**
 * An agent's tools by name.
 *
 * Errors: `UserError` for a duplicate or reserved name, a name that vendors refuse, or more tools than they accept.
 */
export function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  for (const { name } of tools) {
    checkToolName(name);
    if (reservedToolNames.includes(name))
      throw new UserError(
        `Tool name "${name}" belongs to the runtime; give your tool another name.`,
      );
  }
  if (tools.length > maxTools)
    throw new UserError(
      `${tools.length} tools are more than the ${maxTools} that OpenAI accepts; give the agent fewer.`,
    );
  return byName('Tool', tools);
}

/** An agent with every default filled in. */
export interface ResolvedAgent {
  readonly name: string;
  readonly completion: Completion;
  readonly chain: readonly RouteConfig[];
  readonly policies: readonly ToolPolicy[];
  readonly limits: Limits;
  readonly budget?: Budget;
  readonly approvals: DecisionPolicy | undefined;
  readonly questions: DecisionPolicy | undefined;
  readonly compaction: CompactionConfig;
  readonly recovery: RecoveryPolicy;
  readonly registry: ReadonlyMap<string, Tool>;
  /** Whether its runs learn. */
  readonly learns: boolean;
  readonly knowledge: KnowledgeSource;
  /** Tools that the core answers, by name; only for completion `tool`. */
  readonly coreTools: readonly Tool[];
  /** Instructions for the model. */
  readonly system: string;
  readonly tools: readonly ToolSpec[];
}

/** Agents and providers by name. */
export interface AgentCatalog {
  readonly agents: ReadonlyMap<string, ResolvedAgent>;
  readonly providers: ReadonlyMap<string, Provider>;
}

/** Default limit of one reply in tokens (ADR 0009). */
const defaultMaxOutputTokens = 8_192;

const completionText: { readonly [Mode in Completion]: string } = {
  text: 'When the task is done, answer with plain text and call no tool: that ends the run.',
  tool: 'Work by calling tools. When the task is done, call complete_task alone: only that ends the run. Call ask_user only for what you cannot find out yourself.',
};

function systemPrompt(definition: AgentDefinition, completion: Completion): string {
  const parts = [definition.instructions.trim(), completionText[completion]];
  if (definition.tools.length > 0) parts.push(fenceExplanation);
  return parts.join('\n\n');
}

function toolSpec({ name, description, inputSchema }: Tool): ToolSpec {
  return { name, description, inputSchema };
}

function toolPolicy(tool: Tool): ToolPolicy {
  return {
    name: tool.name,
    effect: tool.effect,
    timeoutMs: tool.timeoutMs,
    approval: tool.approval,
    ...defined({ editsFile: tool.editsFile, maxCalls: tool.maxCalls }),
    ...(tool.onUnknown === 'ask-person' ? { onUnknown: tool.onUnknown } : {}),
    ...defined({
      approvals: tool.approvals,
      subagent: tool.subagent && { ...tool.subagent, tools: [] },
    }),
  };
}

/** What agents are resolved with. */
interface CatalogParts {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly prices: PriceTable;
  readonly windows: WindowTable;
}

function resolveRoute(
  agent: string,
  route: RouteDefinition,
  { providers, prices, windows }: CatalogParts,
): RouteConfig {
  const where = `Agent "${agent}", route "${route.provider}/${route.model}"`;
  const provider = providers.get(route.provider);
  if (provider === undefined)
    throw new UserError(
      `${where}: no provider is called "${route.provider}"; this worker has ${[...providers.keys()].join(', ') || 'none'}. Give createActivities that provider, or change the chain.`,
    );
  const problem = provider.problem();
  if (problem !== undefined) throw new UserError(`${where}: ${problem}`);
  const windowTokens = route.windowTokens ?? windowOf(route.provider, route.model, windows);
  if (windowTokens === undefined)
    throw new UserError(
      `${where}: the context window of this model is not known; set windowTokens on the route, or give createActivities a row of windows.`,
    );
  const price =
    route.prices === undefined
      ? priceOf(route.provider, route.model, prices)
      : checkPrices(`${where}, prices`, route.prices);
  return {
    provider: route.provider,
    model: route.model,
    toolProtocol: route.toolProtocol ?? 'native',
    maxOutputTokens: route.maxOutputTokens ?? defaultMaxOutputTokens,
    windowTokens,
    ...(route.onRefusedRequest === 'end-run' ? { onRefusedRequest: 'end-run' } : {}),
    ...defined({ temperature: route.temperature, price }),
  };
}

function resolveAgent(definition: AgentDefinition, parts: CatalogParts): ResolvedAgent {
  checkAgentShape(definition);
  const { name, completion = 'text', approvals, questions } = definition;
  const where = `Agent "${name}"`;
  if (definition.output !== undefined && completion === 'text')
    throw new UserError(
      `${where} has an output schema but completion "text"; set completion: "tool".`,
    );
  const chain = definition.chain.map((route) => resolveRoute(name, route, parts));
  const budget = definition.budget && checkBudget(where, definition.budget);
  checkPriced(where, budget, chain);
  const tools = definition.tools.length > 0 ? [...definition.tools, readOutput] : [];
  const coreTools = completion === 'tool' ? [completeTaskSpec(definition.output), askUserSpec] : [];
  const iterations =
    completion === 'tool' ? { maxIterations: defaultToolCompletionIterations } : {};
  return {
    name,
    completion,
    chain,
    policies: tools.map(toolPolicy),
    limits: checkLimits(where, {
      ...defaultLimits,
      ...iterations,
      ...definition.limits,
    }),
    ...defined({ budget }),
    approvals: approvals && checkDecisionPolicy(`${where}: approvals`, approvals),
    questions: questions && checkDecisionPolicy(`${where}: questions`, questions),
    compaction: checkCompaction(where, {
      ...defaultCompaction,
      ...definition.compaction,
    }),
    recovery: resolveRecovery(where, definition.recovery),
    registry: toolsByName(tools),
    learns: definition.patterns !== 'off',
    knowledge: definition.knowledge ?? 'rules',
    coreTools,
    system: systemPrompt(definition, completion),
    tools: [...tools, ...coreTools].map(toolSpec),
  };
}

/**
 * Checks and resolves every agent.
 *
 * Errors: `UserError` that names agent, thing, value and remedy: a name twice, an unknown provider, a provider without key,
 * a model without window, a tool that vendors refuse, a limit or budget out of range, a model without price under a budget in
 * money.
 */
export function createAgentCatalog(
  agents: readonly AgentDefinition[],
  providers: readonly Provider[],
  prices: PriceTable = {},
  windows: WindowTable = {},
): AgentCatalog {
  const providerByName = byName('Provider', providers);
  const parts = { providers: providerByName, prices, windows: checkWindows(windows) };
  return {
    agents: byName(
      'Agent',
      agents.map((agent) => resolveAgent(agent, parts)),
    ),
    providers: providerByName,
  };
}
