/** Resolves an agent once at the start of a run: its config snapshot, and the transcript that holds the goal. */
import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import type { HandedLimits, Limits } from '../workflows/core/limits';
import { personTextChars, tenantPattern } from '../workflows/core/limits';
import type { AgentSnapshot, PrepareRunInput, PrepareRunResult } from '../workflows/core/run/ports';
import type { ToolPolicy } from '../workflows/core/tools/ports';
import type { Allowance, CallSpend } from '../workflows/core/budget/spend';
import { usdOf } from '../workflows/core/budget/spend';
import type { Said } from '../workflows/core/message';
import { said } from '../workflows/core/attachments';
import type { Head } from '../workflows/core/message';
import { checkLimits } from './definitions/checks/check-limits';
import type { ActivityDeps } from './definitions/activity-deps';
import { agentNamed, agentNames, storeOf } from './definitions/activity-deps';
import { givenContext, instructionsFor } from './definitions/given-context';
import type { ResolvedAgent } from './definitions/agent-catalog';
import { toolSpecs } from './definitions/agent-catalog';
import { guardrailPolicies, guardrailsOf } from './definitions/guardrail';
import { countAllTokens } from './measure/count-tokens';
import { InfraException } from './lifecycle/infra-exception';
import { knowledgeOfAgent, withAlternatives } from './knowledge/knowledge-of-agent';
import { checkAttachments } from './definitions/checks/check-attachments';
import { sharedClock } from './model-call/shared-health';
import { saidBlocks } from './model-call/said-blocks';
import { appendPending } from './model-call/pending-results';
import { defined, without } from '../workflows/core/json';
import { takePlace } from './definitions/run-places';
import { type CappedTenant, cappedTenant } from './definitions/tenant-caps';
import { runConfigJson } from './definitions/run-config';
import { storeRunFacts } from './definitions/run-facts';
import { allowanceOf, checkBudget, checkPriced } from './definitions/checks/check-budget';
import type { Store } from './stores/store';
import { isJsonObject } from './tools/input-schema';
import { UserError } from './lifecycle/user-error';

async function checkWorkspace(workspace: string | undefined): Promise<string | undefined> {
  if (workspace === undefined) return undefined;
  const found = isAbsolute(workspace)
    ? await stat(workspace).then(
        (stats) => (stats.isDirectory() ? undefined : 'is not a directory'),
        () => "does not exist on this worker's machine",
      )
    : 'is not an absolute path';
  if (found === undefined) return resolve(workspace);
  throw new InfraException({
    code: 'workspace_missing',
    message: `The workspace "${workspace}" ${found}. Give the absolute path of an existing directory.`,
  });
}

function configInvalid(message: string): InfraException {
  return new InfraException({ code: 'config_invalid', message });
}

function agentOf(deps: ActivityDeps, name: string, { underway }: PrepareRunInput): ResolvedAgent {
  if (underway !== undefined) return agentNamed(deps, name);
  const agent = deps.catalog.agents.get(name);
  if (agent !== undefined) return agent;
  throw new InfraException({
    code: 'agent_unknown',
    message: `No agent is called "${name}"; this worker has ${agentNames(deps)}.`,
  });
}

/** The agent that the run was started with, and the one that acts. Copies: their MCP servers may list other tools meanwhile. */
function agentsOf(
  deps: ActivityDeps,
  input: PrepareRunInput,
): { readonly starter: ResolvedAgent; readonly agent: ResolvedAgent } {
  const starter = { ...agentOf(deps, input.agent, input) };
  const { actingAgent = input.agent } = input;
  const isSame = actingAgent === input.agent;
  return { starter, agent: isSame ? starter : { ...agentOf(deps, actingAgent, input) } };
}

/** The limits or the budget of a run, checked as those of an agent are. */
function checkedForRun<Checked>(check: () => Checked): Checked {
  try {
    return check();
  } catch (thrown) {
    if (thrown instanceof UserError) throw configInvalid(thrown.message);
    throw thrown;
  }
}

function limitsOf(agent: ResolvedAgent, input: PrepareRunInput): Limits {
  const wanted = input.limits ?? {};
  const cooldownMs = { ...agent.limits.cooldownMs, ...wanted.cooldownMs };
  const limits = { ...agent.limits, ...wanted, cooldownMs };
  return checkLimits('This run', withinParent(limits, input.parent?.limits));
}

/** A subagent may use what its parent run has left, never more. */
function withinParent(limits: Limits, parent: HandedLimits | undefined): Limits {
  if (parent === undefined) return limits;
  return {
    ...limits,
    maxEvents: Math.min(limits.maxEvents, parent.maxEvents),
    maxToolCalls: Math.min(limits.maxToolCalls, parent.maxToolCalls),
    maxActiveMs: Math.min(limits.maxActiveMs, parent.maxActiveMs),
    maxSubagentDepth: Math.min(limits.maxSubagentDepth, parent.maxSubagentDepth),
    maxEditsPerFile: Math.min(limits.maxEditsPerFile, parent.maxEditsPerFile),
  };
}

/** The task of a subagent, from the store if it is too long to travel. */
async function goalOf(store: Store, { goal, parent }: PrepareRunInput): Promise<string> {
  if (parent?.taskBlob === undefined) return goal;
  const input: unknown = JSON.parse((await store.getBlob(parent.taskBlob)).toString('utf8'));
  const task = isJsonObject(input) ? input['task'] : undefined;
  if (typeof task === 'string') return task;
  throw new InfraException({
    code: 'store_corrupt',
    message: `The stored input ${parent.taskBlob} of a subagent contains no task.`,
  });
}

/** The goal, whose images and files the agent's models take. */
async function checkedGoal(
  { catalog }: ActivityDeps,
  store: Store,
  agent: ResolvedAgent,
  input: PrepareRunInput,
): Promise<string> {
  await checkAttachments(store, agent, catalog.providers, input.attachments);
  return checkGoal(await goalOf(store, input));
}

function checkGoal(goal: string): string {
  if (goal.trim() === '') throw configInvalid('The goal is empty. Say what the agent is to do.');
  if (goal.length <= personTextChars) return goal;
  throw configInvalid(
    `The goal has ${goal.length} characters; at most ${personTextChars} are allowed. Put the material in a file of the workspace.`,
  );
}

function budgetOf(
  deps: ActivityDeps,
  agent: ResolvedAgent,
  input: PrepareRunInput,
  { tenant, daily }: CappedTenant,
): Allowance | undefined {
  const wanted = input.budget && checkBudget('This run', input.budget);
  const allowance = allowanceOf({ ...agent.budget, ...wanted }, input.parent?.allowance);
  const isInMoney = allowance?.nanoUsd !== undefined;
  const chains = deps.subagents?.chainsBelow(agent, deps.catalog.agents) ?? agent.chain;
  checkPriced('This run', isInMoney ? { usd: usdOf(allowance.nanoUsd) } : {}, chains);
  if (daily?.nanoUsd !== undefined)
    checkPriced(`Tenant "${tenant}"`, { usd: usdOf(daily.nanoUsd) }, chains);
  return allowance;
}

/** Refuses names that are not tools with effects; those of a subagent, or of a run that is handed over, were checked when it began. */
function checkRepeatEffects(
  deps: ActivityDeps,
  policies: readonly ToolPolicy[],
  { repeatEffects = [], origins, parent, underway }: PrepareRunInput,
): void {
  if (repeatEffects.length === 0 || parent !== undefined || underway !== undefined) return;
  if (origins === undefined)
    throw configInvalid('repeatEffects is only for a fork or a continued run.');
  const all = deps.subagents?.withToolsBelow(policies, deps.catalog.agents) ?? policies;
  const names = all.flatMap(({ name, effect }) => (effect === 'read' ? [] : [name]));
  const unknown = repeatEffects.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw configInvalid(
      `repeatEffects names ${unknown.map((name) => JSON.stringify(name)).join(', ')}; the tools that change something are ${names.join(', ') || 'none'}.`,
    );
}

/** Whose run it is; absent for the default. */
function tenantOf({ tenant }: PrepareRunInput): string | undefined {
  if (tenant === undefined || tenantPattern.test(tenant)) return tenant;
  throw configInvalid(
    `The tenant ${JSON.stringify(tenant.slice(0, 120))} is not usable; use 1 to 100 letters, digits, "_", "-", ".", "@" and ":".`,
  );
}

/** Whether a run takes a place of its tenant: a subagent has that of its parent run, and a run under way has its own. */
function startsByItself({ parent, underway }: PrepareRunInput): boolean {
  return parent === undefined && underway === undefined;
}

/** What a run may spend, alone and with its tenant's other runs, once there is a place for it. */
async function admittedRun(
  deps: ActivityDeps,
  store: Store,
  agent: ResolvedAgent,
  input: PrepareRunInput,
): Promise<{
  readonly tenant: string | undefined;
  readonly capped: CappedTenant;
  readonly budget: Allowance | undefined;
}> {
  const tenant = tenantOf(input);
  const capped = cappedTenant(deps.tenantCaps, tenant);
  const budget = checkedForRun(() => budgetOf(deps, agent, input, capped));
  if (capped.runs !== undefined && startsByItself(input))
    await takePlace(store, capped.tenant, capped.runs, (await sharedClock(store))());
  return { tenant, capped, budget };
}

/** Asks a model to continue after its own answer: no vendor accepts a request that ends with one. */
const continueText = '(The agent runtime asks you to continue.)';

/** How the transcript continues; undefined if it ends with something to answer. */
async function nextText(
  store: Store,
  { goal, head, message, attachments }: PrepareRunInput,
): Promise<Said | undefined> {
  if (head === undefined || message === undefined) return said(goal, attachments);
  if (message.length > personTextChars)
    throw configInvalid(
      `The message has ${message.length} characters; at most ${personTextChars} are allowed.`,
    );
  if (message.trim() !== '') return said(message, attachments);
  const last = (await store.loadTranscript(head)).at(-1);
  const hasOpenCalls =
    last?.role === 'assistant' && last.blocks.some(({ type }) => type === 'tool-call');
  return last?.role === 'assistant' && !hasOpenCalls ? continueText : undefined;
}

/** Appends the results of open calls to the transcript, and those of the runtime's own behind them; other results are dropped. */
async function withResults(store: Store, input: PrepareRunInput): Promise<PrepareRunInput> {
  const { head, pendingResults = [], runtimeResults = [] } = input;
  if (head === undefined || pendingResults.length + runtimeResults.length === 0) return input;
  const last = (await store.loadTranscript(head)).at(-1);
  const open = new Set(
    last?.role === 'assistant'
      ? last.blocks.flatMap((block) => (block.type === 'tool-call' ? [block.toolCallId] : []))
      : [],
  );
  const fitting = pendingResults.filter(({ toolCallId }) => open.has(toolCallId));
  return {
    ...input,
    head: await appendPending(store, { head, pendingResults: fitting, runtimeResults }),
  };
}

/** The transcript that the run begins with. */
async function firstHead(store: Store, given: PrepareRunInput): Promise<Head> {
  const input = await withResults(store, given);
  const text = await nextText(store, input);
  if (text === undefined && input.head !== undefined) return input.head;
  return store.appendNode(input.head, [
    { role: 'user', ...(await saidBlocks(store, text ?? input.goal)) },
  ]);
}

/** A failure after something was spent reports it, so that it is charged. */
async function withSpend<Result>(
  spend: CallSpend | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (spend === undefined || !(thrown instanceof InfraException)) throw thrown;
    throw new InfraException({ ...thrown.failure, spend });
  }
}

/** What the agent's input guardrails check; undefined if it has none. */
function checkedInput(
  { guardrails }: ResolvedAgent,
  { message = '' }: PrepareRunInput,
  goal: string,
): string | undefined {
  if (guardrailsOf(guardrails, 'input').length === 0) return undefined;
  return message.trim() === '' ? goal : message;
}

/** What the snapshot says of the agents and of the worker. */
function declared(
  deps: ActivityDeps,
  { starter, agent }: ReturnType<typeof agentsOf>,
  policies: readonly ToolPolicy[],
): Omit<AgentSnapshot, 'flags' | 'definition' | 'storeId' | 'limits'> {
  const { name, chain, compaction, recovery, approvals, questions, learns } = agent;
  return {
    agent: name,
    completion: starter.completion,
    chain: chain.map((route) => without(route, 'settings')),
    tools: deps.subagents?.withToolsBelow(policies, deps.catalog.agents) ?? policies,
    compaction,
    recovery,
    ...defined({ approvals, questions, notifiers: deps.notifiersOfRun }),
    ...defined({ guardrails: guardrailPolicies(agent.guardrails, starter.guardrails) }),
    ...defined({ approvers: deps.approvers?.map(({ publicKey }) => publicKey) }),
    ...(learns ? { learns: true } : {}),
  };
}

/**
 * Prepares a run, or the agent that one under way is handed to.
 *
 * Errors: `agent_unknown`, `config_invalid`, `tenant_cap`, `workspace_missing`, `store_mismatch`, `store_unavailable`.
 */
export async function prepareRun(
  deps: ActivityDeps,
  input: PrepareRunInput,
): Promise<PrepareRunResult> {
  const store = storeOf(deps, input.storeId ?? deps.store.id);
  const agents = agentsOf(deps, input);
  const { starter, agent } = agents;
  checkRepeatEffects(deps, [...starter.policies, ...agent.policies], input);
  const limits = checkedForRun(() => limitsOf(starter, input));
  const { tenant, capped, budget } = await admittedRun(deps, store, starter, input);
  const goal = await checkedGoal(deps, store, agent, input);
  const workspace = await checkWorkspace(input.workspace);
  const { own: context, ofRun } = await givenContext(deps, starter, agent, input);
  const instructions = await instructionsFor(agent, { tenant, workspace, context });
  const system = agent.systemWith(instructions, starter);
  const tools = toolSpecs(agent, starter);
  const head = input.underway?.head ?? (await firstHead(store, { ...input, goal }));
  const { knowledge, spend } = await knowledgeOfAgent(deps, agent, limits, {
    allowance: budget,
    capped,
  });
  const policies = withAlternatives(agent.policies, knowledge);
  const definition = await withSpend(spend, () =>
    store.putBlob(
      runConfigJson({
        agent: agent.name,
        system,
        tools,
        completion: starter.completion,
        answer: starter.answer?.inputSchema,
        chain: agent.chain,
        limits,
        compaction: agent.compaction,
        workspace,
        tenant,
        knowledge,
        context,
        input: checkedInput(agent, input, goal),
        startedAs:
          agent === starter ? undefined : { agent: starter.name, ...defined({ context: ofRun }) },
      }),
    ),
  );
  const facts = await storeRunFacts(store, input, definition);
  return {
    head,
    ...defined({ spend }),
    snapshot: {
      ...declared(deps, agents, policies),
      flags: input.flags,
      definition,
      storeId: store.id,
      ...defined({ run: facts, budget }),
      firstTokens: countAllTokens([system, JSON.stringify(tools), goal].join('\n')),
      limits,
      ...defined({ workspace }),
      ...(ofRun === undefined ? {} : { hasContext: true }),
    },
  };
}
