/** Everything that a run needs, real and on loopback: Temporal, a worker, a store, a vendor emulator. */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import type { Notifier } from '../../activities/definitions/notifier';
import type { TenantCapTable } from '../../activities/definitions/tenant-caps';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../activities/providers/presets';
import type { Provider } from '../../activities/providers/provider';
import { AgentClient } from '../../client/agent-client';
import type { EmulatorOptions } from '../../testing/emulator/emulator';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow, queryNames } from '../../workflows/contract';
import { defined } from '../../workflows/core/json';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { RunRequest } from '../../workflows/core/run/ports';
import type { PendingItem } from '../../workflows/core/view/pending';
import type { RunStatusView } from '../../workflows/core/view/status';
import type { DevServer } from './temporal';
import { startDevServer, uniqueName, workflowBundle } from './temporal';
import type { TemporaryStore } from './temporary-store';
import { temporaryStore } from './temporary-store';

/** A run's handle. */
export type RunHandle = WorkflowHandle<typeof agentRun>;

/** A model of each wire that the SDKs do not warn about. */
export const testModel = 'claude-sonnet-5';
/** A model on OpenAI's wires. */
export const otherModel = 'gpt-5';

/** A world for runs. */
export interface AgentWorld {
  readonly server: DevServer;
  readonly emulator: VendorEmulator;
  readonly stored: Pick<TemporaryStore, 'store' | 'url' | 'dispose'>;
  readonly taskQueue: string;
  /** What a backend would start and steer runs with. */
  readonly client: AgentClient;
  start(request: RunRequest): Promise<RunHandle>;
  /** Starts a run and waits for its end, however it ends. */
  run(request: RunRequest): Promise<RunOutcome>;
  dispose(): Promise<void>;
}

/** What a world may be told. */
export interface AgentWorldOptions {
  readonly server?: DevServer;
  /** Servers that the emulator plays, by mount. */
  readonly servers?: EmulatorOptions['servers'];
  /** Beside the usual ones. */
  readonly providers?: (emulator: VendorEmulator) => readonly Provider[];
  /** Whom the worker tells of runs that wait; default nobody. */
  readonly notifiers?: readonly Notifier[];
  /** What tenants may use together; default: no caps. */
  readonly tenantCaps?: TenantCapTable;
  /** Public keys of those who may decide; default: decisions need no signature. */
  readonly approvers?: readonly string[];
  /** Workflow code of the worker; default: Holdfast's. */
  readonly workflowsPath?: string;
  /** Runs that the worker keeps in memory between their workflow tasks. Default: as many as fit. */
  readonly maxCachedWorkflows?: number;
  /** Default: SQLite in a fresh directory. The world closes it. */
  readonly stored?: Pick<TemporaryStore, 'store' | 'url' | 'dispose'>;
}

/** Providers `anthropic`, `openai` (Responses), `chat` (Chat Completions) and `openrouter` that send to an emulator through the real SDKs. */
export function emulatedProviders(emulator: VendorEmulator): readonly Provider[] {
  const apiKey = 'test-key';
  return [
    anthropicProvider({ apiKey, baseUrl: emulator.baseUrl('anthropic') }),
    openaiProvider({ api: 'responses', apiKey, baseUrl: emulator.baseUrl('responses') }),
    openaiProvider({
      name: 'chat',
      api: 'chat',
      apiKey,
      baseUrl: emulator.baseUrl('chat'),
      dialect: chatDialects.openai,
    }),
    presetProvider('openrouter', { apiKey, baseUrl: emulator.baseUrl('chat', 'openrouter') }),
  ];
}

/** The end of a run, also where it failed. */
export async function outcomeOf(handle: Pick<RunHandle, 'result'>): Promise<RunOutcome> {
  try {
    return await handle.result();
  } catch (thrown) {
    if (thrown instanceof WorkflowFailedError && thrown.cause instanceof ApplicationFailure) {
      const [outcome] = thrown.cause.details ?? [];
      if (typeof outcome === 'object' && outcome !== null && 'report' in outcome)
        return outcome as RunOutcome;
    }
    throw thrown;
  }
}

/** Asks until the answer is what the test waits for; jest's deadline ends the wait. */
export async function eventually<Value>(
  ask: () => Promise<Value>,
  isMet: (value: Value) => boolean,
): Promise<Value> {
  for (;;) {
    const value = await ask();
    if (isMet(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The run's status. */
export function statusOf(handle: RunHandle): Promise<RunStatusView> {
  return handle.query<RunStatusView>(queryNames.status);
}

/** The first thing that waits for a person, once there is one. */
export async function firstPending(handle: RunHandle): Promise<PendingItem> {
  const items = await eventually(
    async () => {
      const { status, reason } = await statusOf(handle);
      if (status !== 'running' && status !== 'waiting')
        throw new Error(
          `the run ended as ${status} (${reason ?? ''}) instead of waiting for a person`,
        );
      return handle.query<readonly PendingItem[]>(queryNames.pending);
    },
    (pending) => pending.length > 0,
  );
  const [item] = items;
  if (item === undefined) throw new Error('nothing is pending');
  return item;
}

/** Tests are scripted to the call: a planner may speak only where an agent says so. */
function withoutRecovery(agent: AgentDefinition): AgentDefinition {
  return { recovery: { mode: 'off' }, ...agent };
}

/** Starts a world with a worker that has these agents. One per test file; `dispose()` ends it. */
export async function startAgentWorld(
  agents: readonly AgentDefinition[],
  options: AgentWorldOptions = {},
): Promise<AgentWorld> {
  const server = options.server ?? (await startDevServer());
  const emulator = await VendorEmulator.start(defined({ servers: options.servers }));
  const stored = options.stored ?? (await temporaryStore());
  const taskQueue = uniqueName('agents');
  const providers = [...emulatedProviders(emulator), ...(options.providers?.(emulator) ?? [])];
  const worker = await Worker.create({
    connection: server.nativeConnection,
    namespace: server.namespace,
    taskQueue,
    workflowBundle: await workflowBundle(options.workflowsPath),
    activities: {
      ...createActivities({
        store: stored.store,
        providers,
        agents: agents.map(withoutRecovery),
        ...defined({
          notifiers: options.notifiers,
          approvers: options.approvers,
          tenantCaps: options.tenantCaps,
        }),
      }),
    },
    ...defined({ maxCachedWorkflows: options.maxCachedWorkflows }),
    maxHeartbeatThrottleInterval: '500 milliseconds',
    defaultHeartbeatThrottleInterval: '500 milliseconds',
  });
  const running = worker.run();
  const start = (request: RunRequest): Promise<RunHandle> =>
    server.client.start<typeof agentRun>(agentRunWorkflow, {
      taskQueue,
      workflowId: `run-${randomUUID()}`,
      args: [{ request }],
    });
  const { connection, namespace, address } = server;
  const client = new AgentClient(new Client({ connection, namespace }), { taskQueue, address });
  return {
    server,
    client,
    emulator,
    stored,
    taskQueue,
    start,
    run: async (request) => outcomeOf(await start(request)),
    async dispose() {
      worker.shutdown();
      await running;
      await emulator.stop();
      await stored.dispose();
      await server.close();
    },
  };
}
