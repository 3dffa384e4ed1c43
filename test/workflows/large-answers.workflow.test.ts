/**
 * An answer or an output of 1 MB arrives whole at the caller, and by reference in a parent run; what is cut says so (ADR 0044).
 * Inputs from the review of 0.3.0 and public reports: vstorm-co/subagents-pydantic-ai#56, lucianfialho/effect-gates#69,
 * myriade-ai/agentlys#346, xorbitsai/xagent#2392, zeroclaw-labs/zeroclaw#10115.
 */
import path from 'node:path';
import { z } from 'zod';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import type { Step } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import { answerBytes } from '../../workflows/core/limits';
import type { AgentWorld } from '../support/agent-world';
import { outcomeOf, startAgentWorld, testModel } from '../support/agent-world';

const chain = [{ provider: 'anthropic', model: testModel }] as const;
const rows = z.object({ rows: z.array(z.object({ id: z.number(), note: z.string() })) });

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    [
      { name: 'writer', instructions: 'You write.', chain, tools: [] },
      {
        name: 'filler',
        instructions: 'You fill.',
        chain,
        tools: [],
        completion: 'tool',
        output: rows,
      },
      {
        name: 'lead',
        instructions: 'You lead.',
        chain,
        tools: [
          defineSubagent({ name: 'ask_writer', description: 'Writes.', agent: 'writer' }),
          defineSubagent({ name: 'ask_filler', description: 'Fills.', agent: 'filler' }),
        ],
      },
    ],
    { workflowsPath: path.join(__dirname, 'fixtures', 'asks-writer.ts') },
  );
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

const megabyte = 1024 * 1024;
const text = `${'Zeile mit "Wörtern".\n'.repeat(60_000).slice(0, megabyte - 50_000)}THE END.`;
const output = {
  rows: Array.from({ length: 16_000 }, (_, id) => ({
    id,
    note: `Row ${id}: "paid" in full on time, and thanks`,
  })),
};
const longText: Step = reply.text(text, { charactersPerDelta: 65_536 });
const filled: Step = reply.toolCalls(
  [{ name: 'complete_task', input: { summary: 'All rows.', result: output } }],
  { charactersPerDelta: 65_536 },
);

test('result() gives the whole answer', async () => {
  world.emulator.script([longText]);
  const handle = await world.start({ agent: 'writer', goal: 'Write.' });
  const result = await world.client.run(handle.workflowId).result();
  expect(result.status === 'completed' && result.answer === text).toBe(true);
});

test('result() gives the whole structured output', async () => {
  world.emulator.script([filled]);
  const handle = await world.start({ agent: 'filler', goal: 'Fill.' });
  const result = await world.client.run(handle.workflowId).result(rows);
  expect(JSON.stringify(output).length).toBeGreaterThan(megabyte);
  expect(result.status === 'completed' && result.output).toEqual(output);
});

test('runAgent gives the whole answer', async () => {
  world.emulator.script([longText]);
  const got: unknown = await world.server.client.execute('asksWriter', {
    taskQueue: world.taskQueue,
    workflowId: `asks-${world.taskQueue}`,
  });
  expect(got).toEqual([text.length, 'THE END.']);
});

test.each([
  ['ask_writer', longText, 'THE END.'],
  ['ask_filler', filled, 'Row 15999'],
])('a parent run reads the whole of %s by reference', async (name, answer, end) => {
  world.emulator.script((request) => {
    if (!request.systemText.startsWith('You lead')) return answer;
    const [shown, rest] = request.toolResults;
    if (shown === undefined) return reply.toolCalls([{ name, input: { task: 'All of it.' } }]);
    if (rest !== undefined) return reply.text('done');
    const [, bytes = '0', ref = ''] = /has (\d+) bytes.*ref "([\w-]+)"/.exec(shown.content) ?? [];
    return reply.toolCalls([{ name: 'read_output', input: { ref, offset: Number(bytes) - 200 } }]);
  });
  const outcome = await outcomeOf(await world.start({ agent: 'lead', goal: 'Lead.' }));
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const [shown, rest] = world.emulator.requests.at(-1)?.toolResults ?? [];
  expect(shown?.content).toContain('characters left out');
  expect(rest?.content).toContain(end);
});

test('a longer answer says what is left out and where it is', async () => {
  world.emulator.script([reply.text('A line.\n'.repeat(250_000), { charactersPerDelta: 65_536 })]);
  const outcome = await outcomeOf(await world.start({ agent: 'writer', goal: 'Write.' }));
  const answer = outcome.status === 'completed' ? outcome.answer : '';
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(answerBytes);
  expect(answer.includes('characters left out')).toBe(true);
  expect(answer.slice(-120)).toMatch(
    /\[The answer has \d+ characters\. The run's transcript has the whole: holdfast transcript RUN\.\]$/,
  );
});

test('an output that is too long is told with its limit', async () => {
  const tooMuch = { summary: 'x'.repeat(answerBytes), result: { rows: [] } };
  const before = world.emulator.requests.length;
  world.emulator.script([
    reply.toolCalls([{ name: 'complete_task', input: tooMuch }], { charactersPerDelta: 65_536 }),
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'short', result: { rows: [] } } }]),
  ]);
  const outcome = await outcomeOf(await world.start({ agent: 'filler', goal: 'Fill.' }));
  expect(outcome).toMatchObject({ status: 'completed', answer: 'short' });
  expect(world.emulator.requests[before + 1]?.lastUserText).toContain(
    `has more than ${answerBytes} bytes of JSON`,
  );
});
