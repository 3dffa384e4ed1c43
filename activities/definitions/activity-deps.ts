/** What the activities of one worker share: its store, its agents, and the definitions they were started with. */
import { asyncLocalStorage } from '@temporalio/activity';
import type { Activities } from '../../workflows/core/activities';
import { defined, without } from '../../workflows/core/json';
import type { ContentHash } from '../../workflows/core/message';
import type { RunFacts } from '../../workflows/core/run/ports';
import type { AgentCatalog, ResolvedAgent } from './agent-catalog';
import type { Approver } from './approvers';
import { InfraException } from '../lifecycle/infra-exception';
import type { ActivitiesConfig } from './activities-config';
import type { FeatureHooks } from './feature-hooks';
import type { RunConfig } from './run-config';
import { parseRunConfig } from './run-config';
import type { TenantCapTable } from './tenant-caps';
import type { Store } from '../stores/store';
import { thisWorker } from '../lifecycle/worker-identity';

/** Dependencies of the activities. */
export interface ActivityDeps extends FeatureHooks {
  readonly store: Store;
  readonly catalog: AgentCatalog;
  readonly clock: () => number;
  /** Who may decide on approvals; absent: decisions need no signature. */
  readonly approvers?: readonly Approver[];
  /** What tenants may use; absent: no caps. */
  readonly tenantCaps?: TenantCapTable;
  /** Definitions read so far, by hash; content-addressed, so never stale. */
  readonly definitions: Map<ContentHash, RunConfig>;
  /** Facts of runs read so far, likewise. */
  readonly runs: Map<ContentHash, RunFacts>;
}

/** An optional feature: one entry of the list in `activities/index.ts`. No other room imports its room. */
export interface Feature {
  /** What it makes of the agents, before they are checked. Errors: `UserError`. */
  readonly agents?: (given: ActivitiesConfig['agents']) => ActivitiesConfig['agents'];
  /** Errors: `UserError` for options of the feature that cannot work. */
  readonly hooks?: (config: ActivitiesConfig) => FeatureHooks;
  /** The activities that it implements. */
  readonly activities?: (deps: ActivityDeps, config: ActivitiesConfig) => Partial<Activities>;
}

/** An agent as a run carries it: the stored config, and this worker's code for it. */
export interface RunDefinition {
  readonly config: RunConfig;
  readonly agent: ResolvedAgent;
  /** The workflow's id. */
  readonly runId: string;
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

/** Names of the worker's agents, for messages. */
export function agentNames({ catalog }: ActivityDeps): string {
  return [...catalog.agents.keys()].join(', ') || 'none';
}

/** The id of the workflow that the current activity is of; empty outside of an activity, as in unit tests. */
export function currentRunId(): string {
  return asyncLocalStorage.getStore()?.info.workflowExecution?.workflowId ?? '';
}

/** Definitions kept in memory per worker. */
const keptDefinitions = 256;

/** Loads what a run was started with. Errors: as `Store.getBlob`; `store_corrupt`. */
export async function loadConfig(deps: ActivityDeps, hash: ContentHash): Promise<RunConfig> {
  const known = deps.definitions.get(hash);
  if (known !== undefined) return known;
  const config = parseRunConfig(hash, (await deps.store.getBlob(hash)).toString('utf8'));
  if (deps.definitions.size >= keptDefinitions) deps.definitions.clear();
  deps.definitions.set(hash, config);
  return config;
}

/** An agent of a run under way. Errors: `worker_mismatch` if this worker does not know it. */
export function agentNamed(deps: ActivityDeps, name: string): ResolvedAgent {
  const agent = deps.catalog.agents.get(name);
  if (agent !== undefined) return agent;
  throw new InfraException({
    code: 'worker_mismatch',
    message: `${thisWorker()} lacks this run's agent "${name}"; it has ${agentNames(deps)}. Deploy a worker that has it.`,
  });
}

/**
 * Loads the definition that a run was started with.
 *
 * Errors: `worker_mismatch` if this worker does not know the run's agent: it leaves the task to one that does.
 */
export async function loadDefinition(
  deps: ActivityDeps,
  hash: ContentHash,
): Promise<RunDefinition> {
  const config = await loadConfig(deps, hash);
  const acting = agentNamed(deps, config.agent);
  const { startedAs } = config;
  if (startedAs === undefined) return { config, agent: acting, runId: currentRunId() };
  const { coreTools, answer } = agentNamed(deps, startedAs.agent);
  const agent = { ...without(acting, 'answer'), coreTools, ...defined({ answer }) };
  return { config, agent, runId: currentRunId() };
}
