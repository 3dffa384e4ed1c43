/** Recovery on Temporal: runs that are stuck, and how each stage helps. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ReplyStep, Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import {
  firstPending,
  otherModel,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';

const chain: AgentDefinition['chain'] = [{ provider: 'anthropic', model: testModel }];
const instructions = 'You answer questions about a project with its tools.';

const trackerPath = 'kb-labs-agents/packages/agent-core/src/executor/progress-tracker.ts';
const files = new Map([
  [trackerPath, 'export class ProgressTracker { estimate() {} }'],
  ['kb-labs-agents/packages/agent-core/src/executor/agent-executor.ts', 'new ProgressTracker()'],
]);

const fsSearch = defineTool({
  name: 'fs_search',
  description: 'Searches file contents; gives path:line: text.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) =>
    [...files]
      .filter(([, text]) => text.includes(query))
      .map(([path, text]) => `${path}:1: ${text}`)
      .join('\n') || 'no match',
});

const fsRead = defineTool({
  name: 'fs_read',
  description: 'Reads a file.',
  input: z.object({ path: z.string() }),
  effect: 'read',
  execute: ({ path }) => {
    const text = files.get(path);
    if (text === undefined) throw new ToolError(`ENOENT: no such file, open '${path}'`);
    return text;
  },
});

const ragQuery = defineTool({
  name: 'mind_rag_query',
  description: 'Answers a question about the code base; vague questions give an overview only.',
  input: z.object({ text: z.string() }),
  effect: 'read',
  execute: ({ text }) =>
    text.includes('executor core')
      ? 'The executor core runs a ReAct loop with memory and progress tracking.'
      : 'The system has several packages.',
});

let charges = 0;
const charge = defineTool({
  name: 'charge_card',
  description: 'Charges a card.',
  input: z.object({ card: z.string() }),
  effect: 'irreversible',
  execute: ({ card }) => {
    if (card !== 'card-7') throw new ToolError('no such card');
    charges += 1;
    return 'charged';
  },
});

/** Case loop-01, as it was recorded. */
const loopCase = readFileSync(
  path.join(__dirname, '..', 'fixtures', 'cases', 'cases.jsonl'),
  'utf8',
)
  .split('\n')
  .filter((line) => line.includes('"loop-01"'))
  .map((line) => JSON.parse(line) as LoopCase)[0];

interface LoopCase {
  readonly input: {
    readonly cycle: readonly {
      readonly tool: string;
      readonly args: { readonly command: string; readonly title: string };
      readonly result: string;
    }[];
  };
  readonly expect: { readonly checks: { readonly tool_runs_max: { readonly bash: number } } };
}

const bash = defineTool({
  name: 'bash',
  description: 'Runs a command.',
  input: z.object({ command: z.string(), title: z.string() }),
  maxCalls: 1_000,
  execute: () => loopCase?.input.cycle[0]?.result ?? '',
});

let world: AgentWorld;
beforeAll(async () => {
  const common = {
    instructions,
    chain,
    tools: [fsSearch, fsRead, ragQuery],
    limits: { maxIterations: 20 },
  };
  world = await startAgentWorld([
    { name: 'mind', ...common, recovery: { mode: 'auto', escalate: 'wait' } },
    { name: 'watched', ...common, recovery: { mode: 'observe' } },
    { name: 'alone', ...common, recovery: { mode: 'auto', escalate: 'wait', waitMs: 500 } },
    {
      name: 'spare',
      ...common,
      chain: [
        { provider: 'chat', model: otherModel },
        { provider: 'openai', model: otherModel },
      ],
      recovery: { mode: 'auto' },
    },
    { name: 'cashier', ...common, tools: [charge], recovery: { mode: 'auto' } },
    // Every default, where the world's own would be no recovery.
    { name: 'by-default', instructions, chain, tools: [bash, charge], recovery: {} },
    { name: 'looper', instructions, chain, tools: [bash], recovery: { escalate: 'wait' } },
    {
      name: 'unanswered',
      instructions,
      chain,
      tools: [bash],
      recovery: { escalate: 'wait', waitMs: 200 },
    },
    {
      name: 'heedless',
      instructions,
      chain,
      tools: [bash],
      recovery: { escalate: 'wait', waitMs: 200, onExpiry: 'continue' },
    },
  ]);
});
afterAll(() => world.dispose());
let before = 0;
beforeEach(() => {
  world.emulator.clearScripts();
  before = world.emulator.requests.length;
});

const call = (name: string, input: { readonly [key: string]: string }): ReplyStep =>
  reply.toolCalls([{ name, input }]);

const isPlanner = (request: RecordedRequest): boolean =>
  request.systemText.includes('plan the recovery');

/** All that the model can read in a request. */
const readable = (request: RecordedRequest): string =>
  JSON.stringify(request.body['messages'] ?? request.body['input']);

/** A planner's rule and a model's rule: each answers by what its request holds, never by counting. */
function script(
  model: (text: string, request: RecordedRequest) => Step,
  planner: (prompt: string) => Step | object = () => fault.http(529),
): void {
  world.emulator.script((request) => {
    if (!isPlanner(request)) return model(readable(request), request);
    const planned = planner(readable(request));
    return 'type' in planned ? planned : reply.text(JSON.stringify(planned));
  });
}

const requests = (): readonly RecordedRequest[] => world.emulator.requests.slice(before);
const plannerRequests = (): readonly RecordedRequest[] => requests().filter(isPlanner);

const plan = (
  strategy: string,
  confidence: number,
  action: { toolName: string; parametersJson?: string; escalationMessage?: string },
): object => ({
  strategy,
  reasoning: 'Ask a more specific question about the agent executor core.',
  action,
  expectedOutcome: 'A specific answer.',
  confidence,
});

const specific = plan('parameter-adjustment', 0.8, {
  toolName: 'mind_rag_query',
  parametersJson: '{"text":"How does the agent executor core work?"}',
});

/** Asks the same vague question until the specific answer is there. */
const vague = (text: string): Step =>
  text.includes('ReAct loop')
    ? reply.text('It runs a ReAct loop.')
    : call('mind_rag_query', { text: 'architecture' });

test('finds a class by its full path in four steps, undisturbed (R-REC-7)', async () => {
  script((text) => {
    if (!text.includes('fs_search')) return call('fs_search', { query: 'class ProgressTracker' });
    if (!text.includes('new ProgressTracker()') && text.includes('estimate() {} }'))
      return text.includes('"fs_read"')
        ? call('fs_search', { query: 'new ProgressTracker' })
        : call('fs_read', { path: trackerPath });
    return reply.text('ProgressTracker estimates progress.');
  });
  const outcome = await world.run({ agent: 'mind', goal: 'What is the ProgressTracker class?' });
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { iterations: 4, toolCallsSucceeded: 3, toolCallsFailed: 0 },
  });
  expect(plannerRequests()).toEqual([]);
});

test('heals a file name without its folder in one step: the next request has the full path (R-REC-7)', async () => {
  script((text, request) => {
    const known = /Hint: [^"]*?(kb-labs[\w./-]+\.ts)/.exec(request.lastUserText)?.[1];
    if (known !== undefined) return call('fs_read', { path: known });
    if (text.includes('is the tracker class')) return reply.text('done');
    if (
      request.toolResults.some(
        (result) => result.content.includes('export class') && !result.content.includes(':1:'),
      )
    )
      return reply.text('It is the tracker class.');
    // The mistake: only the file's name is taken from what the search found.
    return request.lastToolResults.some((result) => result.content.includes(':1:'))
      ? call('fs_read', { path: 'progress-tracker.ts' })
      : call('fs_search', { query: 'class ProgressTracker' });
  });
  const outcome = await world.run({ agent: 'mind', goal: 'What is the ProgressTracker class?' });
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: 'It is the tracker class.',
    report: { iterations: 4, toolCallsFailed: 1, healed: { tool_execution_failed: 1 } },
  });
  expect(plannerRequests()).toEqual([]);
});

test('breaks a loop with an adjusted call of the runtime, at confidence 0.8 (R-REC-4)', async () => {
  script(vague, (prompt) => (prompt.includes('mind_rag_query') ? specific : fault.http(400)));
  const handle = await world.start({ agent: 'mind', goal: 'Explain the architecture.' });
  expect(await handle.result()).toMatchObject({
    status: 'completed',
    answer: 'It runs a ReAct loop.',
    report: { toolCallsSucceeded: 4 },
  });
  const [planned] = plannerRequests();
  expect(plannerRequests()).toHaveLength(1);
  expect(Number(planned?.body['max_tokens'])).toBe(600);
  expect(planned?.body['output_config']).toMatchObject({ format: { type: 'json_schema' } });
  expect(readable(planned as RecordedRequest)).toContain('Loop detected');
  const answered = requests().at(-1);
  expect(answered?.lastUserText).toContain('the runtime itself called mind_rag_query');
  expect(answered?.toolCalls.map(({ name }) => name)).toEqual(Array(3).fill('mind_rag_query'));
  expect((await statusOf(handle)).recovery).toMatchObject({
    mode: 'auto',
    healed: 1,
    last: { strategy: 'parameter-adjustment', source: 'model', confidence: 0.8 },
  });
});

test('escalates an ambiguous task at confidence 0.9, and finishes it with the answer (R-PEOPLE-3)', async () => {
  script(
    (text) =>
      text.includes('CLI tools, please')
        ? reply.text('The CLI tools.')
        : call('fs_search', { query: 'tools' }),
    () =>
      plan('escalate', 0.9, {
        toolName: '',
        escalationMessage: 'Which tools: CLI tools, agent tools or platform tools?',
      }),
  );
  const handle = await world.start({ agent: 'mind', goal: 'What tools are available?' });
  const item = await firstPending(handle);
  expect(item).toMatchObject({
    type: 'question',
    question: expect.stringContaining('Which tools: CLI') as string,
  });
  expect(item.type === 'question' && item.question).toContain('What happened:');
  const questionId = item.type === 'question' ? item.questionId : '';
  await handle.executeUpdate('answer', { args: [{ questionId, answer: 'CLI tools, please' }] });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'The CLI tools.' });
});

test('asks a person at confidence 0.6, and acts on the approval', async () => {
  script(vague, () => ({ ...specific, confidence: 0.6 }));
  const handle = await world.start({ agent: 'mind', goal: 'Explain the architecture.' });
  const item = await firstPending(handle);
  expect(item).toMatchObject({
    type: 'approval',
    tool: 'mind_rag_query',
    input: { text: 'How does the agent executor core work?' },
  });
  const { approvalId, digest } = item.type === 'approval' ? item : { approvalId: '', digest: '' };
  await expect(
    handle.executeUpdate('resolveApproval', {
      args: [{ approvalId, digest: 'another', decision: 'approve' }],
    }),
  ).rejects.toThrow();
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve' }],
  });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
});

test.each([
  ['nonsense', reply.text('I would try again, if I were you.')],
  ['a tool that there is not', plan('alternative-tool', 0.9, { toolName: 'crystal_ball' })],
  [
    'parameters that do not fit',
    plan('parameter-adjustment', 0.9, { toolName: 'fs_read', parametersJson: '{"file":"x"}' }),
  ],
  ['a refusal', reply.refusal()],
])('a planner that gives %s ends in the heuristic, and the run gets on', async (_what, planned) => {
  script(
    (text, request) => {
      if (request.lastUserText.includes('You are stuck')) return reply.text('I stop here.');
      return vague(text);
    },
    () => planned,
  );
  const handle = await world.start({ agent: 'mind', goal: 'Explain the architecture.' });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'I stop here.' });
  expect((await statusOf(handle)).recovery?.last).toMatchObject({
    source: 'heuristic',
    strategy: 'parameter-adjustment',
  });
});

test('a planner whose provider is down ends in the heuristic, and costs no failover', async () => {
  script(
    (_text, request) =>
      request.lastUserText.includes('You are stuck')
        ? reply.text('I stop here.')
        : call('mind_rag_query', { text: 'architecture' }),
    () => fault.http(401),
  );
  const outcome = await world.run({ agent: 'spare', goal: 'Explain the architecture.' });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'I stop here.' });
  expect(plannerRequests().map(({ wire }) => wire)).toEqual(['chat']);
});

test('a plan that broke off is paid for like any other call', async () => {
  const cut = fault.cutStream({
    during: reply.text('{"strategy": '.repeat(40)),
    afterCharacters: 300,
  });
  script(vague, (prompt) =>
    prompt.includes('mind_rag_query') && plannerRequests().length > 1 ? specific : cut,
  );
  const billedBefore = world.emulator.bill.usd;
  const outcome = await world.run({ agent: 'mind', goal: 'Explain the architecture.' });
  expect(outcome.status).toBe('completed');
  expect(plannerRequests()).toHaveLength(2);
  const cost = outcome.report.cost;
  expect(cost.estimatedUsd).toBeGreaterThan(0);
  expect(cost.usd).toBeCloseTo(world.emulator.bill.usd - billedBefore, 2);
});

test('only plans in mode observe: nothing is executed, and the guard ends the loop', async () => {
  script(vague, () => specific);
  const outcome = await world.run({ agent: 'watched', goal: 'Explain the architecture.' });
  expect(outcome).toMatchObject({ status: 'failed', reason: 'guard_loop' });
  expect(plannerRequests()).toHaveLength(1);
});

test('gives up readably, and when nobody answers in time', async () => {
  script(vague, () => plan('give-up', 0.9, { toolName: '' }));
  expect(await world.run({ agent: 'mind', goal: 'Explain the architecture.' })).toMatchObject({
    status: 'failed',
    reason: 'gave_up',
    message: expect.stringContaining('Gave up:') as string,
    report: { toolCallsSucceeded: 3 },
  });
  world.emulator.clearScripts();
  script(vague, () => plan('escalate', 0.3, { toolName: '', escalationMessage: 'What now?' }));
  expect(await world.run({ agent: 'alone', goal: 'Explain the architecture.' })).toMatchObject({
    status: 'failed',
    reason: 'gave_up',
    message: expect.stringContaining('did not answer within') as string,
  });
});

test('never runs an irreversible tool itself: the model gets the call as advice', async () => {
  script(
    (text, request) => {
      if (text.includes('charged')) return reply.text('paid');
      const advised = /Parameters to use: (\{.*?\})/.exec(request.lastUserText)?.[1];
      return advised === undefined
        ? call('charge_card', { card: 'card-1' })
        : reply.toolCalls([
            { name: 'charge_card', input: JSON.parse(advised) as { card: string } },
          ]);
    },
    () =>
      plan('parameter-adjustment', 0.95, {
        toolName: 'charge_card',
        parametersJson: '{"card":"card-7"}',
      }),
  );
  const handle = await world.start({ agent: 'cashier', goal: 'Charge the card.' });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'paid' });
  expect(charges).toBe(1);
  expect(requests().at(-1)?.toolCalls.at(-1)?.name).toBe('charge_card');
});

/** The model of loop-01: the same call for ever, whatever it reads; asked for a plan, it goes on alike. */
function loopForEver(): void {
  const args = loopCase?.input.cycle[0]?.args;
  let calls = 0;
  world.emulator.script(() => {
    calls += 1;
    const title = (args?.title ?? '').replace('{n}', String(calls));
    return call('bash', { command: args?.command ?? '', title });
  });
}

describe('under the defaults, where no notifier tells anybody', () => {
  test('five equal errors end the run by the circuit breaker, whatever a planner says', async () => {
    script(
      () => call('charge_card', { card: 'card-1' }),
      () => plan('escalate', 0.3, { toolName: '', escalationMessage: 'What now?' }),
    );
    expect(await world.run({ agent: 'by-default', goal: 'Charge the card.' })).toMatchObject({
      status: 'failed',
      reason: 'circuit_breaker',
      report: { iterations: 5, toolCallsFailed: 5 },
    });
  });

  test('a loop that only a person could end gives up at once', async () => {
    loopForEver();
    expect(await world.run({ agent: 'by-default', goal: 'Set the project up.' })).toMatchObject({
      status: 'failed',
      reason: 'gave_up',
      message: expect.stringContaining("set recovery.escalate to 'wait'") as string,
      report: { toolCallsSucceeded: 4 },
    });
  });
});

describe('case loop-01 where a person hears of it', () => {
  test('is handed to a person, who sees what happened and what was tried, and a stop keeps what was done', async () => {
    loopForEver();
    const handle = await world.start({ agent: 'looper', goal: 'Set the project up.' });
    const item = await firstPending(handle);
    const status = await statusOf(handle);
    expect(item).toMatchObject({ type: 'question', onExpiry: 'give-up' });
    const question = item.type === 'question' ? item.question : '';
    expect(question).toContain('is stuck on "Set the project up."');
    expect(question).toContain('What happened: Loop detected: bash (same result)');
    // The call works each time, so no advice names its tool.
    expect(question).toMatch(/What was tried: parameter-adjustment$/);
    expect(question).toContain('It keeps calling bash.');
    expect((item.expiresAtMs ?? 0) - Date.now()).toBeGreaterThan(86_000_000);
    expect(status).toMatchObject({
      status: 'waiting',
      reason: `person: ${question}`,
      recovery: { stage: 'escalated', failed: 1 },
    });
    expect(status.toolCallsSucceeded).toBeLessThanOrEqual(
      loopCase?.expect.checks.tool_runs_max.bash ?? 0,
    );
    // It waits on nobody's activity: what holds it are a person's word and one timer.
    expect((await handle.describe()).raw.pendingActivities ?? []).toEqual([]);
    await handle.signal('stop', { reason: 'the goal was wrong' });
    expect(await handle.result()).toMatchObject({
      status: 'stopped',
      reason: 'the goal was wrong',
      report: { toolCallsSucceeded: 4, worked: Array(4).fill('bash') as string[] },
    });
  });

  test('gives up readably when nobody answers, or is ended by the guard where it is to go on', async () => {
    loopForEver();
    const unanswered = world.run({ agent: 'unanswered', goal: 'Set the project up.' });
    expect(await unanswered).toMatchObject({
      status: 'failed',
      reason: 'gave_up',
      message: expect.stringMatching(
        /^Gave up: a person was asked .* Loop detected: bash \(same result\)/,
      ) as string,
      report: { toolCallsSucceeded: 4 },
    });
    const heedless = await world.run({ agent: 'heedless', goal: 'Set the project up.' });
    expect(heedless).toMatchObject({
      status: 'failed',
      reason: 'guard_loop',
      report: { toolCallsSucceeded: 7 },
    });
  });
});
