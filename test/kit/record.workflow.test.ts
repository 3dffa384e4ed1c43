/** `holdfast record`: a real run as a script, whose replay is the same run. */
import { compileFunction } from 'node:vm';
import { transformSync } from '@swc/core';
import { z } from 'zod';
import { createActivities, defineAgent, defineSubagent, defineTool } from '../../activities/index';
import { AgentClient } from '../../client/agent-client';
import type { Prompt, TestStep } from '../../testing/index';
import * as kit from '../../testing/index';
import { reply, testAgent, VendorEmulator } from '../../testing/index';
import { createWorker } from '../../workers/worker';
import { readEnvironment } from '../../workers/env';
import { emulatedProviders, firstPending } from '../support/agent-world';
import { Client } from '@temporalio/client';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { runCommand } from '../support/run-command';

const secret = `ghp_${'k9'.repeat(18)}`;
const chain = [{ provider: 'anthropic', model: 'claude-sonnet-5' }] as const;
const recovery = { mode: 'off' } as const;
const note = defineTool({
  name: 'write_note',
  description: 'Keeps a note.',
  input: z.object({ text: z.string() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ text }) => `noted: ${text}`,
});
const reader = defineAgent({
  name: 'reader',
  instructions: 'You read.',
  chain,
  tools: [],
  recovery,
});
const writer = defineAgent({
  name: 'writer',
  instructions: 'You write.',
  chain,
  tools: [note, defineSubagent({ name: 'ask_reader', description: 'Asks.', agent: reader })],
  completion: 'tool',
  recovery,
});

let server: DevServer;
let stored: TemporaryStore;
let emulator: VendorEmulator;
beforeAll(async () => {
  server = await startDevServer();
  stored = await temporaryStore();
  emulator = await VendorEmulator.start();
});
afterAll(async () => {
  await emulator.stop();
  await stored.dispose();
  await server.close();
});

/** Runs the command; returns what it printed. */
async function holdfast(...args: readonly string[]): Promise<string> {
  const { cacheDirectory, searchPath } = readEnvironment();
  const variables = {
    PATH: searchPath,
    TEMPORAL_ADDRESS: server.address,
    HOLDFAST_STORE: stored.url,
    HOLDFAST_CACHE_DIR: cacheDirectory,
    CRM_TOKEN: 'kq-blue-horse-stapler',
  };
  const { out, err } = await runCommand(args, { variables });
  return `${out}${err}`;
}

/** What a module of a test exports. */
function moduleOf(source: string): {
  readonly request: { readonly goal: string };
  readonly script: readonly TestStep[];
} {
  const { code } = transformSync(source, { module: { type: 'commonjs' } });
  const exports = {};
  const run = compileFunction(code, ['require', 'exports']) as (...given: unknown[]) => void;
  run(() => kit, exports);
  return exports as ReturnType<typeof moduleOf>;
}

const call = (name: string, input: Record<string, string>, text?: string) =>
  reply.toolCalls([{ name, input }], text === undefined ? {} : { text });

/** A run with everything that a script can have, one mistake that no transcript keeps, and secrets. */
async function realRun(): Promise<string> {
  emulator.script([
    call('ask_user', { question: 'Which one?' }, 'I ask first.'),
    reply.text('I forgot to call a tool.'),
    call('no_such_tool', {}),
    call('ask_reader', { task: 'Read it.' }),
    reply.text('It says hello.'),
    call('write_note', { text: `kq-blue-horse-stapler; ${secret}` }),
    call('write_note', { text: 'second' }),
    call('complete_task', { summary: 'Both noted.' }),
  ]);
  const taskQueue = uniqueName('record');
  const worker = await createWorker({
    connection: server.nativeConnection,
    taskQueue,
    cacheDirectory: readEnvironment().cacheDirectory,
    activities: createActivities({
      store: stored.store,
      providers: emulatedProviders(emulator),
      agents: [writer, reader],
    }),
  });
  return worker.runUntil(async () => {
    const { connection, namespace } = server;
    const client = new AgentClient(new Client({ connection, namespace }), { taskQueue });
    const run = await client.start(writer, { goal: `Note "${secret}".` });
    const handle = server.client.getHandle(run.runId);
    const question = await firstPending(handle);
    await run.answer(question.type === 'question' ? question.questionId : '', 'The blue one.');
    for (const text of ['changed', undefined]) {
      const item = await firstPending(handle);
      const id = item.type === 'approval' ? item.approvalId : '';
      if (text === undefined) await run.reject(id, 'One is enough.');
      else await run.approve(id, { input: { text } });
    }
    const { status } = await run.result();
    expect(status).toBe('completed');
    emulator.assertDrained();
    return run.runId;
  });
}

/** What the model was told, as far as it is the same in each run of the same script. */
function conversation(prompts: readonly Prompt[]): unknown {
  const told = JSON.stringify(prompts.at(-1)?.messages);
  return told.replaceAll(/fence=\\"\w+\\"/g, 'fence').replaceAll(/ghp_\w+|\[redacted\]/g, 'SECRET');
}

test('prints a script without secrets, whose run is the recorded one', async () => {
  const runId = await realRun();
  const source = await holdfast('record', runId);
  expect(source).not.toContain(secret);
  expect(source).not.toContain('kq-blue-horse-stapler');
  expect(source).toContain(`import { person, reply } from 'holdfast/testing';`);
  expect(source).toContain(
    '// A reply here was a mistake that no transcript keeps (invalid_tool).',
  );
  const { request, script } = moduleOf(source);
  const agent = await testAgent(writer, { agents: [reader] });
  try {
    const { result, prompts } = await agent.run(request, script);
    expect(result).toMatchObject({ status: 'completed', answer: 'Both noted.' });
    const first = emulator.requests.map(({ prompt }) => prompt);
    expect(conversation(prompts)).toBe(
      String(conversation(first)).replaceAll('kq-blue-horse-stapler', 'SECRET'),
    );
  } finally {
    await agent.close();
  }
  const [line = ''] = (await holdfast('record', runId, '--json')).trim().split('\n');
  expect(JSON.parse(line)).toEqual({ runId, agent: 'writer', script: source });
  expect(await holdfast('record', `${runId}-none`)).toContain('There is no run');
});
