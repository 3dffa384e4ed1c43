/** Verbatim mistakes of real small models, played over the wire into whole runs: none crashes, none executes what is invalid. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ReplyPart, ReplyStep } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { firstPending, otherModel, outcomeOf, startAgentWorld } from '../support/agent-world';

interface RawMessage {
  /** A list on Anthropic's wire. */
  readonly content:
    | string
    | readonly { readonly type: 'tool_use'; readonly id: string; readonly name: string }[]
    | null;
  /** The arguments of the only call of such a list, as far as they came. */
  readonly partial_json?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** One reply, or the turns of a whole conversation. */
interface Mistake {
  readonly id: string;
  readonly category: string;
  readonly user: string;
  readonly raw?: RawMessage;
  readonly finish_reason?: string;
  readonly turns?: readonly { readonly raw: RawMessage; readonly finish_reason?: string }[];
}

const mistakes = readFileSync(
  path.join(__dirname, '..', 'fixtures', 'cases', 'real-model-mistakes.jsonl'),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Mistake);

let executed: { readonly name: string; readonly input: unknown }[] = [];
function recorded(name: string, input: z.ZodObject): Tool {
  return defineTool({
    name,
    description: `The tool ${name}.`,
    input,
    effect: 'read',
    execute: (given) => {
      executed.push({ name, input: given });
      return 'done as asked';
    },
  });
}

const schemas: Readonly<Record<string, z.ZodObject>> = {
  list_files: z.object({ path: z.string() }),
  read_file: z.object({ path: z.string(), max_lines: z.number().optional() }),
  add_numbers: z.object({ a: z.number(), b: z.number() }),
  lookup_key: z.object({ store: z.enum(['config', 'secrets']), key: z.string() }),
  finish: z.object({ answer: z.string() }),
};
const tools = Object.entries(schemas).map(([name, schema]) => recorded(name, schema));

/** Gives more than a model gets whole. */
const long = defineTool({
  name: 'long',
  description: 'Lists much.',
  input: z.object({}),
  effect: 'read',
  execute: () => Array.from({ length: 3_000 }, (_each, line) => `line ${line}`).join('\n'),
});

function agent(
  name: string,
  toolProtocol: 'native' | 'text',
  options: Pick<AgentDefinition, 'recovery'> = {},
): AgentDefinition {
  return {
    name,
    instructions: 'You are an agent that works through tools.',
    chain: [{ provider: 'chat', model: otherModel, toolProtocol }],
    tools,
    completion: 'tool',
    limits: { maxIterations: 20 },
    ...options,
  };
}

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    agent('native', 'native'),
    agent('text', 'text'),
    agent('by-default', 'native', { recovery: {} }),
    agent('watched', 'native', { recovery: { escalate: 'wait' } }),
    { ...agent('answers', 'native'), tools: [...tools, long], completion: 'text' },
  ]);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  executed = [];
});

function replyOf(raw: RawMessage, finishReason: string | undefined): ReplyStep {
  const { content, partial_json: argumentsText = '' } = raw;
  if (content !== null && typeof content !== 'string')
    return reply.parts(
      content.map(({ id, name }): ReplyPart => ({ type: 'tool-call', id, name, argumentsText })),
      { stop: 'max-tokens' },
    );
  const text = content ?? '';
  const parts: ReplyPart[] = [
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...(raw.tool_calls ?? []).map((call): ReplyPart => ({
      type: 'tool-call',
      id: call.id,
      name: call.function.name,
      argumentsText: call.function.arguments,
    })),
  ];
  return reply.parts(parts, finishReason === 'length' ? { stop: 'max-tokens' } : {});
}

function repliesOf(mistake: Mistake): readonly { raw: RawMessage; finish: string | undefined }[] {
  if (mistake.raw !== undefined) return [{ raw: mistake.raw, finish: mistake.finish_reason }];
  return (mistake.turns ?? []).map(({ raw, finish_reason: finish }) => ({ raw, finish }));
}

/** The calls that a strict reader may run: whole replies only, known tools, arguments that fit the schema. */
function validCalls(mistake: Mistake): readonly { name: string; input: unknown }[] {
  return repliesOf(mistake).flatMap(({ raw, finish }) => {
    if (finish === 'length') return [];
    return (raw.tool_calls ?? []).flatMap((call) => {
      const { name, arguments: json } = call.function;
      const schema = schemas[name]?.strict();
      const parsed = schema?.safeParse(parsedJson(json));
      return parsed?.success === true ? [{ name, input: parsed.data }] : [];
    });
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const summary = 'The model came to an end.';
const endings: Readonly<Record<'native' | 'text', ReplyStep>> = {
  native: reply.toolCalls([{ name: 'complete_task', input: { summary } }]),
  text: reply.text(
    `\`\`\`json\n${JSON.stringify({ tool_name: 'complete_task', arguments: { summary } })}\n\`\`\``,
  ),
};

const inOrder = (calls: readonly { name: string; input: unknown }[]): readonly string[] =>
  calls.map((call) => JSON.stringify(call)).toSorted();

/** Same call, same result, for eight turns, alone or in turn with another: the guard ends these. */
const loops = ['rm36', 'rm37', 'rm38', 'rm41', 'rm43', 'rm44', 'rm45'];

test.each(
  mistakes
    .filter(({ id }) => loops.includes(id))
    .map((mistake) => [mistake.id, mistake.category, mistake] as const),
)('ends the loop of %s (%s)', async (_id, _category, mistake) => {
  world.emulator.script(repliesOf(mistake).map(({ raw, finish }) => replyOf(raw, finish)));
  const outcome = await world.run({ agent: 'native', goal: mistake.user });
  expect(outcome).toMatchObject({ status: 'failed', reason: 'guard_loop' });
  expect(outcome).toHaveProperty('message', expect.stringMatching(/^Forced stop: /));
  expect(executed.length).toBeLessThanOrEqual(8);
  expect(outcome.report.toolCallsSucceeded).toBe(executed.length);
  expect(world.emulator.refusals).toEqual([]);
});

/** The model of a loop: its recorded turns over and over; it has no plan either, when it is asked for one. */
function loopingModel(request: RecordedRequest): ReplyStep {
  const said = JSON.stringify(request.body['messages']);
  if (request.systemText.includes('plan the recovery')) return reply.text('I would do it again.');
  const mistake = mistakes.find(
    ({ id, user }) => loops.includes(id) && said.includes(JSON.stringify(`${id}: ${user}`)),
  );
  const turns = mistake === undefined ? [] : repliesOf(mistake);
  const turn = turns[request.toolResults.length % turns.length];
  if (turn === undefined) throw new Error(`no loop asks this: ${said.slice(0, 300)}`);
  return replyOf(turn.raw, turn.finish);
}

test('hands the loops of real models to a person where one is there, and a stop keeps what was done', async () => {
  world.emulator.script(loopingModel);
  const runs = await Promise.all(
    mistakes
      .filter(({ id }) => loops.includes(id))
      .map(async ({ id, user }) => {
        const handle = await world.start({ agent: 'watched', goal: `${id}: ${user}` });
        const item = await firstPending(handle);
        await handle.signal('stop', { reason: 'enough' });
        return { item, outcome: await outcomeOf(handle) };
      }),
  );
  expect(runs).toHaveLength(loops.length);
  for (const { item, outcome } of runs) {
    expect(item).toMatchObject({
      type: 'question',
      question: expect.stringMatching(
        /What happened: (?:Loop detected: |The last \d steps brought nothing new\.)/,
      ) as string,
    });
    expect(outcome.status).toBe('stopped');
    expect(outcome.report.toolCallsSucceeded).toBeGreaterThanOrEqual(3);
    expect(outcome.report.toolCallsSucceeded).toBeLessThanOrEqual(12);
  }
});

test('ends the loops of real models under the defaults, where nobody would hear a question', async () => {
  world.emulator.script(loopingModel);
  const outcomes = await Promise.all(
    mistakes
      .filter(({ id }) => loops.includes(id))
      .map(({ id, user }) => world.run({ agent: 'by-default', goal: `${id}: ${user}` })),
  );
  expect(outcomes).toHaveLength(loops.length);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: 'failed', reason: 'gave_up' });
    expect(outcome.report.toolCallsSucceeded).toBeGreaterThanOrEqual(3);
    expect(outcome.report.toolCallsSucceeded).toBeLessThanOrEqual(12);
  }
});

test.each(
  mistakes
    .filter(({ id }) => !loops.includes(id))
    .map((mistake) => [mistake.id, mistake.category, mistake] as const),
)('gets over %s (%s) with native tool calls', async (_id, _category, mistake) => {
  world.emulator.script(repliesOf(mistake).map(({ raw, finish }) => replyOf(raw, finish)));
  world.emulator.script([endings.native]);
  const outcome = await world.run({ agent: 'native', goal: mistake.user });
  const { report } = outcome;
  expect(outcome).toMatchObject({ status: 'completed', answer: summary });
  expect(inOrder(executed)).toEqual(inOrder(validCalls(mistake)));
  expect(report.toolCallsSucceeded).toBe(executed.length);
  expect((report.corrections?.troubles ?? 0) + executed.length).toBeGreaterThan(0);
  expect(world.emulator.refusals).toEqual([]);
  world.emulator.assertDrained();
});

test.each(
  mistakes
    .filter(({ raw }) => typeof raw?.content === 'string' && raw.tool_calls === undefined)
    .map((mistake) => [mistake.id, mistake.category, mistake] as const),
)('gets over %s (%s) with the text tool protocol', async (_id, _category, mistake) => {
  world.emulator.script(repliesOf(mistake).map(({ raw, finish }) => replyOf(raw, finish)));
  world.emulator.script([endings.text]);
  const outcome = await world.run({ agent: 'text', goal: mistake.user });
  expect(outcome).toMatchObject({ status: 'completed', answer: summary });
  expect(executed).toEqual([]);
  expect(outcome.report.corrections).toMatchObject({ troubles: 1 });
  expect(world.emulator.refusals).toEqual([]);
  world.emulator.assertDrained();
});

test.each<readonly [string, string]>([
  ['bare JSON', '{"name": "add_numbers", "arguments": {"a": 2, "b": 3}}'],
  [
    'prose and a fence',
    'I will add them.\n```\n{"tool": "add_numbers", "args": {"a": 2, "b": 3}}\n```',
  ],
  ['a tag', '<tool_call>{"name": "add_numbers", "arguments": {"a": 2, "b": 3}}</tool_call>'],
])('takes %s for no answer, and advises the text protocol once', async (_what, text) => {
  world.emulator.script([
    reply.text(text),
    reply.text(text),
    reply.toolCalls([{ name: 'add_numbers', input: { a: 2, b: 3 } }]),
    reply.text('It is 5.'),
  ]);
  const outcome = await world.run({ agent: 'answers', goal: 'What is 2 and 3?' });
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: 'It is 5.',
    report: { toolCallsSucceeded: 1, advice: [expect.stringContaining("toolProtocol: 'text'")] },
  });
  expect(executed).toEqual([{ name: 'add_numbers', input: { a: 2, b: 3 } }]);
  world.emulator.assertDrained();
});

test('survives a ref that the model invented, and reads the right one', async () => {
  const before = world.emulator.requests.length;
  const reads = (ref: string) => reply.toolCalls([{ name: 'read_output', input: { ref } }]);
  const refIn = ({ lastUserText }: RecordedRequest): string =>
    /What can be read: "([\w-]{43})"/.exec(lastUserText)?.[1] ?? '';
  world.emulator.script((request) => {
    switch (world.emulator.requests.length - before) {
      case 1:
        return reads('A'.repeat(43));
      case 2:
        return reply.toolCalls([{ name: 'long', input: {} }]);
      case 3:
        return reads('A'.repeat(43));
      case 4:
        return reads(refIn(request));
      default:
        return reply.text('done');
    }
  });
  const outcome = await world.run({ agent: 'answers', goal: 'List much.' });
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 2, healed: { invalid_tool: 1, invalid_params: 1 } },
  });
  const sent = world.emulator.requests.slice(before);
  const offers = sent.map(({ toolNames }) => toolNames.includes('read_output'));
  expect(offers).toEqual([false, false, true, true, true]);
  expect(sent.at(-1)?.toolResults.at(-1)?.content).toContain('line 42');
  expect(world.emulator.refusals).toEqual([]);
});
