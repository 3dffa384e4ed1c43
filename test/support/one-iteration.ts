/** One iteration of a run on its activities alone: what it asks of the store can be counted. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { anthropicProvider, createActivities } from '../../activities/index';
import type { AgentDefinition } from '../../activities/definitions/agent';
import type { Store } from '../../activities/stores/store';
import { defineTool } from '../../activities/tools/define-tool';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { ModelCallHeldBack, SentReply } from '../../workflows/core/model-call/ports';

/** Milliseconds; no test waits for it. */
const heartbeatTimeoutMs = 60_000;

/** Runs an activity on behalf of a test, which sees what it does meanwhile. */
export type Watched = <Result>(
  activity: 'runTool' | 'callModel',
  work: () => Promise<Result>,
) => Promise<Result>;

/**
 * Runs a tool call, and the model call that gets its result. Both have worked once before, so that nothing about them is news.
 * Returns the model call's result.
 */
export async function oneIteration(
  store: Store,
  effect: 'read' | 'keyed' | 'irreversible',
  watched: Watched,
): Promise<SentReply> {
  const emulator = await VendorEmulator.start();
  try {
    const activities = createActivities({
      store,
      providers: [anthropicProvider({ apiKey: 'k', baseUrl: emulator.url })],
      agents: [agentWith(effect)],
    });
    const { snapshot, head } = await activities.prepareRun({
      flags: [],
      agent: 'worker',
      goal: 'Work.',
    });
    const { storeId, definition } = snapshot;
    const place = { storeId, definition, routeIndex: 0, idPrefix: 'run' };
    emulator.script([reply.text('Hello.'), reply.text('Paid.')]);
    // The first success of a route is news, and written.
    const first = replied(
      await inAttempt(() => activities.callModel({ ...place, head, iteration: 1 })),
    );
    const call = { toolCallId: 'call', name: 'pay', input: {}, idempotencyKey: 'run/call' };
    const { result } = await watched('runTool', () =>
      inAttempt(() => activities.runTool({ storeId, definition, ...call })),
    );
    const { name, toolCallId } = call;
    const pending = { toolCallId, name, isError: false, ...(result && { result }) };
    const second = await watched('callModel', () =>
      inAttempt(() =>
        activities.callModel({
          ...place,
          head: first.head,
          iteration: 2,
          pendingResults: [pending],
        }),
      ),
    );
    return replied(second);
  } finally {
    await emulator.stop();
  }
}

function agentWith(effect: 'read' | 'keyed' | 'irreversible'): AgentDefinition {
  return {
    name: 'worker',
    instructions: 'You work.',
    chain: [{ provider: 'anthropic', model: 'claude-haiku-4-5' }],
    tools: [
      defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({}),
        effect,
        execute: () => 'paid',
      }),
    ],
  };
}

function inAttempt<Result>(work: () => Promise<Result>): Promise<Result> {
  const environment = new MockActivityEnvironment({
    heartbeatTimeoutMs,
    currentAttemptScheduledTimestampMs: Date.now(),
  });
  return environment.run(work);
}

function replied(answer: SentReply | ModelCallHeldBack): SentReply {
  if ('head' in answer) return answer;
  throw new Error('held back');
}
