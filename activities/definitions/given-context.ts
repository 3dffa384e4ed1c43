/** The context of a run as it begins: given by whoever starts it, or taken from the run that it comes from (ADR 0054). */
import type { JsonObject } from '../../workflows/core/json';
import { contextBytes, defaultTenant } from '../../workflows/core/limits';
import type { PrepareRunInput } from '../../workflows/core/run/ports';
import { InfraException } from '../lifecycle/infra-exception';
import { canonicalJson } from '../stores/content-hash';
import { isJsonObject } from '../tools/input-schema';
import type { Tool } from '../tools/tool';
import { contextProblem } from '../tools/tool-run-context';
import type { ActivityDeps } from './activity-deps';
import { currentRunId, loadConfig } from './activity-deps';
import type { ResolvedAgent } from './agent-catalog';
import type { Agents } from './feature-hooks';
import type { RunConfig } from './run-config';

function refuse(agent: ResolvedAgent, problem: string): InfraException {
  return new InfraException({
    code: 'config_invalid',
    message: `Agent "${agent.name}": ${problem}`,
  });
}

function checkBytes(agent: ResolvedAgent, context: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(context));
  if (bytes > contextBytes)
    throw refuse(
      agent,
      `the context has ${bytes} bytes of JSON; at most ${contextBytes} are allowed. Give ids, and let tools read the data.`,
    );
}

/** What the agent's schema makes of a context. Errors: `config_invalid`. */
function readContext(agent: ResolvedAgent, given: unknown): JsonObject | undefined {
  const { contextSchema: schema } = agent;
  if (schema === undefined) return undefined;
  const problem = contextProblem(schema, given);
  if (problem !== undefined)
    throw refuse(
      agent,
      `the context does not fit its schema: ${problem}. Start the run with a \`context\` that does.`,
    );
  const value: unknown = schema.parse(given);
  if (!isJsonObject(value))
    throw refuse(agent, 'the schema of its context makes no object; use z.object({ … }).');
  try {
    // As the store holds it; what JSON cannot carry, such as a Date, is refused.
    canonicalJson(value);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'not JSON';
    throw refuse(
      agent,
      `what the schema makes of the context is not JSON (${why}). Use texts and numbers, and convert them in the tools.`,
    );
  }
  checkBytes(agent, value);
  return value;
}

/** The agent that a tool starts, or hands the run to. */
function otherAgent(
  { subagent, handoff }: Pick<Tool, 'subagent' | 'handoff'>,
  agents: Agents,
): ResolvedAgent | undefined {
  return agents.get(subagent?.agent ?? handoff ?? '');
}

function checkReader(agent: ResolvedAgent, tool: string, problem: string | undefined): void {
  if (problem !== undefined)
    throw refuse(
      agent,
      `its tool "${tool}" cannot read the context: ${problem}. Let the agent's schema ask for what the tool needs.`,
    );
}

/**
 * Refuses a context that a tool, or an agent below or that takes over, could not read: the latter reads what the run was started
 * with. Errors: `config_invalid`.
 */
function checkReaders(
  agent: ResolvedAgent,
  context: JsonObject | undefined,
  agents: Agents,
  above: readonly ResolvedAgent[] = [],
  ofRun = context,
): void {
  const seen = [...above, agent];
  for (const tool of agent.registry.values()) {
    const { name, contextProblem: problemOf, handoff } = tool;
    checkReader(agent, name, context && problemOf?.(context));
    const other = otherAgent(tool, agents);
    if (other === undefined || (handoff === undefined ? above : seen).includes(other)) continue;
    if (handoff === undefined) checkReaders(other, readContext(other, context), agents, seen);
    else checkReaders(other, readContext(other, ofRun), agents, seen, ofRun);
  }
}

/** A context as it was read. */
export interface ReadContext {
  /** By the agent that the run was started with. */
  readonly ofRun: JsonObject | undefined;
  /** By the agent that acts. */
  readonly own: JsonObject | undefined;
}

/** The context of the run that this one comes from: a subagent gets what the agent that calls it reads. */
async function contextFrom(
  deps: ActivityDeps,
  { contextOf, parent, underway }: PrepareRunInput,
): Promise<JsonObject | undefined> {
  if (contextOf === undefined) return undefined;
  const config = await loadConfig(deps, contextOf);
  const isHandedDown = parent !== undefined && underway === undefined;
  const { startedAs = config } = config;
  return (isHandedDown ? config : startedAs).context;
}

/**
 * The context of a run.
 *
 * Contract: a run that takes the context of another one (a subagent, a fork, a continued run) gets what its own agent's schema
 * reads of it; without a schema, nothing. An agent that takes the run over reads what the run was started with.
 * Errors: `config_invalid` with the agent, what does not fit, and the remedy; no value of the context is in it.
 */
export async function givenContext(
  deps: ActivityDeps,
  agent: ResolvedAgent,
  acting: ResolvedAgent,
  input: PrepareRunInput,
): Promise<ReadContext> {
  const { context } = input;
  if (context !== undefined && agent.contextSchema === undefined)
    throw refuse(
      agent,
      'it takes no context. Leave `context` out, or give the agent a `context` schema.',
    );
  if (context !== undefined) checkBytes(agent, context);
  const ofRun = readContext(agent, context ?? (await contextFrom(deps, input)));
  checkReaders(agent, ofRun, deps.catalog.agents);
  return { ofRun, own: acting === agent ? ofRun : readContext(acting, ofRun) };
}

/** The instructions of one run. Errors: `config_invalid`; an `InfraException` of the author's as it is. */
export async function instructionsFor(
  agent: ResolvedAgent,
  {
    tenant = defaultTenant,
    workspace,
    context,
  }: Pick<RunConfig, 'tenant' | 'workspace' | 'context'>,
): Promise<string> {
  const { instructions } = agent;
  if (typeof instructions === 'string') return instructions;
  let text: unknown;
  try {
    text = await instructions({
      runId: currentRunId(),
      agent: agent.name,
      tenant,
      workspace,
      context,
    });
  } catch (thrown) {
    if (thrown instanceof InfraException) throw thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw refuse(agent, `the function \`instructions\` failed: ${why}`);
  }
  if (typeof text === 'string' && text.trim() !== '') return text;
  throw refuse(
    agent,
    `the function \`instructions\` returned ${typeof text === 'string' ? 'an empty text' : typeof text}; it must return what the model is to do.`,
  );
}
