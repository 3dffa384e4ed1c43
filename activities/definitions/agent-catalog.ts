/** The agents of a worker, checked when the worker starts, before anything is spent. */
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { Limits } from '../../workflows/core/limits';
import { defaultLimits, defaultToolCompletionIterations } from '../../workflows/core/limits';
import type { Completion } from '../../workflows/core/run/ports';
import type { DecisionPolicy, ToolPolicy } from '../../workflows/core/tools/ports';
import type { Budget } from '../../workflows/core/budget/spend';
import { answerEndsRun } from '../providers/request/text-tool-protocol';
import type { AgentDefinition, KnowledgeSource } from './agent';
import { byName, liveTools, toolsByName } from './agent-tools';
import { checkDecisionPolicy } from '../tools/check-decision-policy';
import { checkAgentShape } from './checks/check-definition';
import { checkCompaction, checkLimits } from './checks/check-limits';
import { fenceExplanation } from '../untrusted/fence';
import type { PriceTable, WindowTable } from '../models/model-tables';
import { checkWindows } from '../models/model-tables';
import type { Provider, ToolSpec } from '../providers/provider';
import { checkBudget, checkPriced } from './checks/check-budget';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import { defined } from '../../workflows/core/json';
import { resolveRecovery } from './recovery-policy';
import { checkGuardrailNames } from './guardrail';
import type { ResolvedRoute, RouteParts } from './resolve-route';
import { resolveRoute } from './resolve-route';
import { answerSpec, askUserSpec, completeTaskSpec } from '../tools/built-in-tools';
import { readOutput } from '../tools/read-output';
import type { Tool } from '../tools/tool';
import { UserError } from '../lifecycle/user-error';

/** An agent with every default filled in. */
export interface ResolvedAgent {
  readonly name: string;
  readonly completion: Completion;
  readonly chain: readonly ResolvedRoute[];
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
  /** The form of the answer: of completion `text` with an output schema. */
  readonly answer?: Tool;
  readonly instructions: AgentDefinition['instructions'];
  readonly contextSchema: AgentDefinition['context'];
  readonly guardrails: AgentDefinition['guardrails'];
  /** The whole system prompt with these instructions, for a run that ends in this way. */
  readonly systemWith: (instructions: string, form: EndForm) => string;
  readonly tools: readonly ToolSpec[];
  /** A tool that a run has, of an MCP server that does not list it now. */
  readonly absentTool: (name: string) => Tool | undefined;
}

/** Agents and providers by name. */
export interface AgentCatalog {
  readonly agents: ReadonlyMap<string, ResolvedAgent>;
  readonly providers: ReadonlyMap<string, Provider>;
}

const completionText: { readonly [Mode in Completion]: string } = {
  text: answerEndsRun,
  tool: 'Work by calling tools. When the task is done, call complete_task alone: only that ends the run. Call ask_user only for what you cannot find out yourself.',
};

/** How a run of this agent ends, in words: also for models whose vendor enforces the form of the answer. */
function endText({ completion, answer }: EndForm): string {
  return answer === undefined
    ? completionText[completion]
    : `When the task is done, answer with one JSON object of this JSON Schema, without any other text, and call no tool: that ends the run.\n${JSON.stringify(answer.inputSchema)}`;
}

function systemPrompt(
  instructions: string,
  form: EndForm,
  readsOutputs: boolean,
  missing: readonly string[],
): string {
  const parts = [instructions.trim(), endText(form)];
  if (readsOutputs) parts.push(fenceExplanation);
  if (missing.length > 0)
    parts.push(
      `Tools that are not available now: those of ${missing.join(', ')}. Work without them.`,
    );
  return parts.join('\n\n');
}

/** How a run ends. */
type EndForm = Pick<ResolvedAgent, 'completion' | 'answer'>;

/** The tools of a run as the model knows them: those of the agent that acts, and those by which the run ends. */
export function toolSpecs(
  { registry }: Pick<ResolvedAgent, 'registry'>,
  { coreTools }: Pick<ResolvedAgent, 'coreTools'>,
): readonly ToolSpec[] {
  return [...registry.values(), ...coreTools].map(toolSpec);
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
      handoff: tool.handoff,
      approvals: tool.approvals,
      subagent: tool.subagent && { ...tool.subagent, tools: [] },
    }),
  };
}

/** What agents are resolved with. */
interface CatalogParts extends RouteParts {
  /** Names of the agents that runs are handed to: their transcripts hold outputs of other agents' tools. */
  readonly takers: ReadonlySet<string>;
}

/** What an agent says of its tools, which changes when one of its MCP servers lists others. */
type ToolsNow = Pick<
  ResolvedAgent,
  'policies' | 'registry' | 'systemWith' | 'tools' | 'coreTools' | 'absentTool'
>;

/** Follows an agent's tools. Errors: as `toolsByName`, with the first reading. */
function toolsNow(
  definition: AgentDefinition,
  form: EndForm,
  { takers }: CatalogParts,
): () => ToolsNow {
  const readsOutputs = definition.tools.length > 0 || takers.has(definition.name);
  const live = liveTools(definition.tools);
  const { completion } = form;
  const coreTools = completion === 'tool' ? [completeTaskSpec(definition.output), askUserSpec] : [];
  const warned = new Set<string>();
  let known: { readonly of: readonly unknown[]; readonly now: ToolsNow } | undefined;
  const read = (): ToolsNow => {
    const missing = live.missing();
    const given = live.now();
    const of = [...given, ...missing];
    if (known?.of.length === of.length && known.of.every((each, index) => each === of[index]))
      return known.now;
    const { registry, leftOut } = toolsByName(readsOutputs ? [...given, readOutput] : []);
    for (const message of leftOut)
      if (!warned.has(message)) process.emitWarning(message, 'HoldfastWarning');
    for (const message of leftOut) warned.add(message);
    const tools = [...registry.values()];
    const now: ToolsNow = {
      registry,
      coreTools,
      policies: tools.map(toolPolicy),
      tools: toolSpecs({ registry }, { coreTools }),
      systemWith: (instructions, ending) =>
        systemPrompt(instructions, ending, readsOutputs, missing),
      absentTool: live.absent,
    };
    known = { of, now };
    return now;
  };
  read();
  return read;
}

/** A route cools down as a whole, whatever its settings, so a second one of the same name would never be asked. */
function checkRoutesOnce(where: string, chain: AgentDefinition['chain']): void {
  const names = chain.map(({ provider, model }) => `${provider}/${model}`);
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice !== undefined)
    throw new UserError(
      `${where}: chain names "${twice}" twice, and would never fail over to it. Leave one out, or give the other a provider with a \`name\` of its own.`,
    );
}

function resolveAgent(definition: AgentDefinition, parts: CatalogParts): ResolvedAgent {
  checkAgentShape(definition);
  const { name, completion = 'text', output, approvals, questions } = definition;
  const where = `Agent "${name}"`;
  const answer =
    completion === 'text' && output !== undefined ? answerSpec(where, output) : undefined;
  if (definition.context === undefined)
    for (const tool of definition.tools)
      if ('contextProblem' in tool)
        throw new UserError(
          `${where}: tool "${tool.name}" needs a context, but the agent has none; give the agent a \`context\` schema that the tool can read, or leave the tool out.`,
        );
  const chain = definition.chain.map((route) => resolveRoute(name, route, parts));
  checkRoutesOnce(where, definition.chain);
  const budget = definition.budget && checkBudget(where, definition.budget);
  checkPriced(where, budget, chain);
  checkGuardrailNames(where, definition.guardrails);
  const now = toolsNow(definition, defined({ completion, answer }), parts);
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
    ...defined({ budget, answer }),
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
    guardrails: definition.guardrails,
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

/** The agents that an agent may hand its runs to. */
function takersOf({ tools }: AgentDefinition): readonly string[] {
  return tools.flatMap((tool) => ('handoff' in tool ? (tool.handoff ?? []) : []));
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
  const takers = new Set(agents.flatMap(takersOf));
  const parts = { providers: providerByName, prices, windows: checkWindows(windows), takers };
  return {
    agents: byName(
      'Agent',
      agents.map((agent) => resolveAgent(agent, parts)),
    ),
    providers: providerByName,
  };
}
