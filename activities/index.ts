/** Entry of `holdfast/activities`: the composition root of the activities, and what people define agents with. */
import type { Activities } from '../workflows/core/activities';
import type { AgentDefinition } from './definitions/agent';
import { createAgentCatalog } from './definitions/agent-catalog';
import { checkIsStore } from './definitions/check-definition';
import { boundaryFailure } from './lifecycle/error-mapping';
import type { ActivityDeps } from './definitions/activity-deps';
import { callModel } from './call-model';
import { checkEdit } from './check-edit';
import type { PriceTable, WindowTable } from './models/model-tables';
import { withHeartbeat, withQueueTime } from './lifecycle/activity-lifecycle';
import { extractPatterns } from './extract-patterns';
import { recordObservations } from './record-observations';
import type { NotifierOptions } from './notifiers/worker-notifiers';
import { workerNotifiers } from './notifiers/worker-notifiers';
import { notify } from './notify';
import { compact } from './compact';
import { prepareRun } from './prepare-run';
import type { Provider } from './providers/provider';
import { planRecovery } from './plan-recovery';
import { runTool } from './run-tool';
import type { Store } from './stores/store';

/** What a worker's activities are made of. */
export interface ActivitiesConfig extends NotifierOptions {
  readonly store: Store;
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
  /** What models cost, before the built-in list: by the beginning of a model's name, or of `provider/model`. */
  readonly prices?: PriceTable;
  /** Windows of models in tokens, before the built-in list: by the beginning of a model's name. */
  readonly windows?: WindowTable;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/** A short activity, whose failures cross the boundary as every other's. */
async function crossing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw boundaryFailure(thrown);
  }
}

/**
 * Makes the activities of one worker.
 *
 * Errors: `UserError` at once for whatever could not work in a run: names given twice, unknown providers, missing keys,
 * unknown windows, tools that vendors refuse, limits out of range.
 */
export function createActivities(config: ActivitiesConfig): Activities {
  checkIsStore(config.store);
  const deps: ActivityDeps = {
    store: config.store,
    catalog: createAgentCatalog(config.agents, config.providers, config.prices, config.windows),
    clock: config.clock ?? Date.now,
    notifiers: workerNotifiers(config),
    definitions: new Map(),
  };
  return {
    prepareRun: (input) => crossing(() => prepareRun(deps, input)),
    callModel: (input) => withQueueTime(deps.clock, () => callModel(deps, input)),
    compact: (input) => withQueueTime(deps.clock, () => compact(deps, input)),
    runTool: (input) => withQueueTime(deps.clock, () => runTool(deps, input)),
    checkEdit: (input) => crossing(() => checkEdit(deps, input)),
    notify: (input) => notify(deps, input),
    recordObservations: (input) => recordObservations(deps, input),
    extractPatterns: () =>
      withHeartbeat(
        () => undefined,
        () => extractPatterns(deps.store.patterns, deps.clock()),
      ),
    planRecovery: (input) => withQueueTime(deps.clock, () => planRecovery(deps, input)),
  } satisfies Activities;
}

export type { Activities } from '../workflows/core/activities';
export type { Limits } from '../workflows/core/limits';
export type { DecisionPolicy } from '../workflows/core/tools/ports';
export type { Budget } from '../workflows/core/budget/spend';
export type { AgentDefinition, RouteDefinition } from './definitions/agent';
export type { PriceDefinition, PriceTable, WindowTable } from './models/model-tables';
export { InfraException } from './lifecycle/infra-exception';
export { logNotifier } from './notifiers/log-notifier';
export type { Notification, Notifier } from './definitions/notifier';
export { NotifierError } from './definitions/notifier';
export type { SlackOptions } from './notifiers/slack-notifier';
export { slackNotifier } from './notifiers/slack-notifier';
export type { WebhookOptions } from './notifiers/webhook-notifier';
export { webhookNotifier } from './notifiers/webhook-notifier';
export type { Provider } from './providers/provider';
export { anthropicProvider } from './providers/anthropic/anthropic-provider';
export { openaiProvider } from './providers/openai/openai-provider';
export { presetProvider } from './providers/presets';
export type { Store } from './stores/store';
export { openStore } from './stores/open-store';
export type { SubagentDefinition } from './subagents/define-subagent';
export { defineSubagent } from './subagents/define-subagent';
export { defineTool } from './tools/define-tool';
export type { McpOptions, McpTools } from './tools/mcp/connect-mcp';
export { connectMcp } from './tools/mcp/connect-mcp';
export type { ApprovalContext, ProbeAnswer, Tool, ToolContext, ToolDefinition } from './tools/tool';
export type { RecoveryOptions } from './definitions/recovery-policy';
export { ToolError } from './tools/tool-error';
export type { WorkspaceToolsOptions } from './tools/workspace/workspace-tools';
export { workspaceTools } from './tools/workspace/workspace-tools';
export { UserError } from './lifecycle/user-error';
