/** A real worker for the effects section, made as users make it, with a store that can be held before and after each record. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import type { Store } from '../../../activities/stores/store';
import { openStore } from '../../../activities/stores/open-store';
import { connectWorker } from '../../../workers/worker-connection';
import { readEnvironment } from '../../../workers/env';
import { createWorker } from '../../../workers/worker';
import { loadWorkflowBundle } from '../../../workers/workflow-bundle';
import { defined } from '../../../workflows/core/json';
import type { BankClient } from './bank-tools';
import { bankClient, bankTools } from './bank-tools';
import type {
  EffectsWorkerMessage,
  EffectsWorkerOrder,
  EffectsWorkerSettings,
} from './worker-crew';
import { effectsAgent } from './worker-crew';
import { beginCrewMember, serveUntilEnd, tell } from './worker-side';

/** The call that a key belongs to: `<run id>/<first execution>/<tool call id>`, and the tool's name. */
function callIdOf(key: string, tool: string): string {
  return `${key.split('/')[0] ?? ''}:${tool.replace('bank_', '')}`;
}

/** The store, held at the moments round the two records of a tool's life. */
function heldStore(store: Store, bank: BankClient): Store {
  const toolOf = new Map<string, string>();
  const finishing =
    (writer: Pick<Store, 'finishTool'>): Store['finishTool'] =>
    async (key, outcome) => {
      const callId = callIdOf(key, toolOf.get(key) ?? '');
      await bank.at(callId, 'before-outcome');
      const kept = await writer.finishTool(key, outcome);
      await bank.at(callId, 'after-outcome');
      return kept;
    };
  const held: Pick<Store, 'batch' | 'beginTool' | 'moveTool' | 'finishTool'> = {
    batch: () => {
      const batch = store.batch();
      return {
        appendNode: (parent, messages) => batch.appendNode(parent, messages),
        loadTranscript: (head) => batch.loadTranscript(head),
        putBlob: (content) => batch.putBlob(content),
        commit: () => batch.commit(),
        finishTool: finishing(batch),
      };
    },
    beginTool: async (intent, scheduledAtMs, phase) => {
      const callId = callIdOf(intent.key, intent.tool);
      toolOf.set(intent.key, intent.tool);
      await bank.at(callId, 'before-intent');
      const record = await store.beginTool(intent, scheduledAtMs, phase);
      await bank.at(callId, record.type === 'finished' ? 'after-outcome' : 'after-intent');
      if (phase === 'executing' && 'owner' in record) await bank.at(callId, 'executing');
      return record;
    },
    moveTool: async (key, owner, phase) => {
      const isMoved = await store.moveTool(key, owner, phase);
      if (phase === 'executing' && isMoved)
        await bank.at(callIdOf(key, toolOf.get(key) ?? ''), 'executing');
      return isMoved;
    },
    finishTool: finishing(store),
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (Object.hasOwn(held, name)) return held[name as keyof typeof held];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Tool calls that run in this process. */
let running = 0;

async function activitiesOf(
  settings: EffectsWorkerSettings,
): Promise<ReturnType<typeof createActivities>> {
  const bank = bankClient(settings.bankUrl);
  const activities = createActivities({
    store: heldStore(await openStore(settings.store), bank),
    providers: [anthropicProvider({ apiKey: 'test-key', baseUrl: settings.emulatorUrl })],
    agents: [
      {
        name: effectsAgent,
        instructions: 'You pay.',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools: bankTools(bank),
        limits: { heartbeatTimeoutMs: settings.heartbeatTimeoutMs, maxActiveMs: 3_600_000 },
      },
    ],
  });
  return {
    ...activities,
    runTool: async (input) => {
      running += 1;
      try {
        return await activities.runTool(input);
      } finally {
        running -= 1;
      }
    },
  };
}

/** A worker for workflow tasks and activities, or only one of them. */
async function workerFor(
  settings: EffectsWorkerSettings,
  connection: NativeConnection,
): Promise<Worker> {
  const { serves, namespace, taskQueue } = settings;
  const { cacheDirectory } = readEnvironment();
  if (serves === 'workflows') {
    const { code } = await loadWorkflowBundle(defined({ cacheDirectory }));
    return Worker.create({ connection, namespace, taskQueue, workflowBundle: { code } });
  }
  const activities = await activitiesOf(settings);
  if (serves === 'activities')
    return Worker.create({
      connection,
      namespace,
      taskQueue,
      activities,
      maxConcurrentActivityTaskExecutions: 20,
      // A stalled process keeps what it has polled until the heartbeat is late.
      maxConcurrentActivityTaskPolls: 1,
      maxHeartbeatThrottleInterval: heartbeatIntervalMs,
      defaultHeartbeatThrottleInterval: heartbeatIntervalMs,
    });
  return createWorker({
    connection,
    namespace,
    taskQueue,
    ...defined({ cacheDirectory }),
    maxConcurrentActivities: 200,
    stickyTimeoutMs: 500,
    heartbeatIntervalMs,
    activities,
  });
}

/** Milliseconds between two heartbeats that are sent. */
const heartbeatIntervalMs = 300;

async function connectedWorker(settings: EffectsWorkerSettings): Promise<Worker> {
  const { temporalAddress: address, namespace } = settings;
  return workerFor(settings, await connectWorker({ address, namespace }));
}

/** Blocks the event loop until this file is there. */
function blockUntil(file: string): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(cell, 0, 0, lookEveryMs);
}

/** Milliseconds between two looks for the end of a block or of the last tool call. */
const lookEveryMs = 50;

/** Resolves when no tool call has run for a while: the process has also begun what it polled while it was stalled. */
async function drained(): Promise<void> {
  for (let quiet = 0; quiet < 10; quiet = running === 0 ? quiet + 1 : 0) await sleep(lookEveryMs);
}

beginCrewMember();
process.on('message', (order: EffectsWorkerOrder) => {
  switch (order.type) {
    case 'serve':
      void serveUntilEnd(() => connectedWorker(order.settings));
      return;
    case 'block':
      process.send?.({ type: 'blocked' } satisfies EffectsWorkerMessage, () => {
        blockUntil(order.file);
      });
      return;
    case 'drain':
      void drained().then(() => {
        tell({ type: 'drained' });
      });
      return;
  }
});
