/** Nothing that a person, a model or a tool says is too large for a run: no task is wedged, and history stays small. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import { reply } from '../../testing/emulator/script';
import { maxCallsPerReply, personTextChars } from '../../workflows/core/limits';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  firstPending,
  outcomeOf,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';
import { activityPayloads } from './history-payloads';

const megabyte = 1024 * 1024;
/** Characters of a message just below what Temporal takes. */
const messageChars = 1_900_000;
/** Bytes that no activity's input or result in a history may reach; the server accepts 2 MB (R-RUN-7). */
const payloadBytes = 100_000;

const blow = defineTool({
  name: 'blow',
  description: 'Says a lot.',
  input: z.object({ mb: z.number() }),
  effect: 'keyed',
  timeoutMs: 120_000,
  execute: ({ mb }) => {
    const line = `${'A long line of output, as programs write them. '.repeat(50)}\n`;
    const bytes = mb * megabyte;
    return `${line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes)}\nTHE END`;
  },
});
let swallowed: number[] = [];
const swallow = defineTool({
  name: 'swallow',
  description: 'Takes a lot.',
  input: z.object({ text: z.string() }),
  effect: 'keyed',
  execute: ({ text }) => {
    swallowed.push(text.length);
    return `${text.length} characters`;
  },
});
const complain = defineTool({
  name: 'complain',
  description: 'Fails at length.',
  input: z.object({}),
  effect: 'read',
  execute: () => {
    throw new ToolError('It did not work, and this is why. '.repeat(150_000));
  },
});
const sign = defineTool({
  name: 'sign',
  description: 'Needs approval.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute: () => 'signed',
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    {
      name: 'glutton',
      instructions: 'You work with tools.',
      chain: [{ provider: 'anthropic', model: testModel }],
      tools: [blow, swallow, complain, sign],
    },
  ]);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  swallowed = [];
});

const start = (): Promise<RunHandle> => world.start({ agent: 'glutton', goal: 'Go.' });

async function expectSmallHistory(handle: RunHandle): Promise<void> {
  const history = await handle.fetchHistory();
  const large = activityPayloads(history).filter(({ bytes }) => bytes >= payloadBytes);
  expect(large).toEqual([]);
  expect(history.events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
}

test.each([5, 50])(
  'stores a tool output of %i MB, and shows the model its head and the way to read on',
  async (mb) => {
    world.emulator.script((request) => {
      const [first, ...others] = request.toolResults;
      if (first === undefined) return reply.toolCalls([{ name: 'blow', input: { mb } }]);
      if (others.length > 0) return reply.text('done');
      const ref = /ref "([\w-]+)"/.exec(first.content)?.[1] ?? '';
      const offset = mb * megabyte - 100;
      return reply.toolCalls([{ name: 'read_output', input: { ref, offset } }]);
    });
    const handle = await start();
    const outcome = await outcomeOf(handle);
    expect(outcome).toMatchObject({
      status: 'completed',
      report: { toolCallsSucceeded: 2, toolCallsFailed: 0, healed: {} },
    });
    expect(world.emulator.requests.at(-1)?.toolResults[1]?.content).toContain('THE END');
    await expectSmallHistory(handle);
  },
);

test('runs a call whose arguments have a megabyte', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'swallow', input: { text: 'x'.repeat(megabyte) } }], {
      charactersPerDelta: 4_096,
    }),
    reply.text('done'),
  ]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed' });
  expect(swallowed).toEqual([megabyte]);
  await expectSmallHistory(handle);
  world.emulator.assertDrained();
});

test(`runs ${maxCallsPerReply} parallel calls with inputs of just under 4 KB`, async () => {
  const calls = Array.from({ length: maxCallsPerReply }, (_, index) => ({
    name: 'swallow',
    input: { text: String.fromCharCode(97 + (index % 26)).repeat(4_000 + index) },
  }));
  world.emulator.script([
    reply.toolCalls(calls, { charactersPerDelta: 4_096 }),
    reply.text('done'),
  ]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: maxCallsPerReply },
  });
  expect(swallowed.toSorted((a, b) => a - b)).toEqual(calls.map((_, index) => 4_000 + index));
  await expectSmallHistory(handle);
  world.emulator.assertDrained();
});

test(`tells the model of ${maxCallsPerReply} unknown tools with endless names`, async () => {
  const before = world.emulator.requests.length;
  const calls = Array.from({ length: maxCallsPerReply }, (_, index) => ({
    name: `no_such_tool_${index}_`.repeat(2_000),
    input: {},
  }));
  world.emulator.script([
    reply.toolCalls(calls, { charactersPerDelta: 4_096 }),
    reply.text('done'),
  ]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 0, healed: { invalid_tool: maxCallsPerReply } },
  });
  expect(world.emulator.requests[before + 1]?.lastUserText).toContain('no_such_tool_0_');
  await expectSmallHistory(handle);
  world.emulator.assertDrained();
});

test(`tells the model of ${maxCallsPerReply} calls whose parameters are all wrong, at length`, async () => {
  const before = world.emulator.requests.length;
  const calls = Array.from({ length: maxCallsPerReply }, (_, index) => ({
    name: 'swallow',
    input: { [`größe ${index} ${'über alles '.repeat(60)}`]: 'ß'.repeat(3_000) },
  }));
  world.emulator.script([
    reply.toolCalls(calls, { charactersPerDelta: 4_096 }),
    reply.text('done'),
  ]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 0, healed: {}, corrections: { troubles: maxCallsPerReply } },
  });
  expect(world.emulator.requests[before + 1]?.lastUserText).toContain('größe 0');
  await expectSmallHistory(handle);
  world.emulator.assertDrained();
});

test('runs the first calls of a reply that asks for thousands, and says that the others did not run', async () => {
  const before = world.emulator.requests.length;
  const calls = Array.from({ length: 4_000 }, () => ({ name: 'swallow', input: { text: 'a' } }));
  world.emulator.script([
    reply.toolCalls(calls, { charactersPerDelta: 4_096 }),
    reply.text('done'),
  ]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: maxCallsPerReply },
  });
  expect(swallowed).toHaveLength(maxCallsPerReply);
  expect(world.emulator.requests[before + 1]?.lastUserText).toContain('4000 tool calls');
  await expectSmallHistory(handle);
  world.emulator.assertDrained();
});

test('bounds what a tool complains of, and tells the way to the rest', async () => {
  world.emulator.script((request) => {
    const [failed, rest] = request.toolResults;
    if (failed === undefined) return reply.toolCalls([{ name: 'complain', input: {} }]);
    if (rest !== undefined) return reply.text('done');
    const ref = /ref "([\w-]+)"/.exec(failed.content)?.[1] ?? '';
    return reply.toolCalls([{ name: 'read_output', input: { ref, offset: 2_000_000 } }]);
  });
  const handle = await start();
  const outcome = await outcomeOf(handle);
  expect(outcome).toMatchObject({ status: 'completed', report: { toolCallsFailed: 1 } });
  const [failed, rest] = world.emulator.requests.at(-1)?.toolResults ?? [];
  expect(failed?.content).toMatch(/^\{"error":true.*characters left out/);
  expect(rest?.content).toContain('and this is why. It did not work');
  await expectSmallHistory(handle);
});

test('takes messages of 1.9 MB, and says what was cut', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'sign', input: {} }]),
    reply.text('one'),
    reply.text('two'),
    reply.text('three'),
  ]);
  const before = world.emulator.requests.length;
  const handle = await start();
  const item = await firstPending(handle);
  for (const letter of ['a', 'b', 'c'])
    await handle.signal('addMessage', { text: letter.repeat(messageChars) });
  await eventually(
    () => statusOf(handle),
    ({ lastError }) => lastError?.startsWith('payload_too_large') === true,
  );
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { approvalId, digest } = item;
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve' }],
  });
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'two' });
  const texts = world.emulator.requests
    .slice(before)
    .flatMap(({ conversation }) => conversation.turns.map(({ text }) => text));
  const received = texts.filter((text) => /^(a{9}|b{9})/.test(text));
  for (const text of received) {
    expect(text.length).toBeLessThanOrEqual(personTextChars);
    expect(text).toContain(`had ${messageChars} characters`);
  }
  expect(received.some((text) => text.startsWith('aaa'))).toBe(true);
  expect(received.some((text) => text.startsWith('bbb'))).toBe(true);
  const { events } = await handle.fetchHistory();
  expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
});

test('refuses a goal of 1.9 MB before anything is spent', async () => {
  const before = world.emulator.requests.length;
  const goal = 'g'.repeat(messageChars);
  const outcome = await world.run({ agent: 'glutton', goal });
  expect(outcome).toMatchObject({ status: 'failed', reason: 'infra' });
  expect(outcome.status === 'failed' && outcome.message).toContain(`${goal.length} characters`);
  expect(world.emulator.requests.length).toBe(before);
});
