/** A real worker for the killed calls, created as users create it. */
import type { Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { createActivities } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { openStore } from '../../../activities/stores/open-store';
import { defineTool } from '../../../activities/tools/define-tool';
import { readEnvironment } from '../../../workers/env';
import { createWorker } from '../../../workers/worker';
import { connectWorker } from '../../../workers/worker-connection';
import { beginCrewMember, serveUntilEnd } from '../effects/worker-side';
import type { KillRound } from './kill-rounds';
import { agentOf, killRounds, killTaskQueue, routesOf } from './kill-rounds';

/** The message to a worker when it is its turn. */
export interface KillWorkerSettings {
  readonly temporalAddress: string;
  readonly store: string;
  readonly anthropicUrl: string;
  readonly openaiUrl: string;
}

const look = defineTool({
  name: 'look',
  description: 'Looks at a page.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  execute: ({ page }) => `Page ${page}. ${'It was a dark and stormy night. '.repeat(200)}`,
});

function agent(round: KillRound): AgentDefinition {
  return {
    name: agentOf(round),
    instructions: 'You work.',
    chain: routesOf(round),
    tools: [look],
    limits: {
      heartbeatTimeoutMs: round.heartbeatTimeoutMs,
      streamRetryBaseMs: 20,
      maxActiveMs: 3_600_000,
    },
  };
}

async function workerOf(settings: KillWorkerSettings): Promise<Worker> {
  const connection = await connectWorker({ address: settings.temporalAddress });
  const apiKey = 'scorecard-key';
  return createWorker({
    connection,
    taskQueue: killTaskQueue,
    cacheDirectory: readEnvironment().cacheDirectory,
    stickyTimeoutMs: 500,
    activities: createActivities({
      store: await openStore(settings.store),
      providers: [
        anthropicProvider({ apiKey, baseUrl: settings.anthropicUrl }),
        openaiProvider({ api: 'responses', apiKey, baseUrl: settings.openaiUrl }),
      ],
      agents: killRounds.map(agent),
    }),
  });
}

beginCrewMember();
process.once('message', ({ settings }: { readonly settings: KillWorkerSettings }) => {
  void serveUntilEnd(() => workerOf(settings));
});
