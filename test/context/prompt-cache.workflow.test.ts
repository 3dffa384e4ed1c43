/** The prompt's beginning stays the same, byte for byte, through everything that heals, and the vendors' caches really hold it. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import { promptTokens } from '../../testing/emulator/billing';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import { addUsage, cachedShareOf, noUsage, type Usage } from '../../workflows/core/budget/spend';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';
import { brokenPrefixes, commonBlocks, promptOf } from '../support/prompt-prefix';

const work = defineTool({
  name: 'work',
  description: 'Works on a number, or fails where it is told to.',
  input: z.object({ n: z.number(), fails: z.boolean().optional() }),
  effect: 'read',
  execute: ({ n, fails }) => {
    if (fails === true) throw new ToolError(`step ${n} is not possible`);
    return `Worked on ${n}. ${'All of it went as planned. '.repeat(40)}`;
  },
});

const routes = [
  ['anthropic', 'claude-opus-5-5'],
  ['openai', 'gpt-5'],
  ['chat', 'gpt-4.1'],
] as const;

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    routes.map(([provider, model]) => ({
      name: provider,
      instructions: `You work in steps. ${'Each step is small and sure. '.repeat(60)}`,
      chain: [{ provider, model }],
      tools: [work],
      limits: { maxIterations: 60, streamRetryBaseMs: 1 },
    })),
  );
});
afterAll(() => world.dispose());

let n = 0;

function calls(count: number, fails = false): Step {
  return reply.toolCalls(
    Array.from({ length: count }, () => {
      n += 1;
      return { name: 'work', input: fails ? { n, fails } : { n } };
    }),
    { text: `Step ${n}.`, reasoning: `Thought ${n}.` },
  );
}

/** Thirty iterations: work, failures, mistakes, cut and overloaded streams, and a batch larger than Anthropic's lookback. */
function script(): readonly Step[] {
  const rounds = Array.from({ length: 5 }, (_, round): readonly Step[] => [
    calls(1),
    calls(2),
    calls(1, true),
    fault.cutStream({ afterCharacters: 8 }),
    calls(round === 2 ? 14 : 1),
    reply.rawToolArguments('work', '{"n": '),
    fault.http(529),
    calls(1),
  ]);
  return [...rounds.flat(), reply.text('done')];
}

function usageOf(requests: readonly RecordedRequest[]): Usage {
  return requests.flatMap(({ progress }) => progress.usage ?? []).reduce(addUsage, noUsage);
}

async function checkedRun([provider, model]: (typeof routes)[number]): Promise<void> {
  world.emulator.script(script(), { model });
  const outcome = await world.run({ agent: provider, goal: 'Work.' });
  expect(outcome).toMatchObject({ status: 'completed', report: { iterations: 31 } });
  const requests = world.emulator.requests.filter((request) => request.model === model);
  expect(requests.length).toBe(41);
  expect(brokenPrefixes(requests)).toEqual([]);
  const prompts = requests.map(promptOf);
  let possible = 0;
  let sent = 0;
  requests.forEach(({ progress }, index) => {
    const prompt = prompts[index] ?? [];
    const former = prompts[index - 1] ?? [];
    const common = commonBlocks(former, prompt);
    if (progress.usage === undefined) return;
    possible += promptTokens(prompt.slice(0, common));
    sent += promptTokens(prompt);
  });
  expect(cachedShareOf(usageOf(requests))).toBeGreaterThanOrEqual((possible / sent) * 0.9);
  // What a cut stream consumed is estimated, and an estimate knows of no cache.
  expect(outcome.report.cachedShare).toBeGreaterThan(0.75);
  const keys = new Set(requests.map(({ body }) => body['prompt_cache_key']));
  expect([...keys]).toEqual([
    provider === 'anthropic' ? undefined : expect.stringMatching(/^holdfast-/),
  ]);
}

test('holds the prompts of all vendors in their caches through failures, notes, nudges and retries', async () => {
  await Promise.all(routes.map(checkedRun));
  world.emulator.assertDrained();
});
