/** The knowledge of an agent's tools that a run is prepared with. */
import { Context } from '@temporalio/activity';
import type { ToolPolicy } from '../../workflows/core/tools/ports';
import { readOutputTool } from '../../workflows/core/tools/ports';
import type { Allowance } from '../../workflows/core/budget/spend';
import type { ActivityDeps } from '../definitions/activity-deps';
import type { ResolvedAgent } from '../definitions/agent-catalog';
import { isJsonObject } from '../tools/input-schema';
import type { MadeKnowledge } from './model-knowledge';
import { knowledgeByModel } from './model-knowledge';
import type { KnownTool, ToolKnowledge } from '../definitions/tool-knowledge';
import { knowledgeByRules } from './knowledge-by-rules';

function knownTools({ registry }: ResolvedAgent): readonly KnownTool[] {
  // What `read_output` can read, only the conversation says; it does the work of no other tool.
  const ofAgent = registry.list().filter(({ name }) => name !== readOutputTool);
  return ofAgent.map(({ name, description, inputSchema, effect }) => ({
    name,
    description,
    inputSchema,
    effect,
  }));
}

/** Earlier attempts of this activity that asked a model, as heartbeat details report them. */
function attemptsThatAsked(details: unknown): number {
  const asked = isJsonObject(details) ? details['askedForKnowledge'] : undefined;
  return typeof asked === 'number' ? asked : 0;
}

/**
 * Creates it, or reads it from the store; reports what it cost, within the run's budget.
 *
 * Contract: called in an activity. Never rejects.
 */
export async function knowledgeOfAgent(
  deps: ActivityDeps,
  agent: ResolvedAgent,
  allowance: Allowance | undefined,
): Promise<MadeKnowledge> {
  const tools = knownTools(agent);
  const [route] = agent.chain;
  const provider = route === undefined ? undefined : deps.catalog.provider(route.provider);
  if (agent.knowledge !== 'model' || route === undefined || provider === undefined)
    return { knowledge: knowledgeByRules(tools) };
  const context = Context.current();
  const lostAttempts = attemptsThatAsked(context.info.heartbeatDetails);
  return knowledgeByModel({
    store: deps.store.patterns,
    provider,
    route,
    tools,
    allowance,
    lostAttempts,
    asking: () => {
      context.heartbeat({ askedForKnowledge: lostAttempts + 1 });
    },
  });
}

/** The tools' policies with the alternatives that the core may suggest. */
export function withAlternatives(
  policies: readonly ToolPolicy[],
  { alternatives }: ToolKnowledge,
): readonly ToolPolicy[] {
  return policies.map((policy) => {
    const others = alternatives[policy.name];
    return others === undefined ? policy : { ...policy, alternatives: others };
  });
}
