/** A cancel reaches a tool that heeds its signal, and ends the run: sent by the server, and with the answer to a heartbeat. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { createActivities, defineTool } from '../../activities/index';
import { AgentClient } from '../../client/agent-client';
import { scriptedProvider } from '../../testing/scripted-provider';
import { createWorker } from '../../workers/worker';
import type { CreateWorkerOptions } from '../../workers/worker-options';
import { eventually } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startDevServer, startOwnServer, uniqueName } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';

/** Cancels a run in the middle of a tool call; returns the milliseconds until the run had ended. */
async function cancelMs(
  server: DevServer,
  heartbeatTimeoutMs: number,
  options: Pick<CreateWorkerOptions, 'heartbeatIntervalMs'> = {},
): Promise<number> {
  const stored = await temporaryStore();
  const taskQueue = uniqueName('cancel');
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const hang = defineTool({
    name: 'hang',
    description: 'Waits until it is told to stop.',
    input: z.object({}),
    effect: 'keyed',
    timeoutMs: 3_600_000,
    execute: (_input, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        begin();
        signal.addEventListener('abort', () => {
          reject(new Error('told to stop'));
        });
      }),
  });
  const worker = await createWorker({
    connection: server.nativeConnection,
    namespace: server.namespace,
    taskQueue,
    ...options,
    activities: createActivities({
      store: stored.store,
      providers: [scriptedProvider('scripted', [{ toolCalls: [{ name: 'hang', input: {} }] }])],
      agents: [
        {
          name: 'hanger',
          instructions: 'You wait.',
          chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }],
          tools: [hang],
          limits: { heartbeatTimeoutMs },
        },
      ],
    }),
  });
  const { connection, namespace } = server;
  const client = new AgentClient(new Client({ connection, namespace }), { taskQueue });
  const tookMs = await worker.runUntil(async () => {
    const run = await client.start({ agent: 'hanger', goal: 'Wait.' });
    await begun;
    // The first heartbeat is never held back.
    await eventually(
      () => server.client.getHandle(run.runId).describe(),
      ({ raw }) => raw.pendingActivities?.[0]?.lastHeartbeatTime != null,
    );
    const beganAtMs = performance.now();
    await run.cancel();
    expect(await run.result()).toMatchObject({
      status: 'cancelled',
      report: { toolCallsSucceeded: 0 },
    });
    return performance.now() - beganAtMs;
  });
  await stored.dispose();
  return tookMs;
}

test('a server that sends cancels needs no heartbeat for it', async () => {
  const server = await startDevServer();
  const hourMs = 3_600_000;
  // The next heartbeat that is sent would be the one after 48 minutes.
  expect(await cancelMs(server, hourMs, { heartbeatIntervalMs: hourMs })).toBeLessThan(60_000);
  await server.close();
});

test('on any other server, a cancel comes with a heartbeat soon', async () => {
  const server = await startOwnServer({ sendsCancels: false });
  // 1.6 s on an idle machine; without the beats for it, a heartbeat was sent every 10 s.
  expect(await cancelMs(server, 20_000)).toBeLessThan(8_000);
  await server.close();
});
