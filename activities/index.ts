/** The composition root of the activities, and what people define agents with: a part of the entry `holdfast`. */
import type { Activities } from '../workflows/core/activities';
import { defined } from '../workflows/core/json';
import { callModel } from './call-model';
import { checkEdit } from './check-edit';
import { checkGuardrails } from './check-guardrails';
import { compact } from './compact';
import type { ActivitiesConfig } from './definitions/activities-config';
import type { ActivityDeps, Feature } from './definitions/activity-deps';
import { createAgentCatalog } from './definitions/agent-catalog';
import { approversFrom } from './definitions/approvers';
import { checkActivitiesConfig } from './definitions/checks/check-activities-config';
import { guardPrograms } from './definitions/guard-programs';
import { noteEncryption } from './encryption/encryption-shape';
import { learning } from './learning/learning';
import { withQueueTime } from './lifecycle/activity-lifecycle';
import { applicationFailure, boundaryFailure } from './lifecycle/error-mapping';
import { notifiers } from './notifiers/notifiers';
import { recoveryPlanner } from './plan-recovery';
import { prepareRun } from './prepare-run';
import { runTool } from './run-tool';
import { subagents } from './subagents/subagents';

/** The optional features. `docs/architecture.md` says how to remove one. */
const features: Readonly<Record<string, Feature>> = {
  learning,
  notifiers,
  recoveryPlanner,
  subagents,
};

/** Runs a short activity that needs no heartbeat, and maps its failures. */
async function crossing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw boundaryFailure(thrown);
  }
}

/** An activity of a feature that this build leaves out. */
function absent(feature: string): () => Promise<never> {
  const message = `This worker was built without the feature ${feature}.`;
  const failure = { kind: 'infra', code: 'tool_infrastructure', message } as const;
  return () => Promise.reject(applicationFailure(failure));
}

/**
 * Makes the activities of one worker.
 *
 * Errors: `UserError` at once for everything that could not work in a run: duplicate names, unknown providers, missing keys,
 * unknown windows, tools that vendors refuse, limits out of range, approvers that are no public keys. A warning of the process for
 * each agent whose programs ask because they could decide approvals.
 */
export function createActivities(config: ActivitiesConfig): Activities {
  checkActivitiesConfig(config);
  const approvers = config.approvers && approversFrom(config.approvers);
  const given = Object.values(features).reduce(
    (all, feature) => feature.agents?.(all) ?? all,
    config.agents,
  );
  const { agents, warnings } = guardPrograms(given, approvers !== undefined);
  for (const message of warnings) process.emitWarning(message, 'HoldfastWarning');
  const catalog = createAgentCatalog(agents, config.providers, config.prices, config.windows);
  const deps = Object.values(features).reduce<ActivityDeps>(
    (all, { hooks }) => ({ ...all, ...hooks?.(config) }),
    {
      store: config.store,
      catalog,
      clock: config.clock ?? Date.now,
      ...defined({ approvers, tenantCaps: config.tenantCaps }),
      definitions: new Map(),
      runs: new Map(),
    },
  );
  deps.subagents?.check(catalog.agents);
  const activities: Activities = {
    agentNames: () => Promise.resolve([...catalog.agents.keys()]),
    prepareRun: (input) => crossing(() => prepareRun(deps, input)),
    callModel: (input) => withQueueTime(deps.clock, () => callModel(deps, input)),
    compact: (input) => withQueueTime(deps.clock, () => compact(deps, input)),
    runTool: (input) => withQueueTime(deps.clock, () => runTool(deps, input)),
    checkGuardrails: (input) => withQueueTime(deps.clock, () => checkGuardrails(deps, input)),
    checkEdit: (input) => crossing(() => checkEdit(deps, input)),
    notify: absent('notifiers'),
    recordObservations: absent('learning'),
    extractPatterns: absent('learning'),
    planRecovery: absent('recoveryPlanner'),
  };
  const made = Object.values(features).reduce<Activities>(
    (all, feature) => ({ ...all, ...feature.activities?.(deps, config) }),
    activities,
  );
  noteEncryption(made, config.store.encryption);
  return made;
}

export type { Activities } from '../workflows/core/activities';
export type { Failure, InfraError } from '../workflows/core/failure';
export type { JsonObject, JsonValue } from '../workflows/core/json';
export type { Head, Message } from '../workflows/core/message';
export type { ActivitiesConfig } from './definitions/activities-config';
export type { AgentDefinition, Handoff, RouteDefinition } from './definitions/agent';
export { defineAgent, type FittingHandoff } from './definitions/define-agent';
export { type Notification, type Notifier, NotifierError } from './definitions/notifier';
export { createEncryption } from './encryption/encryption';
export type { Encryption } from './encryption/encryption-shape';
export { InfraException } from './lifecycle/infra-exception';
export { UserError } from './lifecycle/user-error';
export type { PriceTable } from './models/model-tables';
export { logNotifier } from './notifiers/log-notifier';
export { slackNotifier, type SlackOptions } from './notifiers/slack-notifier';
export { webhookNotifier, type WebhookOptions } from './notifiers/webhook-notifier';
export type { AnthropicProviderConfig } from './providers/anthropic/anthropic-provider';
export { anthropicProvider } from './providers/anthropic/anthropic-provider';
export { chatDialects, type ChatDialect } from './providers/openai/chat-dialect';
export { openaiProvider, type OpenAIProviderConfig } from './providers/openai/openai-provider';
export { presetProvider, type PresetName } from './providers/presets';
export type { Provider } from './providers/provider';
export { openStore } from './stores/open-store';
export type { Store } from './stores/store';
export type { StoreLimits } from './stores/store-limits';
export { defineSubagent, type SubagentDefinition } from './subagents/define-subagent';
export { defineTool } from './tools/define-tool';
export { fromAiSdk } from './tools/existing-code/ai-sdk';
export { connectMcp, type McpOptions, type McpTools } from './tools/mcp/connect-mcp';
export type { ApprovalContext, ProbeAnswer, RunContext, ToolContext } from './tools/tool';
export type { Tool, ToolDefinition, ToolSource } from './tools/tool';
export { ToolError } from './tools/tool-error';
export { workspaceTools, type WorkspaceToolsOptions } from './tools/workspace/workspace-tools';
