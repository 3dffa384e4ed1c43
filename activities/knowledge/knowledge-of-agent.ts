/** The knowledge of an agent's tools that a run is prepared with. */
import type { ToolPolicy } from '../../workflows/core/ports';
import type { ActivityDeps } from '../activity-deps';
import type { ResolvedAgent } from '../agent-catalog';
import { knowledgeByModel } from './model-knowledge';
import type { KnownTool, ToolKnowledge } from './tool-knowledge';
import { knowledgeByRules } from './tool-knowledge';

/** How knowledge is made: by rules alone, which costs nothing, or by one call of the agent's first route too. */
export type KnowledgeSource = 'rules' | 'model';

function knownTools({ registry }: ResolvedAgent): readonly KnownTool[] {
  return registry.list().map(({ name, description, inputSchema, effect }) => ({
    name,
    description,
    inputSchema,
    effect,
  }));
}

/** Makes it, or takes it from the store. Contract: never rejects. */
export async function knowledgeOfAgent(
  deps: ActivityDeps,
  agent: ResolvedAgent,
): Promise<ToolKnowledge> {
  const tools = knownTools(agent);
  const [route] = agent.chain;
  const provider = route === undefined ? undefined : deps.catalog.provider(route.provider);
  if (agent.knowledge !== 'model' || route === undefined || provider === undefined)
    return knowledgeByRules(tools);
  return knowledgeByModel(deps.store.patterns, provider, route, tools);
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
