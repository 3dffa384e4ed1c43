/** A real worker for the effects section, made as users make it, with a store that can be held before and after each record. */
import pino from 'pino';
import { createActivities } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import type { Store } from '../../../activities/stores/store';
import { openStore } from '../../../activities/stores/open-store';
import { connectWorker } from '../../../workers/worker-connection';
import { readEnvironment } from '../../../workers/env';
import { installRuntime } from '../../../workers/logging';
import { createWorker } from '../../../workers/worker';
import type { BankClient } from './bank-tools';
import { bankClient, bankTools } from './bank-tools';
import type { EffectsWorkerMessage, EffectsWorkerSettings } from './worker-crew';
import { effectsAgent, effectsTaskQueue } from './worker-crew';

function tell(message: EffectsWorkerMessage): void {
  process.send?.(message);
}

/** The call that a key belongs to: `<run id>/<first execution>/<tool call id>`, and the tool's name. */
function callIdOf(key: string, tool: string): string {
  return `${key.split('/')[0] ?? ''}:${tool.replace('bank_', '')}`;
}

/** The store, held at the moments round the two records of a tool's life. */
function heldStore(store: Store, bank: BankClient): Store {
  const toolOf = new Map<string, string>();
  const held: Pick<Store, 'beginTool' | 'finishTool'> = {
    beginTool: async (intent, scheduledAtMs) => {
      const callId = callIdOf(intent.key, intent.tool);
      toolOf.set(intent.key, intent.tool);
      await bank.at(callId, 'before-intent');
      const record = await store.beginTool(intent, scheduledAtMs);
      await bank.at(callId, record.type === 'finished' ? 'after-outcome' : 'after-intent');
      return record;
    },
    finishTool: async (key, outcome) => {
      const callId = callIdOf(key, toolOf.get(key) ?? '');
      await bank.at(callId, 'before-outcome');
      const kept = await store.finishTool(key, outcome);
      await bank.at(callId, 'after-outcome');
      return kept;
    },
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'beginTool' || name === 'finishTool') return held[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function serve(settings: EffectsWorkerSettings): Promise<void> {
  const bank = bankClient(settings.bankUrl);
  const connection = await connectWorker({ address: settings.temporalAddress });
  const worker = await createWorker({
    connection,
    taskQueue: effectsTaskQueue,
    cacheDirectory: readEnvironment().cacheDirectory,
    maxConcurrentActivities: 200,
    stickyTimeoutMs: 500,
    heartbeatIntervalMs: 300,
    activities: createActivities({
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
    }),
  });
  const running = worker.run();
  tell({ type: 'ready' });
  await running;
  process.exit(0);
}

installRuntime(pino({ level: 'silent' }));
tell({ type: 'loaded' });
process.once('disconnect', () => {
  process.exit(1);
});
process.once('message', (settings: EffectsWorkerSettings) => {
  serve(settings).catch((thrown: unknown) => {
    tell({ type: 'failed', reason: thrown instanceof Error ? thrown.message : String(thrown) });
    process.exit(1);
  });
});
