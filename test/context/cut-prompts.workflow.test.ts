/** A server that cuts prompts silently, as a run meets it: case t2-local-01, played to its end, and its control. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ReplyStep } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld } from '../support/agent-world';
import { outcomeOf, startAgentWorld, statusOf } from '../support/agent-world';
import { storyOf } from '../support/folded-story';

interface Case {
  readonly id: string;
  readonly input: { readonly window_tokens: number; readonly replies: number };
  readonly expect: { readonly checks: { readonly compactions_min: number } };
}

const file = path.join(__dirname, '..', 'fixtures', 'cases', 'measures-and-clocks.jsonl');
const cases = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);
const { input, expect: expected } = cases.find(({ id }) => id === 't2-local-01') as Case;

const line =
  'Of the orders of this month, those above were paid in time, and those below were not.\n';
const read = defineTool({
  name: 'read',
  description: 'Reads a part.',
  input: z.object({ part: z.number() }),
  effect: 'read',
  execute: ({ part }) => `${part}\n${line.repeat(Math.ceil(11_000 / line.length))}`,
});

let world: AgentWorld;
beforeAll(async () => {
  const route = { provider: 'chat', windowTokens: input.window_tokens, maxOutputTokens: 2_000 };
  world = await startAgentWorld(
    ['cutting', 'honest', 'caching'].map((name) => ({
      name,
      instructions: 'You read all parts.',
      chain: [{ ...route, model: `qwen-${name}` }],
      tools: [read],
      limits: { maxIterations: 60, maxToolCalls: 60, maxSameCalls: 16 },
    })),
  );
});
afterAll(() => world.dispose());

/** Counts of each kind of server, of a request with so many tokens. */
const counts: Readonly<Record<string, (honest: number, before: number) => number>> = {
  cutting: (honest) => (honest <= 8_192 ? honest : 4_098),
  honest: (honest) => honest,
  // llama.cpp before it added what its cache held (open-webui/open-webui#26752).
  caching: (honest, before) => Math.max(honest - before, 40),
};

/** Reads one part after another; a summary is made where one is asked for. */
function model(kind: string): (request: RecordedRequest) => ReplyStep {
  let [asked, before] = [0, 0];
  return (request) => {
    const honest = Math.round(JSON.stringify(request.body['messages']).length / 3.5);
    const inputTokens = counts[kind]?.(honest, before) ?? 0;
    const usage = { inputTokens, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 };
    before = honest;
    if (request.systemText.includes('You summarize the record'))
      return reply.text('{"progress":"Parts were read.","facts":[],"decisions":[]}', { usage });
    asked += 1;
    return asked > input.replies
      ? reply.text('done', { usage })
      : reply.toolCalls([{ name: 'read', input: { part: asked } }], { usage });
  };
}

async function play(kind: string): Promise<{
  readonly compactions: number;
  readonly largestChars: number;
  readonly cuts: readonly Extract<TimelineEntry, { type: 'PromptCutEvent' }>[];
  readonly advice: readonly string[];
  readonly statusTokens: number;
}> {
  world.emulator.clearScripts();
  world.emulator.script(model(kind));
  const before = world.emulator.requests.length;
  const run = await world.start({ agent: kind, goal: 'Read all.' });
  const outcome = await outcomeOf(run);
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const requests = world.emulator.requests.slice(before);
  const story = await storyOf(world, run);
  const status = await statusOf(run);
  expect(status.advice ?? []).toEqual(outcome.report.advice ?? []);
  return {
    compactions: outcome.report.compactions ?? 0,
    largestChars: Math.max(...requests.map(({ body }) => JSON.stringify(body['messages']).length)),
    cuts: story.filter((entry) => entry.type === 'PromptCutEvent'),
    advice: outcome.report.advice ?? [],
    statusTokens: status.context?.tokens ?? 0,
  };
}

test('t2-local-01: the conversation is compacted by our own measure, and people hear of the cut once', async () => {
  const { compactions, largestChars, cuts, advice, statusTokens } = await play('cutting');
  expect(compactions).toBeGreaterThanOrEqual(expected.checks.compactions_min);
  expect(largestChars / 3.5).toBeLessThan(1.25 * input.window_tokens);
  expect(cuts).toHaveLength(1);
  expect(cuts[0]).toMatchObject({ route: 'chat/qwen-cutting', countedTokens: 4_098 });
  expect(cuts[0]?.measuredTokens).toBeGreaterThan(8_000);
  expect(advice).toHaveLength(1);
  expect(advice[0]).toMatch(/num_ctx.*windowTokens/);
  expect(statusTokens).not.toBe(4_098);
});

test('t2-local-01, the control: honest counts compact as well, and tell nothing', async () => {
  const { compactions, cuts, advice } = await play('honest');
  expect(compactions).toBeGreaterThanOrEqual(expected.checks.compactions_min);
  expect(cuts).toEqual([]);
  expect(advice).toEqual([]);
});

test('a server that counts only what its cache lacks does not keep the conversation from being compacted', async () => {
  const { compactions, largestChars } = await play('caching');
  expect(compactions).toBeGreaterThanOrEqual(expected.checks.compactions_min);
  expect(largestChars / 3.5).toBeLessThan(1.25 * input.window_tokens);
});
