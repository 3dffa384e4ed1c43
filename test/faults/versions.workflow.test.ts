/** Two versions of a worker deployment: a pinned run ends where it began, a new one starts on the new version, a long one moves as it rolls over. */
import { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import { z } from 'zod';
import { createActivities, defineTool } from '../../activities/index';
import { AgentClient } from '../../client/agent-client';
import type { RunHandle } from '../../client/index';
import { scriptedProvider } from '../../testing/scripted-provider';
import { createWorker } from '../../workers/worker';
import { eventually } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startOwnServer, uniqueName } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const deploymentName = uniqueName('agents');
const taskQueue = uniqueName('versions');
/** Events after which the server suggests a new segment: five iterations, more than a run that signs has. */
const suggestAfterEvents = 60;

let server: DevServer;
let stored: TemporaryStore;
let client: AgentClient;
const ends: (() => Promise<void>)[] = [];
/** Which version answered each step of the long run, in order. */
const steps: string[] = [];

beforeAll(async () => {
  server = await startOwnServer({ rollsOverAfter: suggestAfterEvents });
  stored = await temporaryStore();
  const { connection, namespace } = server;
  client = new AgentClient(new Client({ connection, namespace }), { taskQueue });
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  await stored.dispose();
  await server.close();
});

/** A worker of this version, whose tools say which version they are of. */
async function startVersion(buildId: string): Promise<void> {
  const sign = defineTool({
    name: 'sign',
    description: 'Signs.',
    input: z.object({}),
    effect: 'keyed',
    approval: 'always',
    execute: () => `signed by ${buildId}`,
  });
  const step = defineTool({
    name: 'step',
    description: 'Steps.',
    input: z.object({ n: z.number() }),
    effect: 'keyed',
    execute: () => {
      steps.push(buildId);
      return `stepped on ${buildId}`;
    },
  });
  /** Signs once, then says who signed. */
  const once = scriptedProvider('once', (request) => {
    const said = /signed by v\d/.exec(JSON.stringify(request.messages))?.[0];
    return said === undefined ? { toolCalls: [{ name: 'sign', input: {} }] } : { text: said };
  });
  /** Steps until the new version has stepped. */
  const long = scriptedProvider('long', (request, n) =>
    JSON.stringify(request.messages).includes('stepped on v2')
      ? { text: 'arrived on v2' }
      : { toolCalls: [{ name: 'step', input: { n } }] },
  );
  const agent = { instructions: 'You work.', recovery: { mode: 'off' } } as const;
  const route = { model: 'm', windowTokens: 1_000_000 };
  const worker: Worker = await createWorker({
    connection: server.nativeConnection,
    namespace: server.namespace,
    taskQueue,
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
    activities: createActivities({
      store: stored.store,
      providers: [once, long],
      agents: [
        { ...agent, name: 'signer', chain: [{ ...route, provider: 'once' }], tools: [sign] },
        {
          ...agent,
          name: 'walker',
          chain: [{ ...route, provider: 'long' }],
          tools: [step],
          limits: { maxIterations: 10_000, maxEvents: 100_000, maxToolCalls: 10_000 },
        },
      ],
    }),
  });
  const running = worker.run();
  ends.push(async () => {
    worker.shutdown();
    await running;
  });
}

/** Sends new runs to this version, as `temporal worker deployment set-current-version` does, once the server knows it. */
async function makeCurrent(buildId: string): Promise<void> {
  await eventually(
    () =>
      server.connection.workflowService
        .setWorkerDeploymentCurrentVersion({ namespace: server.namespace, deploymentName, buildId })
        .then(
          () => true,
          () => false,
        ),
    (isSet) => isSet,
  );
}

/** Versions whose workers completed workflow tasks, by segment. */
async function versionsOf(runId: string): Promise<readonly (readonly string[])[]> {
  const segments: string[][] = [];
  let segmentId: string | undefined;
  do {
    const { events } = await server.client.getHandle(runId, segmentId).fetchHistory();
    const completed = (events ?? []).flatMap(
      ({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? [],
    );
    segments.unshift([...new Set(completed)]);
    const began = events?.[0]?.workflowExecutionStartedEventAttributes;
    segmentId = began?.continuedExecutionRunId || undefined;
  } while (segmentId !== undefined);
  return segments;
}

async function approve(run: RunHandle): Promise<void> {
  const [item] = await eventually(
    () => run.pending(),
    (pending) => pending.length > 0,
  );
  if (item?.type !== 'approval') throw new Error('an approval was expected');
  await run.approve(item.approvalId);
}

test('old runs end on the old version, new runs start on the new one, a long run moves as it rolls over', async () => {
  await startVersion('v1');
  await makeCurrent('v1');
  const old = await client.start({ agent: 'signer', goal: 'Sign.' });
  const long = await client.start({ agent: 'walker', goal: 'Walk.' });
  await eventually(
    () => Promise.all([old.pending(), Promise.resolve(steps.length)]),
    ([pending, walked]) => pending.length > 0 && walked > 5,
  );

  await startVersion('v2');
  await makeCurrent('v2');
  const fresh = await client.start({ agent: 'signer', goal: 'Sign.' });
  await approve(fresh);
  expect(await fresh.result()).toMatchObject({ status: 'completed', answer: 'signed by v2' });
  expect(await versionsOf(fresh.runId)).toEqual([['v2']]);

  expect(await long.result()).toMatchObject({ status: 'completed', answer: 'arrived on v2' });
  const segments = await versionsOf(long.runId);
  // One version each, so that nothing replayed on another one.
  expect(segments.every((versions) => versions.length === 1)).toBe(true);
  expect(segments.at(0)).toEqual(['v1']);
  expect(segments.at(-1)).toEqual(['v2']);
  expect([...new Set(steps)]).toEqual(['v1', 'v2']);

  await approve(old);
  expect(await old.result()).toMatchObject({ status: 'completed', answer: 'signed by v1' });
  expect(await versionsOf(old.runId)).toEqual([['v1']]);
});
