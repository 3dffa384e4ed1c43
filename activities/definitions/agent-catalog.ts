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
import { byName, liveTools, toolsByName } from './agent-tools';
import { checkDecisionPolicy } from '../tools/check-decision-policy';
import { checkAgentShape } from './check-definition';
import { checkCompaction, checkLimits } from './check-limits';
import { fenceExplanation } from '../untrusted/fence';
import { priceOf, windowOf } from '../models/model-catalog';
import type { PriceTable, WindowTable } from '../models/model-tables';
import { checkPrices, checkWindows } from '../models/model-tables';
import { mediaOfModel } from '../models/media-by-model';
import { routeMediaOf } from '../providers/request/request-limits';
import type { Provider, ToolSpec } from '../providers/provider';
import { checkBudget, checkPriced } from './check-budget';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import { defined } from '../../workflows/core/json';
import { resolveRecovery } from './recovery-policy';
import { askUserSpec, completeTaskSpec } from '../tools/built-in-tools';
import { readOutput } from '../tools/read-output';
import type { Tool } from '../tools/tool';
import { UserError } from '../lifecycle/user-error';

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
  readonly instructions: AgentDefinition['instructions'];
  readonly contextSchema: AgentDefinition['context'];
  /** The whole system prompt with these instructions. */
  readonly systemWith: (instructions: string) => string;
  readonly tools: readonly ToolSpec[];
  /** A tool that a run has, of an MCP server that does not list it now. */
  readonly absentTool: (name: string) => Tool | undefined;
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

function systemPrompt(
  instructions: string,
  definition: AgentDefinition,
  completion: Completion,
  missing: readonly string[],
): string {
  const parts = [instructions.trim(), completionText[completion]];
  if (definition.tools.length > 0) parts.push(fenceExplanation);
  if (missing.length > 0)
    parts.push(
      `Tools that are not available now: those of ${missing.join(', ')}. Work without them.`,
    );
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
    ...(tool.quick === true ? { quick: true } : {}),
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
    media: routeMediaOf(route.media ?? mediaOfModel(provider.vendor, route.model), provider.wire),
    ...(route.onRefusedRequest === 'end-run' ? { onRefusedRequest: 'end-run' } : {}),
    ...defined({ temperature: route.temperature, thinkingMs: route.thinkingMs, price }),
  };
}

/** What an agent says of its tools, which changes when one of its MCP servers lists others. */
type ToolsNow = Pick<
  ResolvedAgent,
  'policies' | 'registry' | 'systemWith' | 'tools' | 'coreTools' | 'absentTool'
>;

/** Follows an agent's tools. Errors: as `toolsByName`, with the first reading. */
function toolsNow(definition: AgentDefinition, completion: Completion): () => ToolsNow {
  const live = liveTools(definition.tools);
  const coreTools = completion === 'tool' ? [completeTaskSpec(definition.output), askUserSpec] : [];
  const warned = new Set<string>();
  let known: { readonly of: readonly unknown[]; readonly now: ToolsNow } | undefined;
  const read = (): ToolsNow => {
    const missing = live.missing();
    const given = live.now();
    const of = [...given, ...missing];
    if (known?.of.length === of.length && known.of.every((each, index) => each === of[index]))
      return known.now;
    const { registry, leftOut } = toolsByName(
      definition.tools.length > 0 ? [...given, readOutput] : [],
    );
    for (const message of leftOut)
      if (!warned.has(message)) process.emitWarning(message, 'HoldfastWarning');
    for (const message of leftOut) warned.add(message);
    const tools = [...registry.values()];
    const now: ToolsNow = {
      registry,
      coreTools,
      policies: tools.map(toolPolicy),
      tools: [...tools, ...coreTools].map(toolSpec),
      systemWith: (instructions) => systemPrompt(instructions, definition, completion, missing),
      absentTool: live.absent,
    };
    known = { of, now };
    return now;
  };
  read();
  return read;
}

function resolveAgent(definition: AgentDefinition, parts: CatalogParts): ResolvedAgent {
  checkAgentShape(definition);
  const { name, completion = 'text', approvals, questions } = definition;
  const where = `Agent "${name}"`;
  if (definition.output !== undefined && completion === 'text')
    throw new UserError(
      `${where} has an output schema but completion "text"; set completion: "tool".`,
    );
  if (definition.context === undefined)
    for (const tool of definition.tools)
      if ('contextProblem' in tool)
        throw new UserError(
          `${where}: tool "${tool.name}" needs a context, but the agent has none; give the agent a \`context\` schema that the tool can read, or leave the tool out.`,
        );
  const chain = definition.chain.map((route) => resolveRoute(name, route, parts));
  const budget = definition.budget && checkBudget(where, definition.budget);
  checkPriced(where, budget, chain);
  const now = toolsNow(definition, completion);
  const iterations =
    completion === 'tool' ? { maxIterations: defaultToolCompletionIterations } : {};
  return {
    name,
    completion,
    chain,
    get policies() {
      return now().policies;
    },
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
    get registry() {
      return now().registry;
    },
    instructions: definition.instructions,
    contextSchema: definition.context,
    learns: definition.patterns !== 'off',
    knowledge: definition.knowledge ?? 'rules',
    coreTools: now().coreTools,
    get systemWith() {
      return now().systemWith;
    },
    get tools() {
      return now().tools;
    },
    absentTool: now().absentTool,
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
