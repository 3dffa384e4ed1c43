/** One data converter for workers, clients and commands: all that reads a history reads an encrypted one, or says what it lacks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { msToTs } from '@temporalio/common/lib/time';
import type { Worker } from '@temporalio/worker';
import { z } from 'zod';
import { createActivities, createEncryption, defineTool } from '../../activities/index';
import { AgentClient } from '../../client/agent-client';
import { ClientError } from '../../client/client-error';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import { collectGarbage } from '../../workers/cli/commands/gc';
import { createWorker } from '../../workers/worker';
import { emulatedProviders, eventually, testModel } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const key = 'a1'.repeat(32);
const dataConverter: DataConverter = {
  ...createEncryption({ keyId: 'one', keys: { one: key } }).dataConverter,
  payloadConverterPath: path.resolve('test/workers/fixtures/tagging-converter.cjs'),
};

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  quick: true,
  execute: () => `the plaintext of a local activity ${'x'.repeat(400)}`,
});
const sign = defineTool({
  name: 'sign',
  description: 'Signs.',
  input: z.object({ what: z.string() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ what }) => `signed plaintext ${what}`,
});

const namespace = uniqueName('encrypted');
const taskQueue = uniqueName('queue');
/** What interceptors saw, in order. */
const seen: string[] = [];

let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;
let folder: string;
let worker: Worker;
let working: Promise<void>;

const temporalClient = (converter?: DataConverter): Client =>
  new Client({
    connection: server.connection,
    namespace,
    ...(converter === undefined ? {} : { dataConverter: converter }),
  });
const clientWith = (converter?: DataConverter): AgentClient =>
  new AgentClient(temporalClient(converter), { taskQueue, searchAttributes: false });

beforeAll(async () => {
  server = await startDevServer();
  // A sweep reads every history of its namespace.
  await server.connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  emulator = await VendorEmulator.start();
  stored = await temporaryStore();
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-converter-'));
  worker = await createWorker({
    connection: server.nativeConnection,
    namespace,
    taskQueue,
    dataConverter,
    interceptors: {
      activity: [
        ({ info: { activityType } }) => ({
          inbound: {
            execute: (input, next) => {
              seen.push(`activity ${activityType}`);
              return next(input);
            },
          },
        }),
      ],
      workflowModules: [path.resolve('test/workers/fixtures/noting-interceptors.ts')],
    },
    sinks: { notes: { note: { fn: (_info: unknown, text: string) => void seen.push(text) } } },
    tuner: {
      tunerOptions: { targetCpuUsage: 0.9, targetMemoryUsage: 0.95 },
    },
    activities: createActivities({
      store: stored.store,
      providers: emulatedProviders(emulator),
      agents: [
        {
          name: 'clerk',
          instructions: 'You sign.',
          chain: [{ provider: 'anthropic', model: testModel }],
          tools: [look, sign],
          recovery: { mode: 'off' },
        },
      ],
    }),
  });
  working = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await working;
  await emulator.stop();
  await stored.dispose();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A whole run: a local activity, an approval (an update), a message (a signal), an activity. */
async function signedRun(): Promise<string> {
  emulator.script([
    reply.toolCalls([{ name: 'look', input: {} }]),
    reply.toolCalls([{ name: 'sign', input: { what: 'plaintext input' } }]),
    reply.text('the plaintext answer'),
  ]);
  const run = await clientWith(dataConverter).start({ agent: 'clerk', goal: 'plaintext goal' });
  const [item] = await eventually(
    () => run.pending(),
    (pending) => pending.length > 0,
  );
  if (item?.type !== 'approval') throw new Error('an approval was expected');
  await run.addMessage('plaintext message');
  await run.approve(item.approvalId);
  expect(await run.result()).toMatchObject({
    status: 'completed',
    answer: 'the plaintext answer',
  });
  return run.runId;
}

async function refusal(work: Promise<unknown>): Promise<ClientError> {
  return work.then(
    () => Promise.reject(new Error('not refused')),
    (thrown: unknown) => thrown as ClientError,
  );
}

/** The built command, with the converter's file. */
async function holdfast(
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly out: string }> {
  const program = path.resolve('dist/workers/cli.js');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: namespace,
      HOLDFAST_STATE_DIR: path.join(folder, 'state'),
      HOLDFAST_STORE: stored.url,
      ...variables,
    },
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (out += data.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out };
}

test('a run on an encrypted history is read back by everything that reads histories', async () => {
  const runId = await signedRun();
  const history = await temporalClient().workflow.getHandle(runId).fetchHistory();
  const raw = Buffer.from(historyToJSON(history));
  const texts = [...raw.toString().matchAll(/"data":\s*"([^"]+)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64').toString('latin1'),
  );
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.filter((text) => text.includes('plaintext'))).toEqual([]);

  const run = clientWith(dataConverter).run(runId);
  const types: string[] = [];
  for await (const { type } of run.events()) types.push(type);
  expect(types).toEqual(expect.arrayContaining(['MessageAddedEvent', 'RunEndedEvent']));
  expect(await run.status()).toMatchObject({ status: 'completed' });
  const swept = await collectGarbage(temporalClient(dataConverter), stored.store, {
    grace: 0,
    namespace,
  });
  expect(swept).toMatchObject({ segments: 1, nodes: { removed: 0 }, blobs: { removed: 0 } });
  const fork = await clientWith(dataConverter).fork(runId, 1, { message: 'plaintext again' });
  expect(fork.runId).not.toBe(runId);
  await fork.cancel().catch(() => undefined);
});

test('the digest that tells a repeated start from another one is encrypted, as all of the memo', async () => {
  emulator.script([reply.text('the plaintext answer')]);
  const start = { agent: 'clerk', goal: 'plaintext goal', idempotencyKey: 'order-17' } as const;
  const client = clientWith(dataConverter);
  const { runId } = await client.start(start);
  expect((await client.start(start)).runId).toBe(runId);
  expect(await refusal(client.start({ ...start, goal: 'another' }))).toMatchObject({
    code: 'key-reused',
  });
  const { workflowExecutionInfo: info } =
    await server.connection.workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId: runId },
    });
  const fields = Object.entries(info?.memo?.fields ?? {});
  expect(fields.map(([name]) => name)).toContain('holdfastStart');
  const encodings = fields.map(([, { metadata }]) =>
    Buffer.from(metadata?.['encoding'] ?? []).toString(),
  );
  expect(new Set(encodings)).toEqual(new Set(['binary/encrypted']));
  await client.run(runId).outcome();
});

test('interceptors, sinks and the tuner are in use', () => {
  expect(seen).toContain('activity callModel');
  expect(seen).toContain('workflow agentRun');
});

test('a client without the converter is refused before it starts a run, and told where it reads', async () => {
  const before = emulator.requests.length;
  const bare = clientWith();
  const start = await refusal(bare.start({ agent: 'clerk', goal: 'x' }));
  expect(start).toMatchObject({ name: 'ClientError', code: 'converter-mismatch' });
  expect(start.message).toContain('has another data converter than this client');
  expect(start.message).toContain('Nothing was started');
  expect(emulator.requests).toHaveLength(before);

  const run = bare.run(await signedRun());
  expect(await refusal(run.status())).toMatchObject({ code: 'converter-mismatch' });
  expect(await refusal(run.result())).toMatchObject({ code: 'converter-mismatch' });
  const sweep = await refusal(
    collectGarbage(temporalClient(), stored.store, { grace: 0, namespace, force: true }),
  );
  expect(sweep).toMatchObject({ code: 'converter-mismatch' });
});

/** What comes of it: `'done'`, or the code and the words of the refusal. Anything but a `ClientError` fails the test. */
async function comesTo(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (thrown) {
    if (!(thrown instanceof ClientError)) throw thrown;
    return `${thrown.code}: ${thrown.message}`;
  }
}

const wrongKey = createEncryption({ keyId: 'two', keys: { two: 'b2'.repeat(32) } }).dataConverter;

test.each<[string, DataConverter | undefined]>([
  ['no converter', undefined],
  ['another key', wrongKey],
])('a client with %s lists and cancels, and says of all else why it cannot', async (_, other) => {
  const owner = clientWith(dataConverter);
  const stranger = clientWith(other);
  const threadId = uniqueName('thread');
  emulator.script([reply.toolCalls([{ name: 'sign', input: { what: 'plaintext input' } }])]);
  const started = await owner.thread(threadId).start('clerk', { goal: 'plaintext goal' });
  const [item] = await eventually(
    () => started.pending(),
    (pending) => pending.length > 0,
  );
  const run = stranger.run(started.runId);

  // What the server knows without any payload.
  expect((await stranger.list({ limit: 5 })).map(({ runId }) => runId)).toContain(started.runId);
  expect((await stranger.page()).runs.map(({ runId }) => runId)).toContain(started.runId);
  expect((await stranger.thread(threadId).last())?.runId).toBe(started.runId);

  const unreadable = /^converter-mismatch: .*(encryption|converter)/s;
  const mustRead: readonly (() => Promise<unknown>)[] = [
    () => run.status(),
    () => run.pending(),
    () => run.events().next(),
    () => run.why(),
    () => stranger.start('clerk', { goal: 'x' }),
    () => stranger.start('clerk', { goal: 'x', idempotencyKey: 'order-18' }),
    () => stranger.fork(started.runId, 1),
    () => stranger.schedule('clerk', { goal: 'x' }, { scheduleId: uniqueName('s'), spec: {} }),
  ];
  for (const work of mustRead) expect(await comesTo(work)).toMatch(unreadable);
  // A thread's next run waits for this one, and continues only what it can read.
  expect(await comesTo(() => stranger.thread(threadId).start('clerk', { goal: 'x' }))).toMatch(
    /^thread-busy/,
  );

  expect(await comesTo(() => run.cancel())).toBe('done');
  expect(await started.result()).toMatchObject({ status: 'cancelled' });
  expect(await comesTo(() => run.result())).toMatch(unreadable);
  expect(await comesTo(() => stranger.thread(threadId).start('clerk', { goal: 'x' }))).toMatch(
    unreadable,
  );
  expect(item?.type).toBe('approval');
});

test('a client whose worker lacks the converter is refused, too', async () => {
  const queue = uniqueName('bare');
  const bare = await createWorker({
    connection: server.nativeConnection,
    namespace,
    taskQueue: queue,
    activities: createActivities({
      store: stored.store,
      providers: emulatedProviders(emulator),
      agents: [
        {
          name: 'clerk',
          instructions: 'You sign.',
          chain: [{ provider: 'anthropic', model: testModel }],
          tools: [],
        },
      ],
    }),
  });
  await bare.runUntil(async () => {
    await eventually(
      () =>
        server.connection.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: queue },
        }),
      ({ pollers }) => pollers.length > 0,
    );
    const start = await refusal(
      clientWith(dataConverter).start({ agent: 'clerk', goal: 'x', taskQueue: queue }),
    );
    expect(start).toMatchObject({ code: 'converter-mismatch' });
    expect(start.message).toContain('Failed to parse activity args');
  });
});

test('commands read with the file that HOLDFAST_DATA_CONVERTER names, which finds its key in the environment', async () => {
  const runId = await signedRun();
  const converter = path.join(folder, 'converter.cjs');
  await writeFile(
    converter,
    `const { createEncryption } = require(${JSON.stringify(path.resolve('dist/index.js'))});
exports.dataConverter = {
  ...createEncryption({ keyId: 'one', keys: { one: process.env.PAYLOAD_KEY } }).dataConverter,
  payloadConverterPath: ${JSON.stringify(path.resolve('test/workers/fixtures/tagging-converter.cjs'))},
};`,
  );
  const variables = { HOLDFAST_DATA_CONVERTER: converter, PAYLOAD_KEY: key };
  const shown = await holdfast(['show', runId], variables);
  expect(shown.out).toContain('the plaintext answer');
  expect(shown.code).toBe(0);
  expect(await holdfast(['replay', '--run-id', runId], variables)).toMatchObject({ code: 0 });
  const swept = await holdfast(['gc', '--dry-run', '--json'], variables);
  expect(swept.out).toContain('"dryRun":true');

  const without = await holdfast(['show', runId], {});
  expect(without.code).toBe(2);
  expect(without.out).toContain(
    '(for commands: HOLDFAST_ENCRYPTION_KEYS or HOLDFAST_DATA_CONVERTER)',
  );
  const wrong = await holdfast(['show', runId], { ...variables, PAYLOAD_KEY: 'b2'.repeat(32) });
  expect(wrong.code).toBe(2);
  expect(wrong.out).toContain(`The history of "${runId}" cannot be read here`);
  await writeFile(converter, 'exports.converter = {};');
  const none = await holdfast(['show', runId], variables);
  expect(none.out).toContain('is not usable: it exports none');
  expect(none.code).toBe(2);
});
