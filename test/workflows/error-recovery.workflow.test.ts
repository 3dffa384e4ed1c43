/** Errors that the model can correct, end to end: the flows and named tests of the specifications, on Temporal. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { firstPending, startAgentWorld, statusOf, testModel } from '../support/agent-world';

const chain: AgentDefinition['chain'] = [{ provider: 'anthropic', model: testModel }];
const instructions = 'You work with tools.';

const calculator = defineTool({
  name: 'calculator',
  description: 'Divides a by b.',
  input: z.object({ a: z.number(), b: z.number(), op: z.literal('divide') }),
  effect: 'read',
  execute: ({ a, b }) => {
    if (b === 0) throw new ToolError('division by zero');
    return String(a / b);
  },
});

const postToTelegram = defineTool({
  name: 'post_to_telegram',
  description: 'Posts a message.',
  input: z.object({ content: z.string(), chat_id: z.string() }),
  effect: 'keyed',
  execute: () => 'posted',
});

let searches = 0;
const search = defineTool({
  name: 'search',
  description: 'Searches.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: () => {
    searches += 1;
    throw new InfraException({ code: 'tool_infrastructure', message: 'Network down' });
  },
});

const flaky = defineTool({
  name: 'flaky',
  description: 'Fails with the text it is given, or works.',
  input: z.object({ failure: z.string().optional() }),
  effect: 'read',
  execute: ({ failure }) => {
    if (failure !== undefined) throw new ToolError(failure);
    return 'worked';
  },
});

const fail = (failure: string): ReturnType<typeof reply.toolCalls> =>
  reply.toolCalls([{ name: 'flaky', input: { failure } }]);
const succeed = reply.toolCalls([{ name: 'flaky', input: {} }]);

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    { name: 'asker', instructions, chain, tools: [calculator], completion: 'tool' },
    { name: 'poster', instructions, chain, tools: [postToTelegram] },
    { name: 'searcher', instructions, chain, tools: [search] },
    { name: 'tester', instructions, chain, tools: [flaky], limits: { maxIterations: 20 } },
    { name: 'finisher', instructions, chain, tools: [flaky], completion: 'tool' },
  ]);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  searches = 0;
});

function requestsSince(count: number): readonly RecordedRequest[] {
  return world.emulator.requests.slice(count);
}

test('tells the model of a division by zero, asks the user, and forgets the error', async () => {
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([{ name: 'calculator', input: { a: 100, b: 0, op: 'divide' } }]),
    reply.toolCalls([
      { name: 'ask_user', input: { question: 'I cannot divide by zero. Another calculation?' } },
    ]),
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'No calculation was wanted.' } }]),
  ]);
  const handle = await world.start({ agent: 'asker', goal: 'Calculate 100 divided by 0' });
  const question = await firstPending(handle);
  expect(question).toMatchObject({ type: 'question' });
  expect(await statusOf(handle)).toMatchObject({ status: 'waiting', ring: [expect.any(String)] });
  const questionId = question.type === 'question' ? question.questionId : '';
  await handle.executeUpdate('answer', { args: [{ questionId, answer: 'No, thank you.' }] });
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    answer: 'No calculation was wanted.',
    report: { healed: {}, toolCallsFailed: 1 },
  });
  const [, second, third] = requestsSince(before);
  const frame = 'The previous iteration failed with the following error:';
  expect(second?.lastUserText).toContain(frame);
  expect(second?.lastUserText).toContain('The error was: division by zero');
  expect(JSON.stringify(third?.body)).not.toContain(frame);
  expect((await statusOf(handle)).ring).toEqual([]);
  world.emulator.assertDrained();
});

test('test_missing_parameter_recovery', async () => {
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([{ name: 'post_to_telegram', input: { content: 'hello' } }]),
    reply.toolCalls([{ name: 'post_to_telegram', input: { content: 'hello', chat_id: '7' } }]),
    reply.text('Posted with success.'),
  ]);
  const outcome = await world.run({ agent: 'poster', goal: 'Post hello.' });
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: 'Posted with success.',
    report: {
      healed: { invalid_params: 1 },
      corrections: { troubles: 1, atFirstRetry: 1, rate: 1 },
      toolCallsSucceeded: 1,
      toolCallsFailed: 0,
    },
  });
  const [, second, third] = requestsSince(before);
  expect(second?.lastUserText).toContain('Missing required parameter: chat_id');
  expect(second?.lastUserText).toContain("Required parameters: ['content', 'chat_id']");
  // The call that never ran left no trace: the retry is the first call that the transcript holds.
  expect(second?.messagesCount).toBe(1);
  expect(JSON.stringify(third?.body)).not.toContain('Missing required parameter');
  world.emulator.assertDrained();
});

test('test_infrastructure_error_fails_fast', async () => {
  world.emulator.script([reply.toolCalls([{ name: 'search', input: { query: 'test' } }])]);
  const outcome = await world.run({ agent: 'searcher', goal: 'Search for test.' });
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: 'infra',
    failure: { kind: 'infra', code: 'tool_infrastructure' },
  });
  expect(outcome.status === 'failed' && outcome.message).toContain('System error: Network down');
  expect(searches).toBe(1);
  world.emulator.assertDrained();
});

describe('TestErrorTracking', () => {
  test('TracksSingleError', async () => {
    world.emulator.script([
      reply.rawToolArguments('flaky', '{'),
      reply.toolCalls([{ name: 'ask_user', input: { question: 'Well?' } }]),
    ]);
    const handle = await world.start({ agent: 'finisher', goal: 'Go.' });
    await firstPending(handle);
    expect((await statusOf(handle)).ring).toHaveLength(1);
    await handle.signal('stop', { reason: 'seen enough' });
    expect(await handle.result()).toMatchObject({ status: 'stopped', reason: 'seen enough' });
    world.emulator.assertDrained();
  });

  test('TracksMultipleDifferentErrors', async () => {
    world.emulator.script([
      ...['a', 'b', 'a', 'b', 'c', 'd'].map(fail),
      succeed,
      reply.text('done'),
    ]);
    expect(await world.run({ agent: 'tester', goal: 'Go.' })).toMatchObject({
      status: 'completed',
      report: { toolCallsFailed: 6, healed: { tool_execution_failed: 1 }, healedBy: { model: 1 } },
    });
    world.emulator.assertDrained();
  });

  test('TriggersCircuitBreakerOn5IdenticalErrors', async () => {
    const times = ['08:01:02', '08:01:04', '08:01:09', '08:02:00', '08:03:07'];
    world.emulator.script(times.map((time) => fail(`no connection at ${time}`)));
    const outcome = await world.run({ agent: 'tester', goal: 'Go.' });
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: 'circuit_breaker',
      report: { iterations: 5, toolCallsFailed: 5, worked: [] },
    });
    expect(outcome.report.didNotWork).toHaveLength(5);
    world.emulator.assertDrained();
  });

  test('ResetsAfterSuccessfulIteration', async () => {
    const four = ['x', 'x', 'x', 'x'].map(fail);
    world.emulator.script([...four, succeed, ...four, succeed, reply.text('done')]);
    expect(await world.run({ agent: 'tester', goal: 'Go.' })).toMatchObject({
      status: 'completed',
      report: { toolCallsFailed: 8, toolCallsSucceeded: 2 },
    });
    world.emulator.assertDrained();
  });

  test('CircuitBreakerRequiresAllFiveSlotsFilled', async () => {
    world.emulator.script([...['x', 'x', 'x', 'x'].map(fail), succeed, reply.text('done')]);
    expect(await world.run({ agent: 'tester', goal: 'Go.' })).toMatchObject({
      status: 'completed',
      report: { iterations: 6 },
    });
    world.emulator.assertDrained();
  });
});

test('lists the available tools after an unknown one, and demands a call where one is needed', async () => {
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([{ name: 'delete_everything', input: {} }]),
    reply.text('I think I am done.'),
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'Nothing was done.' } }]),
  ]);
  expect(await world.run({ agent: 'finisher', goal: 'Go.' })).toMatchObject({
    status: 'completed',
    report: { healed: { invalid_tool: 1, no_tool_call: 1 } },
  });
  const [, second, third] = requestsSince(before);
  expect(second?.lastUserText).toContain(
    'Use one of the available tools: [flaky, complete_task, ask_user]',
  );
  expect(third?.lastUserText).toContain('You must provide a tool call in your response.');
  expect(third?.lastUserText).not.toContain('delete_everything');
  expect(third?.messagesCount).toBe(1);
  world.emulator.assertDrained();
});

test('runs the good calls of a reply beside a bad one, and answers every id', async () => {
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([
      { name: 'flaky', input: {} },
      { name: 'flaky', input: { failure: 'broken' } },
      { name: 'nothing_like_it', input: {} },
    ]),
    reply.text('done'),
  ]);
  expect(await world.run({ agent: 'tester', goal: 'Go.' })).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 1 },
  });
  expect(requestsSince(before)[1]?.lastToolResults).toHaveLength(3);
  world.emulator.assertDrained();
});

test('never runs a call that was cut at the output limit, and says so', async () => {
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.rawToolArguments('flaky', '{"failure":"ha', { stop: 'max-tokens' }),
    reply.text('done'),
  ]);
  expect(await world.run({ agent: 'tester', goal: 'Go.' })).toMatchObject({
    status: 'completed',
    report: { toolCallsFailed: 0, toolCallsSucceeded: 0, healed: { output_truncated: 1 } },
  });
  const [first, second] = requestsSince(before);
  expect(second?.lastUserText).toContain('cut off at the output token limit');
  expect(Number(second?.body['max_tokens'])).toBe(Number(first?.body['max_tokens']) * 2);
  world.emulator.assertDrained();
});

test('stops at the iteration limit with what worked and what did not', async () => {
  world.emulator.script(() => succeed);
  const outcome = await world.run({ agent: 'tester', goal: 'Go.', limits: { maxIterations: 3 } });
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: 'max_iterations',
    report: { iterations: 3, toolCallsSucceeded: 3, worked: ['flaky', 'flaky', 'flaky'] },
  });
  expect(outcome.status === 'failed' && outcome.message).toMatch(
    /^Forced stop: reached maximum of 3 iterations.*\.\nEvents processed: \d+ \| Tool calls: 3 \| Elapsed: 0m \d+s\.\nPlease review the work completed so far\.$/,
  );
});
