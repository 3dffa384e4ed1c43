/** Compaction as a run lives it: on a real server, with the vendors' own refusals (layer 4). */
import { z } from 'zod';
import { longRunBench } from '../../bench/context-bench';
import { publicHttpAnswers } from '../../bench/scorecard/provider/public-answers';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { ScriptRule } from '../../testing/emulator/script-queue';
import type { AgentWorld } from '../support/agent-world';
import { uniqueName, workflowBundle } from '../support/temporal';
import { outcomeOf, startAgentWorld, testModel } from '../support/agent-world';
import { storyOf } from '../support/folded-story';
import { rawHttp } from '../../bench/scorecard/provider/recorded-answer';

const windowTokens = 20_000;

/** Gives about so many tokens, no line like another. */
const dig = defineTool({
  name: 'dig',
  description: 'Digs.',
  input: z.object({ tokens: z.number(), seed: z.string() }),
  effect: 'read',
  execute: ({ tokens, seed }) =>
    Array.from({ length: Math.ceil(tokens / 8) }, (_each, line) => `${seed} ${line} ore`).join(
      '\n',
    ),
});

let world: AgentWorld;

beforeAll(async () => {
  world = await startAgentWorld([
    {
      name: 'digger',
      instructions: 'You dig.',
      chain: [
        { provider: 'anthropic', model: testModel, windowTokens, maxOutputTokens: 1_000 },
        { provider: 'openai', model: 'gpt-5', windowTokens, maxOutputTokens: 1_000 },
      ],
      tools: [dig],
      limits: { maxIterations: 60, streamRetryBaseMs: 1 },
    },
    {
      name: 'talker',
      instructions: 'You talk.',
      chain: [
        { provider: 'anthropic', model: testModel, windowTokens: 200_000, maxOutputTokens: 64_000 },
      ],
      tools: [],
    },
  ]);
});

afterAll(() => world.dispose());

const digs = (tokens: number, seed: string) =>
  reply.toolCalls([{ name: 'dig', input: { tokens, seed } }]);

test('strips old results when the window fills, and the run goes on with what the stubs name', async () => {
  const seeds = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  world.emulator.script([...seeds.map((seed) => digs(5_000, seed)), reply.text('done')]);
  const outcome = await world.run({ agent: 'digger', goal: 'Dig for ore.' });
  expect(world.emulator.refusals).toEqual([]);
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const last = JSON.stringify(world.emulator.requests.at(-1)?.body);
  const ref = /Read it with read_output, ref \\"([\w-]{43})\\"/.exec(last)?.[1] ?? '';
  expect((await world.stored.store.getBlob(ref)).toString()).toContain('a 1 ore');
  world.emulator.assertDrained();
});

test('context_overflow-01: asks for a shorter reply by the exact numbers, and compacts nothing', async () => {
  world.emulator.script([rawHttp(publicHttpAnswers['context_overflow-01']), reply.text('done')]);
  const before = world.emulator.requests.length;
  const outcome = await world.run({ agent: 'talker', goal: 'Talk.' });
  expect(outcome).toMatchObject({ status: 'completed' });
  const [refused, sent] = world.emulator.requests.slice(before);
  expect(refused?.body['max_tokens']).toBe(64_000);
  expect(sent?.body['max_tokens']).toBeLessThanOrEqual(21_041);
  world.emulator.assertDrained();
});

test('keeps the tokenizer out of the workflow bundle', async () => {
  const bundle = await workflowBundle();
  expect(bundle.code).toContain('decideCompaction');
  expect(bundle.code).not.toMatch(/gpt-tokenizer|o200k_base|bytePairRank/i);
});

const summarySystem = 'You summarize the record of an agent';
const isSummary = ({ systemText }: RecordedRequest): boolean => systemText.includes(summarySystem);

/** A reply of so many tokens of text, so that nothing can be stripped. */
const rambles = (turn: number): Step =>
  reply.toolCalls([{ name: 'dig', input: { tokens: 1, seed: `s${turn}` } }], {
    text: Array.from({ length: 250 }, (_each, line) => `thought ${turn} of ${line} gold`).join(
      '\n',
    ),
  });

const aSummary = (facts: readonly string[]): Step =>
  reply.text(JSON.stringify({ progress: 'Dug on.', facts, decisions: [] }));

/** Plays turns for the agent, and `summaries` for whoever is asked to summarize. */
function play(turns: number, summaries: Step[], sent: RecordedRequest[]): ScriptRule {
  let turn = 0;
  return (request) => {
    sent.push(request);
    if (isSummary(request)) return summaries.shift() ?? aSummary(['too many summaries']);
    turn += 1;
    return turn > turns ? reply.text('done') : rambles(turn);
  };
}

test('summarizes in parts, pays for no part twice, and keeps goal and facts', async () => {
  const sent: RecordedRequest[] = [];
  const facts = aSummary(['The mine holds kestrel-4471.']);
  world.emulator.clearScripts();
  world.emulator.script(
    play(16, [facts, fault.http(529), facts, facts, facts, facts, facts], sent),
  );
  const handle = await world.start({ agent: 'digger', goal: 'Dig for gold in mine seven.' });
  const outcome = await outcomeOf(handle);
  expect(world.emulator.refusals).toEqual([]);
  expect(outcome).toMatchObject({ status: 'completed', report: { failovers: 0 } });
  const told = (await storyOf(world, handle)).filter(({ type }) => type === 'CompactionEvent');
  expect(told).toHaveLength(outcome.report.compactions ?? 0);
  expect(told.length).toBeGreaterThan(0);
  const prompts = sent.filter(isSummary).map(({ lastUserText }) => lastUserText);
  expect(prompts.length).toBeGreaterThanOrEqual(2);
  // The refused one came again; no other did.
  expect(new Set(prompts).size).toBe(prompts.length - 1);
  const last = JSON.stringify(sent.at(-1)?.body);
  expect(last).toContain('Dig for gold in mine seven.');
  expect(last).toContain('kestrel-4471');
  expect(last).not.toContain('thought 1 of');
  expect(last).toContain('thought 16 of');
  for (const { progress } of sent) {
    const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = progress.usage ?? {};
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBeLessThan(windowTokens);
  }
});

test('asks the next route where a summary is none, and needs no model where all fail', async () => {
  const sent: RecordedRequest[] = [];
  world.emulator.clearScripts();
  const calls = reply.toolCalls([{ name: 'dig', input: { tokens: 1, seed: 'x' } }]);
  const useless: Step[] = [calls, reply.refusal(), reply.empty(), calls, calls, calls];
  world.emulator.script(play(10, useless, sent));
  const outcome = await world.run({ agent: 'digger', goal: 'Dig for tin.' });
  expect(outcome.status).toBe('completed');
  expect(
    sent
      .filter(isSummary)
      .map(({ wire }) => wire)
      .slice(0, 2),
  ).toEqual(['anthropic', 'responses']);
  const last = JSON.stringify(sent.at(-1)?.body);
  expect(last).toContain('described without a model');
  expect(last).toContain('Dig for tin.');
});

test('runs on far beyond its window, and answers with what was planted at the start (the bench in small)', async () => {
  const { address } = world.server;
  const result = await longRunBench(40, {
    windowTokens: 6_144,
    place: { address, taskQueue: uniqueName('bench') },
  });
  expect(result).toMatchObject({ isRight: true, iterations: 40, factsAnswered: 3, refusals: [] });
});
