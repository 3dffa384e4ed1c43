/** The public cases of dialects, replayed thoughts and stop reasons (test/fixtures/cases/dialects.jsonl), each as a whole run. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../activities/providers/presets';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { fault, reply } from '../../testing/emulator/script';
import type { JsonValue } from '../../workflows/core/json';
import type { AgentWorld } from '../support/agent-world';
import { otherModel, startAgentWorld, testModel } from '../support/agent-world';

interface Case {
  readonly id: string;
  readonly input: { readonly status: number; readonly body: JsonValue; readonly content?: string };
}

const cases = new Map(
  readFileSync(path.join(__dirname, '..', 'fixtures', 'cases', 'dialects.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
    .map((each) => [each.id, each.input]),
);

function inputOf(id: string): Case['input'] {
  const input = cases.get(id);
  if (input === undefined) throw new Error(`no case ${id}`);
  return input;
}

const count = defineTool({
  name: 'count',
  description: 'Counts up to n.',
  input: z.object({ n: z.number().int().positive() }),
  effect: 'read',
  execute: ({ n }) => `counted to ${n}`,
});

const route = (provider: string, model: string): AgentDefinition['chain'][number] => ({
  provider,
  model,
  windowTokens: 100_000,
});

function agent(name: string, ...chain: AgentDefinition['chain'][number][]): AgentDefinition {
  const [first = route('chat', otherModel), ...rest] = chain;
  return { name, instructions: 'You count.', chain: [first, ...rest], tools: [count] };
}

const presets = ['mistral', 'kimi', 'gemini', 'vllm'] as const;

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    [
      ...presets.map((name) => agent(name, route(name, `${name}-model`))),
      agent('moonshot', route('moonshot', 'kimi-k2.6')),
      agent('gateway', route('openai', otherModel)),
      agent('gateway-and-other', route('openai', otherModel), route('anthropic', testModel)),
      agent('paused', route('anthropic', testModel)),
    ],
    {
      servers: { mistral: 'mistral', kimi: 'kimi', gemini: 'gemini', moonshot: 'kimi' },
      providers: (emulator) => [
        ...presets.map((name) =>
          presetProvider(name, { apiKey: 'k', baseUrl: emulator.baseUrl('chat', name) }),
        ),
        openaiProvider({
          name: 'moonshot',
          api: 'chat',
          apiKey: 'k',
          baseUrl: emulator.baseUrl('chat', 'moonshot'),
        }),
      ],
    },
  );
});
afterAll(() => world.dispose());

let seen: number;
beforeEach(() => {
  world.emulator.clearScripts();
  seen = world.emulator.requests.length;
});

const sent = (): readonly RecordedRequest[] => world.emulator.requests.slice(seen);
const refusals = (): readonly string[] =>
  sent().flatMap(({ answer }) => (answer.type === 'refused' ? [answer.error.message ?? ''] : []));
const counting = reply.toolCalls([{ name: 'count', input: { n: 3 } }], {
  reasoning: 'I should look.',
});

test.each([
  ['t2-compat-01', 'mistral'],
  ['t2-compat-03', 'kimi'],
  ['t2-toolschema-02', 'gemini'],
])('%s: a run with tools on %s completes without a refusal', async (id, name) => {
  inputOf(id);
  world.emulator.script([counting, counting, reply.text('done')], { mount: name });
  const outcome = await world.run({ agent: name, goal: 'Count' });
  expect(refusals()).toEqual([]);
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect(sent()).toHaveLength(3);
});

test('t2-compat-03: a server that nobody said is Kimi is understood after one refusal', async () => {
  world.emulator.script([counting, counting, reply.text('done')], { mount: 'moonshot' });
  const outcome = await world.run({ agent: 'moonshot', goal: 'Count' });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const { message } = z
    .object({ error: z.object({ message: z.string() }) })
    .parse(inputOf('t2-compat-03').body).error;
  expect(refusals().map((each) => each.replace(/\d+$/, 'N'))).toEqual([
    message.replace(/\d+$/, 'N'),
  ]);
  expect(sent()).toHaveLength(4);
});

test.each(['gateway', 'gateway-and-other'])(
  't2-replay-01: thoughts of another deployment are left out, by %s',
  async (name) => {
    const { status, body } = inputOf('t2-replay-01');
    const holdsThought = (request: RecordedRequest): boolean =>
      JSON.stringify(request.body['input']).includes('encrypted_content');
    const steps = [counting, counting, reply.text('done')];
    world.emulator.script(
      (request) => (holdsThought(request) ? fault.http(status, { body }) : steps.shift()),
      { wire: 'responses' },
    );
    const outcome = await world.run({ agent: name, goal: 'Count' });
    expect(outcome).toMatchObject({
      status: 'completed',
      answer: 'done',
      report: { failovers: 0 },
    });
    // The call, its refused repeat, the repeat without, and the next iteration, which is not refused again.
    expect(sent().map(holdsThought)).toEqual([false, true, false, false]);
    const bodies = sent().map((request) => JSON.stringify(request.body));
    expect(new Set(bodies).size).toBe(bodies.length);
    expect(bodies.at(-1)).toContain('counted to 3');
  },
);

test('t2-local-02: thoughts in the text are no answer, and are not sent back', async () => {
  const { content = '' } = inputOf('t2-local-02');
  const thoughtful = reply.toolCalls([{ name: 'count', input: { n: 3 } }], { text: content });
  world.emulator.script([thoughtful, reply.text(content)], { mount: 'vllm' });
  const outcome = await world.run({ agent: 'vllm', goal: 'Count' });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'Done.' });
  expect(JSON.stringify(sent()[1]?.body)).not.toMatch(/<.?think>|Thoughts about/);
});

test('tool use without a call is a mistake, which the model corrects', async () => {
  const announced = { ...reply.text('Let me look.'), stop: 'tool-use' } as const;
  world.emulator.script([announced, counting, reply.text('done')], { mount: 'vllm' });
  const outcome = await world.run({ agent: 'vllm', goal: 'Count' });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect(outcome.report.healed).toEqual({ no_tool_call: 1 });
});

test('a turn that the vendor paused within its own search goes on from there', async () => {
  const event = (data: { readonly type: string }): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const started = (index: number, block: object): string =>
    event({ type: 'content_block_start', index, content_block: block } as { type: string }) +
    event({ type: 'content_block_stop', index } as { type: string });
  const stream = (reason: string, ...blocks: readonly object[]): ReturnType<typeof fault.raw> =>
    fault.raw({
      headers: { 'content-type': 'text/event-stream' },
      pieces: [
        event({ type: 'message_start', message: { model: testModel, usage: {} } } as {
          type: string;
        }),
        ...blocks.map((block, index) => started(index, block)),
        event({ type: 'message_delta', delta: { stop_reason: reason }, usage: {} } as {
          type: string;
        }),
        event({ type: 'message_stop' }),
      ],
    });
  const use = {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'web_search',
    input: { query: 'x' },
  };
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
  world.emulator.script([
    stream('pause_turn', { type: 'text', text: 'I search.' }, use),
    stream('tool_use', found, { type: 'tool_use', id: 'toolu_1', name: 'count', input: { n: 2 } }),
    reply.text('done'),
  ]);
  const outcome = await world.run({ agent: 'paused', goal: 'Count' });
  expect(refusals()).toEqual([]);
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const [, second, third] = sent().map(({ body }) => JSON.stringify(body['messages']));
  // The request ends with the vendor's own use.
  expect(second).toMatch(/I search[^]*"type":"server_tool_use"\}\]\}\]$/);
  expect(third).toContain('web_search_tool_result');
});
