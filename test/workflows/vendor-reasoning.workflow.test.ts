/** Reasoning that vendors bind to the conversation: it comes back over many iterations, with an error note in between, and no vendor refuses. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { ReplyStep } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';

const work = defineTool({
  name: 'work',
  description: 'Works, or fails where it is told to.',
  input: z.object({ n: z.number(), fails: z.boolean().optional() }),
  effect: 'keyed',
  execute: ({ n, fails }) => {
    if (fails === true) throw new ToolError(`step ${n} is not possible`);
    return `worked on ${n}`;
  },
});

/** A model of each kind on the wire: fixed, adaptive and preserved thinking on Anthropic's, both of OpenAI's, two behind a router. */
const routes = [
  ['anthropic', 'claude-sonnet-4-5', { budgetTokens: 2_048 }],
  ['anthropic', 'claude-sonnet-5', { effort: 'high' }],
  ['anthropic', 'claude-opus-5-5', { effort: 'low' }],
  ['openai', 'gpt-5', { effort: 'high' }],
  ['chat', 'gpt-5', { effort: 'minimal' }],
  ['openrouter', 'anthropic/claude-opus-5-5', { budgetTokens: 2_048 }],
  ['openrouter', 'google/gemini-3.1-pro', { effort: 'medium' }],
] as const;

/** Where each wire says how much to reason. */
const sentReasoning = /"(?:budget_tokens|max_tokens)":2048|"(?:effort|reasoning_effort)":"\w+"/;

const agentOf = (provider: string, model: string): string =>
  `${provider}-${model}`.replace('/', '-');

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    routes.map(([provider, model, reasoning]) => ({
      name: agentOf(provider, model),
      instructions: 'You work in steps.',
      chain: [
        { provider, model, reasoning, windowTokens: 200_000, prices: { input: 1, output: 9 } },
      ],
      tools: [work],
      budget: { usd: 1 },
      limits: { maxIterations: 20, streamRetryBaseMs: 1 },
    })),
  );
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

let n = 0;
const thinking = (...fails: boolean[]): ReplyStep =>
  reply.toolCalls(
    fails.map((each) => {
      n += 1;
      return { name: 'work', input: each ? { n, fails: true } : { n } };
    }),
    { reasoning: `Thought ${n}.`, text: `Step ${n}.` },
  );

test.each(routes)(
  'keeps the reasoning of %s/%s valid through tools, failures, notes, retries and mistakes',
  async (provider, model) => {
    const before = world.emulator.requests.length;
    n = 0;
    world.emulator.script([
      thinking(false),
      thinking(false, false),
      thinking(true),
      thinking(false, true),
      reply.rawToolArguments('work', '{"n": ', { reasoning: 'A bad thought.' }),
      thinking(false),
      fault.cutStream({ during: thinking(false), afterCharacters: 12 }),
      thinking(false),
      reply.toolCalls([{ name: 'no_such_tool', input: {} }], { reasoning: 'A worse thought.' }),
      reply.parts([
        { type: 'reasoning', text: 'hidden', redacted: true },
        { type: 'tool-call', name: 'work', argumentsText: '{"n": 99}' },
      ]),
      reply.parts([
        { type: 'reasoning', text: 'Before the first call.' },
        { type: 'tool-call', name: 'work', argumentsText: '{"n": 100}' },
        { type: 'reasoning', text: 'Before the second call.' },
        { type: 'tool-call', name: 'work', argumentsText: '{"n": 101}' },
      ]),
      reply.text('done', { reasoning: 'The last thought.' }),
    ]);
    const outcome = await world.run({ agent: agentOf(provider, model), goal: 'Work.' });
    expect(world.emulator.refusals).toEqual([]);
    expect(outcome).toMatchObject({
      status: 'completed',
      answer: 'done',
      report: {
        iterations: 11,
        healed: { tool_execution_failed: 2, invalid_json: 1, invalid_tool: 1, network: 1 },
      },
    });
    const requests = world.emulator.requests.slice(before);
    expect(requests[6]?.progress.landed).toBe(true);
    const notes = requests.map((request) =>
      JSON.stringify(request.body).includes('The previous iteration failed'),
    );
    // After a failed call, after a failure beside a success, after each mistake; never twice.
    expect(notes).toEqual(
      [3, 4, 5, 9].reduce((all, index) => all.with(index, true), Array<boolean>(12).fill(false)),
    );
    const last = JSON.stringify(requests.at(-1)?.body);
    expect(last).not.toContain('A bad thought.');
    expect(last).not.toContain('A worse thought.');
    // Only a turn that cannot begin with its own thought is sent without the budget.
    const told = requests.filter(({ body }) => sentReasoning.test(JSON.stringify(body)));
    const isFixed = provider === 'anthropic' && model === 'claude-sonnet-4-5';
    expect(told.length).toBeGreaterThanOrEqual(isFixed ? 4 : 12);
    if (model.includes('claude')) expect(last).toContain('Thought 1.');
    if (provider === 'openrouter') expect(last).toContain('reasoning_details');
    world.emulator.assertDrained();
  },
);
