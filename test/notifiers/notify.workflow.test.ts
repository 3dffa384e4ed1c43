/** People are told by real HTTP that a run waits: once, through an outage and a worker's death, and never in the run's way. */
import { createHmac, randomUUID } from 'node:crypto';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { AgentClient } from '../../client/agent-client';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import { eventually } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';
import type { Receiver } from './receiver';
import { startReceiver } from './receiver';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;
const slackPath = '/services/T0/B0/secretpath';

let server: DevServer;
let stored: TemporaryStore;
let receiver: Receiver;
let worker: WorkerProcess;
let taskQueue: string;
let client: AgentClient;

function startWorker(): Promise<WorkerProcess> {
  return startWorkerProcess({
    script: path.join(__dirname, 'fixtures', 'notifying-worker.ts'),
    env: {
      ADDRESS: server.address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      RECEIVER_URL: receiver.url,
      SECRET: secret,
    },
  });
}

beforeAll(async () => {
  server = await startDevServer();
  stored = await temporaryStore();
  receiver = await startReceiver();
  taskQueue = uniqueName('notify');
  const { address, connection } = server;
  client = new AgentClient(new Client({ connection }), { address, taskQueue });
  worker = await startWorker();
});

afterAll(async () => {
  await worker.kill();
  await receiver.stop();
  await stored.dispose();
  await server.close();
});

beforeEach(() => {
  receiver.clear();
});

type Run = Awaited<ReturnType<AgentClient['start']>>;

function ask(): Promise<Run> {
  return client.start({ agent: 'asker', goal: 'Ask.', runId: `ask-${randomUUID()}` });
}

async function entriesOf(run: Run): Promise<readonly TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return entries;
}

async function answerAndEnd(run: Run): Promise<readonly TimelineEntry[]> {
  const [item] = await eventually(
    () => run.pending(),
    (pending) => pending.length > 0,
  );
  if (item?.type !== 'question') throw new Error('the run asks nothing');
  await run.answer(item.questionId, 'Rome');
  await run.result();
  return entriesOf(run);
}

/** Resolves when the store knows that Slack was told, so that a worker's death does not tell it again. */
async function slackNoted(run: Run): Promise<void> {
  const { runId, raw } = await server.client.getHandle(run.runId).describe();
  const callId = raw.pendingActivities?.[0]?.activityId ?? '';
  await eventually(
    () => stored.store.getTool(`${run.runId}/${runId}/${callId}/slack`),
    ({ type }) => type === 'finished',
  );
}

function hooks(): readonly string[] {
  return receiver.of('/hook').map(({ headers }) => String(headers['webhook-id']));
}

function notified(entries: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return entries.filter(
    ({ type }) => type === 'NotifiedEvent' || type === 'NotificationFailedEvent',
  );
}

test('a question is told once to each, signed, without secrets and markup, with how to answer; the answer goes on', async () => {
  const run = await ask();
  await eventually(
    () => Promise.resolve(receiver.received.length),
    (count) => count === 2,
  );
  const [hook] = receiver.of('/hook');
  const [message] = receiver.of(slackPath);
  if (hook === undefined) throw new Error('the webhook was not told');
  const { headers, body } = hook;
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  expect(headers['webhook-signature']).toBe(
    `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
  );
  const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
  expect(type).toBe('holdfast.waiting');
  expect(data).toMatchObject({
    kind: 'question',
    runId: run.runId,
    agent: 'asker',
    link: `http://localhost:8233/namespaces/default/workflows/${run.runId}`,
  });
  expect(data['answerWith']).toMatch(`holdfast answer ${run.runId} --question `);
  expect(`${body}${message?.body ?? ''}`).not.toContain('abcdefgh12345678');
  expect(message?.body).toContain('Which &lt;city&gt;?');
  const entries = await answerAndEnd(run);
  expect(notified(entries)).toMatchObject([
    { type: 'NotifiedEvent', about: 'question', notifiers: ['webhook', 'slack'] },
  ]);
  expect(receiver.received).toHaveLength(2);
});

test('a receiver that is down for a while is told later, and the others not again', async () => {
  receiver.answer(503);
  const run = await ask();
  await eventually(
    () => Promise.resolve(hooks().length),
    (count) => count >= 2,
  );
  receiver.answer(204);
  await eventually(
    () => entriesOf(run),
    (entries) => notified(entries).length > 0,
  );
  const entries = await answerAndEnd(run);
  expect(notified(entries)).toMatchObject([
    { type: 'NotifiedEvent', notifiers: ['webhook', 'slack'] },
  ]);
  expect(new Set(hooks()).size).toBe(1);
  expect(receiver.of(slackPath)).toHaveLength(1);
});

test('a worker that dies while it tells is followed by one that tells again, under the same id', async () => {
  receiver.answer('hang');
  const run = await ask();
  await eventually(
    () => Promise.resolve(receiver.received.length),
    (count) => count === 2,
  );
  await slackNoted(run);
  await worker.kill();
  receiver.answer(200);
  worker = await startWorker();
  await eventually(
    () => Promise.resolve(hooks().length),
    (count) => count === 2,
  );
  const entries = await answerAndEnd(run);
  expect(new Set(hooks()).size).toBe(1);
  expect(receiver.of(slackPath)).toHaveLength(1);
  expect(notified(entries)).toHaveLength(1);
});

test('a receiver that refuses for good is a warning in the timeline, told at once, and the answer goes on', async () => {
  receiver.answer(410);
  const run = await ask();
  const warned = await eventually(
    () => entriesOf(run),
    (entries) => notified(entries).length === 2,
  );
  expect(notified(warned)).toMatchObject([
    { type: 'NotifiedEvent', notifiers: ['slack'] },
    {
      type: 'NotificationFailedEvent',
      notifiers: ['webhook'],
      message: expect.stringMatching(/answered 410$/) as string,
    },
  ]);
  await answerAndEnd(run);
  expect(hooks()).toHaveLength(1);
});
