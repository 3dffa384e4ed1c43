/** Compaction as a run lives it: on a real server, with the vendors' own refusals (layer 4). */
import { z } from 'zod';
import { publicHttpAnswers } from '../../bench/scorecard/provider/public-answers';
import { defineTool } from '../../activities/tools/define-tool';
import { fault, reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld, testModel } from '../support/agent-world';

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
}, 60_000);

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
}, 60_000);

test('context_overflow-01: asks for a shorter reply by the exact numbers, and compacts nothing', async () => {
  world.emulator.script([
    fault.rawHttp(publicHttpAnswers['context_overflow-01']),
    reply.text('done'),
  ]);
  const before = world.emulator.requests.length;
  const outcome = await world.run({ agent: 'talker', goal: 'Talk.' });
  expect(outcome).toMatchObject({ status: 'completed' });
  const [refused, sent] = world.emulator.requests.slice(before);
  expect(refused?.body['max_tokens']).toBe(64_000);
  expect(sent?.body['max_tokens']).toBeLessThanOrEqual(21_041);
  world.emulator.assertDrained();
}, 60_000);
