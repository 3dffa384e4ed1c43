/** Images and files of goals, messages and answers in whole runs: by reference, to each wire, and past a model that takes none. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../activities/index';
import { presetProvider } from '../../activities/providers/presets';
import { AgentClient } from '../../client/agent-client';
import type { RunHandle } from '../../client/index';
import { fault, reply } from '../../testing/emulator/script';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld } from '../support/agent-world';
import { eventually, otherModel, startAgentWorld, testModel } from '../support/agent-world';
import { pdfFile, pngFile } from '../support/media-files';
import { temporaryStore } from '../support/temporary-store';
import { runCommand } from '../support/run-command';

const photo = pngFile(320, 200, 90);
const bill = pdfFile(2);
const base64 = (bytes: Buffer): string => bytes.toString('base64');

const camera = defineTool({
  name: 'camera',
  description: 'Takes a picture.',
  input: z.object({}),
  effect: 'read',
  execute: () => ({ type: 'image', data: photo, name: 'shot.png' }),
});
/** A script that does not fit ends a run, instead of a wait for the provider. */
const limits = { maxProviderWaitMs: 2_000 };
const wires = { anthropic: testModel, openai: otherModel, chat: otherModel } as const;
const agents = Object.entries(wires).map(([provider, model]) =>
  defineAgent({
    name: provider,
    instructions: 'You look.',
    chain: [{ provider, model }],
    tools: [camera],
    completion: 'tool',
    limits,
  }),
);
const plain = defineAgent({
  name: 'plain',
  instructions: 'You look.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [camera],
  limits,
});
/** Its first route rests after its failures, and that of the other agents does not. */
const failing = defineAgent({
  name: 'failing',
  instructions: 'You look.',
  chain: [
    { provider: 'anthropic', model: 'claude-sonnet-4-5' },
    { provider: 'deepseek', model: 'deepseek-chat' },
  ],
  tools: [camera],
  limits: { streamRetries: 0, streamRetryBaseMs: 1 },
});
const reader = defineAgent({
  name: 'reader',
  instructions: 'You read.',
  chain: [{ provider: 'deepseek', model: 'deepseek-chat' }],
  tools: [],
  completion: 'tool',
  limits,
});

let world: AgentWorld;
let client: AgentClient;
beforeAll(async () => {
  world = await startAgentWorld([...agents, plain, failing, reader], {
    providers: (emulator) => [
      presetProvider('deepseek', { apiKey: 'test-key', baseUrl: emulator.baseUrl('chat') }),
    ],
  });
  client = clientWith(world.stored.store);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

function clientWith(store: AgentWorld['stored']['store']): AgentClient {
  const { server, taskQueue } = world;
  const { connection, namespace, address } = server;
  return new AgentClient(new Client({ connection, namespace }), { taskQueue, address, store });
}

const done = reply.toolCalls([{ name: 'complete_task', input: { summary: 'Seen.' } }]);
const bodies = (from: number): readonly string[] =>
  world.emulator.requests.slice(from).map(({ body }) => JSON.stringify(body));

async function historyOf(runId: string): Promise<string> {
  const { events } = await world.server.client.getHandle(runId).fetchHistory();
  return JSON.stringify(events, (key, value: unknown) =>
    key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value,
  );
}

async function timelineOf(run: RunHandle<never> | RunHandle): Promise<readonly TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return entries;
}

test.each(Object.keys(wires))(
  '%s: goal, tool, answer and message; each reaches the model, none is in history',
  async (agent) => {
    const { length } = world.emulator.requests;
    world.emulator.script([
      reply.toolCalls([{ name: 'camera', input: {} }]),
      reply.toolCalls([{ name: 'ask_user', input: { question: 'Which bill?' } }]),
      reply.toolCalls([{ name: 'ask_user', input: { question: 'And the notes?' } }]),
      done,
    ]);
    const run = await client.start({
      agent,
      goal: [
        { type: 'text', text: 'What is on it?' },
        { type: 'image', data: photo, name: 'photo.png' },
      ],
    });
    const [question] = await eventually(
      () => run.pending(),
      (items) => items.length > 0,
    );
    const questionId = question?.type === 'question' ? question.questionId : '';
    const answer = [
      { type: 'text', text: 'This one:' },
      { type: 'file', data: bill, name: 'bill.pdf' },
    ] as const;
    await run.answer(questionId, answer);
    // A second click counts once; another file is another answer.
    await run.answer(questionId, answer);
    await expect(
      run.answer(questionId, [
        { type: 'text', text: 'This one:' },
        { ...answer[1], data: pdfFile(3) },
      ]),
    ).rejects.toMatchObject({ code: 'refused' });
    const [second] = await eventually(
      () => run.pending(),
      (items) => items.some((item) => item.type === 'question' && item.questionId !== questionId),
    );
    await run.addMessage([{ type: 'file', data: Buffer.from('pay by May'), name: 'notes.txt' }]);
    await run.answer(second?.type === 'question' ? second.questionId : '', 'They are there.');
    expect(await run.result()).toMatchObject({ status: 'completed' });

    expect(world.emulator.refusals).toEqual([]);
    const [first = '', , third = '', last = ''] = bodies(length);
    expect(first.split(base64(photo))).toHaveLength(2);
    expect(third).toContain(base64(bill));
    // Of the goal and of the tool, whose bytes are stored once.
    expect(last.split(base64(photo))).toHaveLength(3);
    expect(last).toContain('images in the result of camera');
    expect(last).toContain('pay by May');
    const history = await historyOf(run.runId);
    expect(history).toContain('[image 1: photo.png]');
    for (const bytes of [photo, bill]) {
      expect(history).not.toContain(base64(bytes).slice(100, 160));
      expect(history).not.toContain(bytes.toString('latin1').slice(0, 40));
    }
  },
);

test('failover to a model of text leaves a note in the request, and says so once in the timeline', async () => {
  world.emulator.script([
    fault.http(529),
    reply.toolCalls([{ name: 'camera', input: {} }]),
    reply.toolCalls([{ name: 'camera', input: {} }]),
    reply.text('I cannot see it.'),
  ]);
  const run = await client.start(failing, {
    goal: [
      { type: 'image', data: photo, name: 'photo.png' },
      { type: 'text', text: 'What is it?' },
    ],
  });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(world.emulator.refusals).toEqual([]);
  const last = JSON.stringify(world.emulator.requests.at(-1)?.body);
  expect(last).not.toContain('image_url');
  expect(last).toContain('an image out here (photo.png, image/png): this model takes no images.');
  const told = (await timelineOf(run)).filter(({ type }) => type === 'MediaLeftOutEvent');
  // For the photo, and for each new picture of the tool.
  expect(told.map((entry) => entry.type === 'MediaLeftOutEvent' && entry.media.length)).toEqual([
    1, 2, 3,
  ]);
  expect(told[0]).toMatchObject({
    route: 'deepseek/deepseek-chat',
    media: ['photo.png, image/png: this model takes no images'],
  });
});

test('what no model of the agent takes is refused: at the start, as a message, as an answer', async () => {
  const { length } = world.emulator.requests;
  const image = [{ type: 'image', data: photo, name: 'a.png' }] as const;
  const refused = await client.start(reader, { goal: image });
  expect(await refused.result()).toMatchObject({
    status: 'failed',
    failure: { code: 'config_invalid' },
  });
  expect(JSON.stringify(await refused.result())).toContain('no model of this agent takes images');
  expect(world.emulator.requests).toHaveLength(length);

  world.emulator.script([
    reply.toolCalls([{ name: 'ask_user', input: { question: 'Which?' } }]),
    done,
  ]);
  const run = await client.start(reader, { goal: 'Read.' });
  const [question] = await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  const questionId = question?.type === 'question' ? question.questionId : '';
  for (const send of [() => run.addMessage(image), () => run.answer(questionId, image)])
    await expect(send()).rejects.toThrow(/"a\.png": no model of this agent takes images/);
  // Whoever does not use the client is refused by the run itself.
  const { attachments } = await client.upload(image);
  const handle = world.server.client.getHandle(run.runId);
  await expect(
    handle.executeUpdate('answer', { args: [{ questionId, answer: 'x', attachments }] }),
  ).rejects.toHaveProperty(
    'cause.message',
    '"a.png": no model of this agent takes images (deepseek/deepseek-chat). Add a route with a model that does, or say so with `media` on the route.',
  );
  await handle.signal('addMessage', { text: 'x', attachments });
  await handle.signal('addMessage', { text: 'x', attachments: [{ ref: '../..' }] });
  await run.answer(questionId, [{ type: 'file', data: Buffer.from('the second') }]);
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain('the second');
  const dropped = (await timelineOf(run)).filter(({ type }) => type === 'SignalDroppedEvent');
  expect(dropped).toHaveLength(2);
});

test('a fork says an image, and a thread of runs keeps the one before; another store is refused', async () => {
  world.emulator.script([reply.text('A gray picture.')]);
  const first = await client.start(plain, {
    goal: [
      { type: 'text', text: 'What is it?' },
      { type: 'image', data: photo },
    ],
  });
  expect(await first.result()).toMatchObject({ status: 'completed' });
  const other = pngFile(10, 10, 200);
  world.emulator.script([reply.text('Another one.')]);
  const fork = await client.fork(first.runId, 1, {
    message: [
      { type: 'text', text: 'And this?' },
      { type: 'image', data: other },
    ],
  });
  expect(await fork.result()).toMatchObject({ status: 'completed' });
  const asked = JSON.stringify(world.emulator.requests.at(-1)?.body);
  expect(asked.split(base64(photo))).toHaveLength(2);
  expect(asked.split(base64(other))).toHaveLength(2);

  const elsewhere = await temporaryStore();
  const stranger = clientWith(elsewhere.store);
  await expect(
    stranger.fork(first.runId, 1, { message: [{ type: 'image', data: other }] }),
  ).rejects.toThrow(/lives in store .* Connect with the run's store\. Nothing was started\./);
  await elsewhere.dispose();
});

test('the command line sends files, shows them, and refuses what is none', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-files-'));
  await writeFile(path.join(directory, 'photo.png'), photo);
  await writeFile(path.join(directory, 'notes.md'), '# pay by May');
  await writeFile(path.join(directory, 'archive.zip'), 'PK\x03\x04\0\0\0\0');
  const { server, stored, taskQueue } = world;
  const variables = {
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: server.namespace,
    HOLDFAST_TASK_QUEUE: taskQueue,
    HOLDFAST_STORE: stored.url,
  };
  const holdfast = async (...args: readonly string[]) => {
    const { code, out, err } = await runCommand(args, { variables, directory });
    return { code, said: `${out}\n${err}` };
  };
  world.emulator.script([reply.text('A gray picture.')]);
  const runId = `files-${process.pid}`;
  const files = ['--file', 'photo.png', '--file', 'notes.md'];
  expect(
    await holdfast('run', 'Look.', '--agent', 'plain', ...files, '--id', runId, '--detach'),
  ).toMatchObject({ code: 0 });
  expect(await client.run(runId).result()).toMatchObject({ status: 'completed' });
  const body = JSON.stringify(world.emulator.requests.at(-1)?.body);
  expect(body).toContain(base64(photo));
  expect(body).toContain('# pay by May');
  const { said } = await holdfast('transcript', runId);
  expect(said).toContain(`(image, photo.png, image/png, ${photo.length} bytes, ref `);

  expect(await holdfast('message', runId, 'x', '--file', 'lost.png')).toMatchObject({
    code: 2,
    said: expect.stringMatching(/lost\.png cannot be read.*\(--file PATH\)/) as string,
  });
  expect(
    await holdfast('answer', runId, 'x', '--question', 'q', '--file', 'archive.zip'),
  ).toMatchObject({
    code: 2,
    said: expect.stringMatching(/"archive\.zip" cannot be used: it is neither a PDF/) as string,
  });
  await rm(directory, { recursive: true });
});
