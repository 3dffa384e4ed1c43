/** A worker process of the restart benchmark: ends by SIGTERM as any worker does, and says when it serves. */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import { scriptedProvider } from '../testing/scripted-provider';
import { readEnvironment } from '../workers/env';
import { installRuntime } from '../workers/logging';
import { createWorker } from '../workers/worker';
import { connectWorker } from '../workers/worker-connection';
import type { RestartSettings } from './restart-bench';

const stepMs = 500;

/** Where each step stands: one call of the tool, and then the next, until the run is at its end. */
function modelOf(steps: number): ReturnType<typeof scriptedProvider> {
  return scriptedProvider('scripted', ({ messages }) => {
    const step = messages.filter(({ role }) => role === 'tool').length + 1;
    return step > steps
      ? { text: 'All is done.' }
      : { toolCalls: [{ name: 'work', input: { step } }] };
  });
}

async function serve(settings: RestartSettings): Promise<void> {
  const { address, taskQueue, storeUrl, steps, callsFile, runs } = settings;
  installRuntime('warn');
  const store = await openStore(storeUrl);
  const connection = await connectWorker({ address });
  const work = defineTool({
    name: 'work',
    description: 'Works on a step.',
    input: z.object({ step: z.number() }),
    effect: 'keyed',
    execute: async ({ step }, { idempotencyKey }) => {
      appendFileSync(callsFile, `${idempotencyKey}\n`);
      await sleep(stepMs);
      return `worked on ${step}`;
    },
  });
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    taskQueue,
    maxConcurrentActivities: runs,
    activities: createActivities({
      store,
      providers: [modelOf(steps)],
      agents: [
        {
          name: 'stepper',
          instructions: 'You work in steps.',
          chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }],
          tools: [work],
          limits: { maxIterations: steps + 1, maxActiveMs: 3_600_000 },
        },
      ],
    }),
  });
  const running = worker.run();
  process.send?.({ type: 'ready' });
  await running;
  await connection.close();
  await store.close();
  process.disconnect();
}

process.on('message', ({ settings }: { readonly settings: RestartSettings }) => {
  serve(settings).catch((error: unknown) => {
    process.send?.({ type: 'failed', reason: String(error) });
    process.exit(1);
  });
});
process.send?.({ type: 'loaded' });
