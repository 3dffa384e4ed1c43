/** Subagents on a real server: own runs with own tools, a share of the budget, one answer back, and nothing lost on the way. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import type { AgentClient } from '../../client/agent-client';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { RunResult } from '../../workflows/core/typed-agent';
import type { agentRun } from '../../workflows/agent-run';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  firstPending,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks a word up.',
  input: z.object({ word: z.string() }),
  effect: 'read',
  execute: ({ word }) => `${word} is a word`,
});

const sign = defineTool({
  name: 'sign',
  description: 'Signs.',
  input: z.object({}),
  effect: 'read',
  approval: 'always',
  execute: () => 'signed',
});

let notes = 0;
const note = defineTool({
  name: 'note',
  description: 'Notes a word.',
  input: z.object({ word: z.string() }),
  effect: 'keyed',
  maxCalls: 3,
  execute: ({ word }) => {
    notes += 1;
    return `${word} is noted`;
  },
});

const chain: AgentDefinition['chain'] = [{ provider: 'anthropic', model: testModel }];
const limits = { streamRetryBaseMs: 50, maxIterations: 12 };

const research = defineSubagent({
  name: 'research',
  description: 'Finds something out.',
  agent: 'researcher',
});
const descend = defineSubagent({
  name: 'descend',
  description: 'Goes one deeper.',
  agent: 'descender',
});

const agents: readonly AgentDefinition[] = [
  {
    name: 'lead',
    instructions: 'You lead.',
    chain,
    tools: [research, defineSubagent({ name: 'signing', description: 'Signs.', agent: 'signer' })],
    limits,
  },
  { name: 'researcher', instructions: 'You research.', chain, tools: [lookUp], limits },
  { name: 'signer', instructions: 'You sign.', chain, tools: [sign], limits },
  {
    name: 'saver',
    instructions: 'You save.',
    chain,
    limits,
    tools: [
      note,
      defineSubagent({ name: 'delegate', description: 'Does a part.', agent: 'noter' }),
    ],
  },
  { name: 'noter', instructions: 'You note.', chain, tools: [note], limits },
  { name: 'descender', instructions: 'You descend.', chain, tools: [descend], limits },
];

let world: AgentWorld;
let client: AgentClient;
beforeAll(async () => {
  world = await startAgentWorld(agents);
  ({ client } = world);
});
afterAll(() => world.dispose());

const as = (request: RecordedRequest): string => request.systemText.split('.')[0] ?? '';

/** The requests of one test: what each agent said is asked for by its instructions. */
function script(rule: (who: string, request: RecordedRequest) => Step): void {
  world.emulator.clearScripts();
  world.emulator.script((request) => rule(as(request), request));
}

const asking = (...tasks: readonly string[]): Step =>
  reply.toolCalls(tasks.map((task) => ({ name: 'research', input: { task } })));

async function storyOf(runId: string): Promise<readonly TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const entry of client.run(runId).events()) entries.push(entry);
  return entries;
}

/** What the client rebuilds from history is what the workflow said. */
async function expectSameInHistory(handle: RunHandle, outcome: RunResult): Promise<void> {
  const status = await client.run(handle.workflowId).status();
  expect(status).toMatchObject({ status: outcome.status, usage: outcome.report.usage });
  expect(status.cost).toEqual(outcome.report.cost);
}

test('each gets its task, its tools and its share, and only the answer comes back', async () => {
  const billBefore = world.emulator.bill.usd;
  const first = world.emulator.requests.length;
  script((who, request) => {
    if (who === 'You research')
      return request.lastToolResults.length === 0
        ? reply.toolCalls([{ name: 'look_up', input: { word: 'durable' } }], {
            text: 'A secret thought.',
          })
        : reply.text(`Found: ${request.conversation.turns[0]?.text ?? ''} done`);
    return request.lastToolResults.length === 0
      ? asking('part one', 'part two')
      : reply.text(`Both: ${request.lastToolResults.map(({ content }) => content).join(' | ')}`);
  });
  const handle = await world.start({ agent: 'lead', goal: 'Lead on.', budget: { usd: 1 } });
  const outcome = await client.run(handle.workflowId).result();
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: expect.stringMatching(
      /^Both: <tool_output tool="research".*\nFound: part one done\n.* \| <tool_output.*\nFound: part two done\n/s,
    ) as string,
    report: {
      toolCallsSucceeded: 2,
      subagents: expect.arrayContaining([
        expect.objectContaining({ status: 'completed', runId: `${handle.workflowId}/t1.0` }),
        expect.objectContaining({ status: 'completed', runId: `${handle.workflowId}/t1.1` }),
      ]) as unknown[],
    },
  });
  const { cost, usage, events } = outcome.report;
  expect(cost.usd).toBeCloseTo(world.emulator.bill.usd - billBefore, 8);
  const child = await client.run(`${handle.workflowId}/t1.0`).result();
  expect(child.report.usage.outputTokens).toBeLessThan(usage.outputTokens);
  // Two subagents at 40 % of the budget each: together at most 80 %.
  expect(child.report.cost.budgetUsd).toBeGreaterThan(0.39);
  expect(child.report.cost.budgetUsd).toBeLessThan(0.4);
  expect(events).toBeGreaterThan(child.report.events * 2);
  const leads = world.emulator.requests.slice(first).filter((each) => as(each) === 'You lead');
  expect(JSON.stringify(leads.map(({ body }) => body))).not.toContain('secret thought');
  const story = await storyOf(handle.workflowId);
  expect(story.map(({ type }) => type).filter((type) => type.startsWith('Subagent'))).toEqual([
    'SubagentStartedEvent',
    'SubagentStartedEvent',
    'SubagentEndedEvent',
    'SubagentEndedEvent',
  ]);
  await expectSameInHistory(handle, outcome);
});

test('a long answer comes by reference, and a long task arrives whole', async () => {
  const task = `Repeat: ${'long '.repeat(2_000)}end`;
  const answer = `begin ${'word '.repeat(6_000)}finish`;
  let read = '';
  let seenTask = '';
  script((who, request) => {
    if (who === 'You research') {
      seenTask = request.conversation.turns[0]?.text ?? '';
      return reply.text(answer, { charactersPerDelta: 4_000 });
    }
    const [result] = request.lastToolResults;
    if (result === undefined) return asking(task);
    read = result.content;
    const ref = /read_output, ref "([^"]+)"/.exec(read)?.[1];
    if (ref === undefined) return reply.text('Read.');
    return reply.toolCalls([{ name: 'read_output', input: { ref, offset: 29_000 } }]);
  });
  const handle = await world.start({ agent: 'lead', goal: 'Lead on.' });
  expect(await client.run(handle.workflowId).result()).toMatchObject({ status: 'completed' });
  expect(seenTask).toBe(task);
  expect(read).toContain('finish');
  const { events } = await handle.fetchHistory();
  const bytes = (events ?? []).map((event) => JSON.stringify(event).length);
  expect(Math.max(...bytes)).toBeLessThan(20_000);
});

test.each<[string, (request: RecordedRequest) => Step, RegExp]>([
  [
    'runs out of iterations',
    () => reply.toolCalls([{ name: 'look_up', input: { word: String(Math.random()) } }]),
    /The subagent gave no answer \(max_iterations\): Forced stop: .* What it had done: look_up/,
  ],
  ['declines', () => reply.refusal('Never.'), /The subagent gave no answer \(refusal\): .*Never\./],
])(
  'one that %s is an error to the model, with the reason and a hint',
  async (_how, child, words) => {
    let told = '';
    script((who, request) => {
      if (who === 'You research') return child(request);
      if (request.lastToolResults.length === 0) return asking('try');
      told = request.lastToolResults[0]?.content ?? '';
      return reply.text('I did it myself.');
    });
    const outcome = await world.run({ agent: 'lead', goal: 'Lead on.' });
    expect(outcome).toMatchObject({ status: 'completed', report: { toolCallsFailed: 1 } });
    expect(told).toMatch(words);
    expect(told).toMatch(/smaller task|differently/);
  },
);

test('a stop of the run above stops the one below, and keeps what it consumed', async () => {
  const before = world.emulator.bill.usd;
  script((who) =>
    who === 'You research'
      ? fault.stall({ during: reply.text('half a thought '.repeat(20)), afterCharacters: 100 })
      : asking('for ever'),
  );
  const handle = await world.start({ agent: 'lead', goal: 'Lead on.' });
  const childId = `${handle.workflowId}/t1.0`;
  await world.emulator.waitFor(
    ({ requests }) =>
      requests.at(-1)?.progress.landed === true &&
      as(requests.at(-1) as RecordedRequest) === 'You research',
  );
  expect((await statusOf(handle)).doing).toContain(childId);
  await handle.signal('stop', { reason: 'enough' });
  const outcome = await client.run(handle.workflowId).result();
  expect(outcome).toMatchObject({
    status: 'stopped',
    report: { subagents: [{ runId: childId, status: 'cancelled' }] },
  });
  expect(await client.run(childId).result()).toMatchObject({ status: 'cancelled' });
  expect(outcome.report.cost.usd).toBeCloseTo(world.emulator.bill.usd - before, 4);
  expect(outcome.report.cost.estimatedUsd).toBeGreaterThan(0);
  await expectSameInHistory(handle, outcome);
});

test('a person who stops the one below is told to the run above, which goes on', async () => {
  let told = '';
  script((who, request) => {
    if (who === 'You sign') return reply.toolCalls([{ name: 'sign', input: {} }]);
    if (request.lastToolResults.length === 0)
      return reply.toolCalls([{ name: 'signing', input: { task: 'Sign it.' } }]);
    told = request.lastToolResults[0]?.content ?? '';
    return reply.text('Unsigned.');
  });
  const handle = await world.start({ agent: 'lead', goal: 'Get it signed.' });
  const below = world.server.client.getHandle<typeof agentRun>(`${handle.workflowId}/t1.0`);
  await eventually(
    () => statusOf(handle),
    ({ doing }) => doing.includes('/t1.0'),
  );
  await eventually(
    () => statusOf(below).catch(() => undefined),
    (status) => status?.status === 'waiting',
  );
  expect(await firstPending(below)).toMatchObject({ type: 'approval', tool: 'sign' });
  await below.signal('stop', { reason: 'not today' });
  const outcome = await client.run(handle.workflowId).result();
  expect(outcome.status).toBe('completed');
  expect(told).toMatch(/no answer \(stopped\): not today.*A person stopped it/s);
});

test('runs nest three deep, and the fourth is refused with the reason', async () => {
  const told: string[] = [];
  script((_who, request) => {
    const [result] = request.lastToolResults;
    if (result === undefined)
      return reply.toolCalls([{ name: 'descend', input: { task: 'Deeper.' } }]);
    told.push(result.content);
    return reply.text('Up again.');
  });
  const outcome = await world.run({ agent: 'descender', goal: 'Down.' });
  expect(outcome.status).toBe('completed');
  expect(told).toHaveLength(4);
  expect(told[0]).toContain(
    'runs may nest 3 deep (limits.maxSubagentDepth), and this run is at depth 3',
  );
});

test('a terminated one is lost, and may have cost its whole share', async () => {
  script((who, request) => {
    if (who === 'You research')
      return fault.stall({ during: reply.text('half a thought'), afterCharacters: 5 });
    return request.lastToolResults.length === 0
      ? asking('for ever')
      : reply.text(request.lastToolResults[0]?.content ?? '');
  });
  const handle = await world.start({ agent: 'lead', goal: 'Lead on.', budget: { usd: 1 } });
  const below = world.server.client.getHandle(`${handle.workflowId}/t1.0`);
  await eventually(
    () => statusOf(handle),
    ({ doing }) => doing.includes('/t1.0'),
  );
  await below.terminate('gone');
  const outcome = await client.run(handle.workflowId).result();
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: expect.stringContaining('its workflow was terminated') as string,
    report: { subagents: [{ status: 'lost' }] },
  });
  expect(outcome.report.cost.mostUsd).toBeGreaterThan(0.45);
  await expectSameInHistory(handle, outcome);
});

test('a subagent may call a tool as often as the parent run has left, and the parent run reads why it ended', async () => {
  const noting = (word: string): Step =>
    reply.toolCalls([{ name: 'note', input: { word: `${word} ${notes}` } }]);
  script((who, request) => {
    if (who === 'You note') return noting('part');
    if (request.lastToolResults.length === 0) return noting('first');
    return request.toolCalls.some(({ name }) => name === 'delegate')
      ? reply.text(`It said: ${request.lastToolResults.at(-1)?.content ?? ''}`)
      : reply.toolCalls([{ name: 'delegate', input: { task: 'Note for ever.' } }]);
  });
  const handle = await world.start({ agent: 'saver', goal: 'Note.' });
  const outcome = await client.run(handle.workflowId).result();
  expect(notes).toBe(3);
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: expect.stringContaining('all that the parent run had left') as string,
  });
  expect(await client.run(`${handle.workflowId}/t2.0`).result()).toMatchObject({
    status: 'failed',
    reason: 'guard_tool_cap',
    report: { toolCallsSucceeded: 2 },
  });
});
