/** The real activities of a worker with one agent, for tests that call them without a workflow. */
import { createActivities } from '../../activities/index';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import type { Store } from '../../activities/stores/store';
import type { Tool } from '../../activities/tools/tool';
import type { Activities } from '../../workflows/core/activities';

/** Activities on this store; the agent `worker` has these tools. */
export function workerActivities(store: Store, tools: readonly Tool[]): Activities {
  return createActivities({
    store,
    providers: [anthropicProvider({ apiKey: 'test-key' })],
    agents: [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools,
      },
    ],
  });
}
