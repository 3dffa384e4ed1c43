/** Guardrails on a real server: functions of the author, in activities, before the first call and before the answer. */
import { z } from 'zod';
import { defineAgent, InfraException } from '../../activities/index';
import { reply } from '../../testing/emulator/script';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld, testModel } from '../support/agent-world';

const chain = [{ provider: 'anthropic', model: testModel }] as const;

/** What the checks were given. */
const seen: unknown[] = [];
let failures = 0;

const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You answer.',
  chain,
  context: z.object({ banned: z.string() }),
  completion: 'tool',
  output: z.object({ price: z.coerce.number() }),
  tools: [],
  handoffs: ['colleague'],
  guardrails: {
    input: [
      {
        name: 'on_topic',
        check: (text, { context, runId, agent, tenant }) => {
          seen.push([text, { runId, agent, tenant }]);
          if (text.includes('hurry')) return { correct: 'Answer in one line.' };
          return text.includes(context.banned) ? { stop: `it is about ${context.banned}` } : null;
        },
      },
    ],
    output: [
      {
        name: 'fair_price',
        check: ({ text, output }) => {
          seen.push([text, output]);
          if (output.price > 1_000) return { stop: 'nobody pays that' };
          return output.price > 100 ? { correct: 'At most 100.' } : null;
        },
      },
      {
        name: 'no_swearing',
        check: ({ text }) => (text.includes('damn') ? { correct: 'Be kind.' } : null),
      },
    ],
  },
});

const colleague = defineAgent({
  name: 'colleague',
  instructions: 'You help.',
  chain,
  tools: [],
  guardrails: { input: [{ name: 'takes_over', check: (text) => (seen.push(text), null) }] },
});

const flaky = defineAgent({
  name: 'flaky',
  instructions: 'You answer.',
  chain,
  tools: [],
  guardrails: {
    output: [
      {
        name: 'moderation',
        timeoutMs: 2_000,
        check: async ({ text }, { signal }) => {
          if (text === 'slow')
            await new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => {
                reject(new Error('aborted'));
              });
            });
          if (text === 'config')
            throw new InfraException({ code: 'config_invalid', message: 'no key for moderation' });
          failures += 1;
          if (text === 'broken' || failures < 3) throw new Error('the service answered 503');
          return null;
        },
      },
    ],
  },
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([clerk, colleague, flaky]);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  seen.length = 0;
  failures = 0;
});

const context = { banned: 'politics' };
const answer = (summary: string, price: number | string) =>
  reply.toolCalls([{ name: 'complete_task', input: { summary, result: { price } } }]);
const lastRequest = (): string => JSON.stringify(world.emulator.requests.at(-1)?.body);

type Verdict = Extract<TimelineEntry, { type: 'GuardrailEvent' }>;

async function verdictsOf(runId: string): Promise<readonly string[]> {
  const entries: Verdict[] = [];
  for await (const entry of world.client.run(runId).events())
    if (entry.type === 'GuardrailEvent') entries.push(entry);
  return entries.map(({ stage, name, verdict }) => `${stage} ${name} ${verdict}`);
}

test('checks read what is asked and the typed answer, with the run’s context; all is named', async () => {
  world.emulator.script([answer('Fine.', '42')]);
  const run = await world.client.start(clerk, { goal: 'A price?', context, tenant: 'shop' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: { price: 42 } });
  expect(seen).toEqual([
    ['A price?', { runId: run.runId, agent: 'clerk', tenant: 'shop' }],
    ['Fine.', { price: 42 }],
  ]);
  expect(await verdictsOf(run.runId)).toEqual([
    'input on_topic passed',
    'output fair_price passed',
    'output no_swearing passed',
  ]);
});

test('a stop before the first call costs no request', async () => {
  const { length } = world.emulator.requests;
  const run = await world.client.start(clerk, { goal: 'About politics.', context });
  expect(await run.result()).toMatchObject({
    status: 'failed',
    reason: 'guardrail',
    message:
      'The guardrail "on_topic" stopped the run before its first model call: it is about politics',
  });
  expect(world.emulator.requests).toHaveLength(length);
});

test('corrections: of the input as a note, of the answer as a note and another try', async () => {
  const { length } = world.emulator.requests;
  world.emulator.script([answer('damn dear', 300), answer('Fine.', 99)]);
  const run = await world.client.start(clerk, { goal: 'A price, hurry!', context });
  expect(await run.result()).toMatchObject({
    output: { price: 99 },
    report: { healed: { guardrail: 2 } },
  });
  const [first] = world.emulator.requests.slice(length);
  expect(JSON.stringify(first?.body)).toContain('Answer in one line.');
  for (const text of ['Hint: At most 100.', 'Hint: Be kind.'])
    expect(lastRequest()).toContain(text);
  expect(lastRequest()).not.toContain('damn dear');
  expect(await verdictsOf(run.runId)).toEqual([
    'input on_topic corrected',
    'output fair_price corrected',
    'output no_swearing corrected',
    'output fair_price passed',
    'output no_swearing passed',
  ]);
});

test('a stopped answer reaches nobody: not the result, not the status, not the transcript', async () => {
  world.emulator.script([answer('a secret price', 5_000)]);
  const run = await world.client.start(clerk, { goal: 'A price?', context });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'failed', reason: 'guardrail' });
  expect(JSON.stringify([result, await run.status()])).not.toContain('a secret price');
  const messages = await world.stored.store.loadTranscript(result.report.head ?? '');
  expect(messages.map(({ role }) => role)).toEqual(['user']);
});

test('the agent that takes over is asked too, and the answer stays a matter of the first one', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'transfer_to_colleague', input: { reason: 'Help.' } }]),
    answer('Dear.', 101),
    answer('Fine.', 7),
  ]);
  const run = await world.client.start(clerk, { goal: 'A price?', context });
  expect(await run.result()).toMatchObject({
    output: { price: 7 },
    report: { actingAgent: 'colleague' },
  });
  expect(await verdictsOf(run.runId)).toEqual([
    'input on_topic passed',
    'input takes_over passed',
    'output fair_price corrected',
    'output no_swearing passed',
    'output fair_price passed',
    'output no_swearing passed',
  ]);
});

test('a check that throws is tried again, and its verdict counts', async () => {
  world.emulator.script([reply.text('hello')]);
  const run = await world.client.start(flaky, { goal: 'Talk.' });
  expect(await run.result()).toMatchObject({ status: 'completed', answer: 'hello' });
  expect(failures).toBe(3);
});

test.each([
  [
    'broken',
    'guardrail_failed',
    'The guardrail "moderation" gave no verdict, so nothing passed: the service answered 503.',
  ],
  ['slow', 'guardrail_failed', 'it took longer than 2000 ms'],
  ['config', 'config_invalid', 'no key for moderation'],
])(
  'a check that gives no verdict ends the run, and nothing passes: %s',
  async (text, code, why) => {
    failures = 3;
    world.emulator.script([reply.text(text)]);
    const run = await world.client.start(flaky, { goal: 'Talk.' });
    expect(await run.result()).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(why) as string,
      failure: { code },
    });
  },
);
