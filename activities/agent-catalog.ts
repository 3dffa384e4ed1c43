/** The agents of a worker, checked at its start: whatever could not work is refused before anything is spent. */
import type { Limits } from '../workflows/core/limits';
import { defaultLimits, defaultToolCompletionIterations } from '../workflows/core/limits';
import type { Completion, RouteConfig, ToolPolicy } from '../workflows/core/ports';
import type { AgentDefinition, RouteDefinition } from './agent';
import { checkLimits } from './check-limits';
import { fenceExplanation } from './fence';
import { windowOf } from './model-windows';
import type { Provider, ToolSpec } from './providers/provider';
import { askUserSpec, completeTaskSpec } from './tools/built-in-tools';
import { readOutput } from './tools/read-output';
import type { ToolRegistry } from './tools/registry';
import { createToolRegistry } from './tools/registry';
import type { Tool } from './tools/tool';
import { UserError } from './user-error';

/** An agent with every default filled in. */
export interface ResolvedAgent {
  readonly name: string;
  readonly completion: Completion;
  readonly chain: readonly RouteConfig[];
  readonly policies: readonly ToolPolicy[];
  readonly limits: Limits;
  readonly registry: ToolRegistry;
  /** Tools that the core answers, by name; only for completion `tool`. */
  readonly coreTools: readonly Tool[];
  /** What the model is told. */
  readonly system: string;
  readonly tools: readonly ToolSpec[];
}

/** Agents and providers by name. */
export interface AgentCatalog {
  agent(name: string): ResolvedAgent | undefined;
  agentNames(): readonly string[];
  provider(name: string): Provider | undefined;
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
    ...(tool.editsFile === undefined ? {} : { editsFile: tool.editsFile }),
    ...(tool.maxCalls === undefined ? {} : { maxCalls: tool.maxCalls }),
    ...(tool.onUnknown === 'ask-person' ? { onUnknown: tool.onUnknown } : {}),
  };
}

function checkWholeNumber(where: string, name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1)
    throw new UserError(`${where}: ${name} is ${value}; give a whole number of at least 1.`);
  return value;
}

function resolveRoute(
  agent: string,
  route: RouteDefinition,
  providers: ReadonlyMap<string, Provider>,
): RouteConfig {
  const where = `Agent "${agent}", route "${route.provider}/${route.model}"`;
  const provider = providers.get(route.provider);
  if (provider === undefined)
    throw new UserError(
      `${where}: no provider is called "${route.provider}"; this worker has ${[...providers.keys()].join(', ') || 'none'}. Give createActivities that provider, or change the chain.`,
    );
  const problem = provider.problem();
  if (problem !== undefined) throw new UserError(`${where}: ${problem}`);
  if (route.model.trim() === '') throw new UserError(`${where}: the model's name is empty.`);
  const windowTokens = route.windowTokens ?? windowOf(route.model);
  if (windowTokens === undefined)
    throw new UserError(
      `${where}: the context window of this model is not known; set windowTokens on the route.`,
    );
  return {
    provider: route.provider,
    model: route.model,
    toolProtocol: route.toolProtocol ?? 'native',
    maxOutputTokens: checkWholeNumber(
      where,
      'maxOutputTokens',
      route.maxOutputTokens ?? defaultMaxOutputTokens,
    ),
    windowTokens: checkWholeNumber(where, 'windowTokens', windowTokens),
    ...(route.temperature === undefined ? {} : { temperature: route.temperature }),
  };
}

function resolveAgent(
  definition: AgentDefinition,
  providers: ReadonlyMap<string, Provider>,
): ResolvedAgent {
  const { name, completion = 'text' } = definition;
  if (!/^[\w.-]{1,100}$/.test(name))
    throw new UserError(
      `Agent name ${JSON.stringify(name)} is not usable; use 1 to 100 letters, digits, "_", "-" and ".".`,
    );
  if (definition.instructions.trim() === '')
    throw new UserError(`Agent "${name}" has no instructions; say what it is for.`);
  if (definition.output !== undefined && completion === 'text')
    throw new UserError(
      `Agent "${name}" has an output schema but completion "text"; set completion: "tool".`,
    );
  const chain = definition.chain.map((route) => resolveRoute(name, route, providers));
  const tools = definition.tools.length > 0 ? [...definition.tools, readOutput] : [];
  const coreTools = completion === 'tool' ? [completeTaskSpec(definition.output), askUserSpec] : [];
  const iterations =
    completion === 'tool' ? { maxIterations: defaultToolCompletionIterations } : {};
  return {
    name,
    completion,
    chain,
    policies: tools.map(toolPolicy),
    limits: checkLimits(`Agent "${name}"`, {
      ...defaultLimits,
      ...iterations,
      ...definition.limits,
    }),
    registry: createToolRegistry(tools),
    coreTools,
    system: systemPrompt(definition, completion),
    tools: [...tools, ...coreTools].map(toolSpec),
  };
}

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
 * Checks and resolves every agent.
 *
 * Errors: `UserError` that names agent, thing, value and remedy: a name twice, an unknown provider, a provider without key,
 * a model without window, a tool that vendors refuse, a limit out of range.
 */
export function createAgentCatalog(
  agents: readonly AgentDefinition[],
  providers: readonly Provider[],
): AgentCatalog {
  const providerByName = byName('Provider', providers);
  const resolved = byName(
    'Agent',
    agents.map((agent) => resolveAgent(agent, providerByName)),
  );
  return {
    agent: (name) => resolved.get(name),
    agentNames: () => [...resolved.keys()],
    provider: (name) => providerByName.get(name),
  };
}
