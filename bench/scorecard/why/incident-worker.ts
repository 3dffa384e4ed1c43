/** A real worker for the incidents, created as users create it. */
import path from 'node:path';
import { Worker } from '@temporalio/worker';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { connectMcp, createActivities, openStore } from '../../../activities/index';
import type { McpTools } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { Provider } from '../../../activities/providers/provider';
import { readEnvironment } from '../../../workers/env';
import { createWorker } from '../../../workers/worker';
import { connectWorker } from '../../../workers/worker-connection';
import { loadWorkflowBundle } from '../../../workers/workflow-bundle';
import { defined } from '../../../workflows/core/json';
import { beginCrewMember, serveUntilEnd } from '../effects/worker-side';
import type { Incident, IncidentCode } from './incident';
import { lookUpTool, routeOf } from './incident';
import { incidents } from './incidents';

/** The message to a worker when it is its turn. */
export interface IncidentWorkerSettings {
  readonly temporalAddress: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly store: string;
  /** Milliseconds that a request of the store may take. */
  readonly storeWaitMs: number;
  /** Base of the emulator's addresses, by provider: `anthropic` of each incident, and the `openai` one. */
  readonly vendorUrls: Readonly<Record<string, string>>;
  readonly mcpUrl: string;
  readonly code?: IncidentCode;
}

function agentsOf(
  { id, agent = {}, others = [], usesMcp }: Incident,
  mcp: McpTools | undefined,
  code: IncidentCode | undefined,
): readonly AgentDefinition[] {
  const tools = [lookUpTool, ...(usesMcp === true && mcp !== undefined ? [mcp] : [])];
  const own: AgentDefinition = {
    name: id,
    instructions: 'You look orders up.',
    chain: [routeOf(id)],
    tools,
    recovery: { mode: 'off' },
    ...agent,
    ...(code === 'lacking' ? { tools } : {}),
    limits: { streamRetryBaseMs: 10, ...agent.limits },
  };
  return [own, ...others];
}

function providersOf(urls: IncidentWorkerSettings['vendorUrls']): readonly Provider[] {
  const apiKey = 'scorecard-key';
  return Object.entries(urls).map(([name, baseUrl]) =>
    name === 'openai'
      ? openaiProvider({ api: 'responses', apiKey, baseUrl })
      : anthropicProvider({ name, apiKey, baseUrl }),
  );
}

async function workerOf(settings: IncidentWorkerSettings): Promise<Worker> {
  const { taskQueue, temporalAddress, namespace, store, storeWaitMs, vendorUrls, mcpUrl, code } =
    settings;
  const connection = await connectWorker({ address: temporalAddress, namespace });
  const { cacheDirectory } = readEnvironment();
  if (code === 'changed') {
    const workflowsPath = path.join(__dirname, `changed-workflows${path.extname(__filename)}`);
    const workflowBundle = await loadWorkflowBundle(defined({ cacheDirectory, workflowsPath }));
    return Worker.create({ connection, namespace, taskQueue, workflowBundle });
  }
  const serves = incidents.filter(({ taskQueue: own }) => (own ?? 'why') === taskQueue);
  const usesMcp = serves.some((incident) => incident.usesMcp === true);
  const mcp = usesMcp
    ? await connectMcp({
        name: 'shop',
        transport: { type: 'http', url: mcpUrl },
        tools: { '*': { effect: 'read' } },
        required: true,
      })
    : undefined;
  return createWorker({
    connection,
    namespace,
    taskQueue,
    ...defined({ cacheDirectory }),
    stickyTimeoutMs: 500,
    heartbeatIntervalMs: 300,
    activities: createActivities({
      store: await openStore(store, { waitMs: storeWaitMs }),
      providers: providersOf(vendorUrls),
      agents: serves.flatMap((incident) => agentsOf(incident, mcp, code)),
    }),
  });
}

beginCrewMember();
process.once('message', ({ settings }: { readonly settings: IncidentWorkerSettings }) => {
  void serveUntilEnd(() => workerOf(settings));
});
