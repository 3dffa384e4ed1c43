/** What the activities of one worker share: its store, its agents, and the definitions they were started with. */
import type { ContentHash } from '../workflows/core/message';
import type { AgentCatalog, AgentPrompt, ResolvedAgent } from './agent-catalog';
import { InfraException } from './infra-exception';
import type { ToolSpec } from './providers/provider';
import { isJsonObject } from './tools/input-schema';
import type { Store } from './store';

/** Dependencies of the activities. */
export interface ActivityDeps {
  readonly store: Store;
  readonly catalog: AgentCatalog;
  readonly clock: () => number;
  /** Definitions read so far, by hash; content-addressed, so never stale. */
  readonly definitions: Map<ContentHash, AgentPrompt>;
}

/** An agent as a run carries it: the stored prompt, and this worker's code for it. */
export interface RunDefinition {
  readonly prompt: AgentPrompt;
  readonly agent: ResolvedAgent;
}

/**
 * The worker's store, if it is the run's.
 *
 * Errors: `store_mismatch`, which leaves the task to a worker that has the run's store.
 */
export function storeOf(deps: ActivityDeps, storeId: string): Store {
  if (deps.store.id === storeId) return deps.store;
  throw new InfraException({
    code: 'store_mismatch',
    message: `This worker opened store ${deps.store.id} (${deps.store.label}), but the run lives in store ${storeId}. Start a worker with HOLDFAST_STORE set to the run's store, or give each store its own task queue.`,
  });
}

function isToolSpec(value: unknown): value is ToolSpec {
  if (typeof value !== 'object' || value === null) return false;
  const { name, description, inputSchema } = value as Record<string, unknown>;
  return (
    typeof name === 'string' && typeof description === 'string' && typeof inputSchema === 'object'
  );
}

function parsePrompt(hash: ContentHash, json: string): AgentPrompt {
  const value: unknown = JSON.parse(json);
  if (isJsonObject(value)) {
    const { agent, system, tools } = value;
    if (
      typeof agent === 'string' &&
      typeof system === 'string' &&
      Array.isArray(tools) &&
      tools.every(isToolSpec)
    )
      return { agent, system, tools };
  }
  throw new InfraException({
    code: 'store_corrupt',
    message: `The definition ${hash} is not an agent's definition.`,
  });
}

/** Definitions kept in memory per worker. */
const keptDefinitions = 256;

async function loadPrompt(deps: ActivityDeps, hash: ContentHash): Promise<AgentPrompt> {
  const known = deps.definitions.get(hash);
  if (known !== undefined) return known;
  const prompt = parsePrompt(hash, (await deps.store.getBlob(hash)).toString('utf8'));
  if (deps.definitions.size >= keptDefinitions) deps.definitions.clear();
  deps.definitions.set(hash, prompt);
  return prompt;
}

/**
 * Loads the definition that a run was started with.
 *
 * Errors: `config_invalid` if this worker does not know the run's agent any more.
 */
export async function loadDefinition(
  deps: ActivityDeps,
  hash: ContentHash,
): Promise<RunDefinition> {
  const prompt = await loadPrompt(deps, hash);
  const agent = deps.catalog.agent(prompt.agent);
  if (agent === undefined)
    throw new InfraException({
      code: 'config_invalid',
      message: `This run's agent "${prompt.agent}" is not among the agents of this worker (${deps.catalog.agentNames().join(', ') || 'none'}). Deploy a worker that has it.`,
    });
  return { prompt, agent };
}
