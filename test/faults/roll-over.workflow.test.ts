/** Continue-as-new carries everything: the same script on a server that always asks for it and on one that never does. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import { transcriptLines } from '../../workers/cli/display/transcript-lines';
import type { ReplyStep, Step } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { RunStatusView } from '../../workflows/core/view/status';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  firstPending,
  outcomeOf,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';
import { brokenPrefixes } from '../support/prompt-prefix';
import { startOwnServer } from '../support/temporal';

/** Events after which the rolling server suggests a new segment: two to three iterations. */
const suggestAfterEvents = 30;

const step = defineTool({
  name: 'step',
  description: 'Works, or fails with the text it is given.',
  input: z.object({ n: z.number(), failure: z.string().optional() }),
  effect: 'keyed',
  execute: ({ n, failure }) => {
    if (failure !== undefined) throw new ToolError(failure);
    return `stepped ${n}`;
  },
});
const sign = defineTool({
  name: 'sign',
  description: 'Needs approval.',
  input: z.object({ what: z.string() }),
  effect: 'irreversible',
  approval: 'always',
  execute: ({ what }) => `signed ${what}`,
});
const agent: AgentDefinition = {
  name: 'walker',
  instructions: 'You walk in steps.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [step, sign],
  limits: { maxIterations: 1_000 },
};

/** Compacts every few iterations. */
const rambler: AgentDefinition = {
  ...agent,
  name: 'rambler',
  chain: [{ provider: 'anthropic', model: testModel, windowTokens: 8_000, maxOutputTokens: 500 }],
};

let rolling: AgentWorld;
let steady: AgentWorld;
beforeAll(async () => {
  const server = await startOwnServer({ rollsOverAfter: suggestAfterEvents });
  rolling = await startAgentWorld([agent, rambler], { server });
  steady = await startAgentWorld([agent]);
});
afterAll(async () => {
  await rolling.dispose();
  await steady.dispose();
});
beforeEach(() => {
  rolling.emulator.clearScripts();
  steady.emulator.clearScripts();
});

function call(n: number, failure?: string): ReplyStep {
  const input = failure === undefined ? { n } : { n, failure };
  return reply.toolCalls([{ name: 'step', input }], { text: `Step ${n}.` });
}

/** Errors up to one short of the breaker's five, then a success; mistakes that leave no trace; and so on. */
function walk(from: number, count: number): readonly ReplyStep[] {
  return Array.from({ length: count }, (_, index) => {
    const n = from + index;
    if (n % 10 === 7) return reply.rawToolArguments('step', '{"n": ');
    return n % 5 === 4 ? call(n) : call(n, 'there is no way');
  });
}

const trip = Array.from({ length: 5 }, () => call(99, 'always the same'));
const script: readonly ReplyStep[] = [
  ...walk(0, 18),
  reply.toolCalls([{ name: 'sign', input: { what: 'this' } }]),
  ...walk(18, 18),
  call(98),
  ...trip,
];
/** Characters of a request per token, roughly. */
const charactersPerToken = 4;

/**
 * The script, with what the vendor counts: by the length of the request, so that what the two runs use can be compared, since
 * their ids have the same lengths and not the same tokens.
 */
function counted(): (request: { readonly bodyBytes: number }) => ReplyStep {
  const rest = [...script];
  return ({ bodyBytes }) => {
    const next = rest.shift();
    if (next === undefined) throw new Error('the script is at its end');
    const inputTokens = Math.ceil(bodyBytes / charactersPerToken);
    return {
      ...next,
      usage: { inputTokens, outputTokens: 10, cacheReadTokens: 30, cacheWriteTokens: 7 },
    };
  };
}
const messages = Array.from({ length: 15 }, (_, index) => `Message ${index} of 15.`);

interface Walk {
  readonly outcome: RunOutcome;
  readonly status: RunStatusView;
  readonly segmentsWhileWaiting: number;
  readonly said: readonly unknown[];
  /** Requests that do not begin as the one before. */
  readonly brokenPrefixes: readonly number[];
}

async function walkThrough(world: AgentWorld): Promise<Walk> {
  const before = world.emulator.requests.length;
  world.emulator.script(counted());
  const handle = await world.start({ agent: 'walker', goal: 'Walk.' });
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { segments } = await statusOf(handle);
  await handle.signal('escalate', { reason: 'let me see' });
  for (const text of messages) await handle.signal('addMessage', { text });
  const pending = await firstPending(handle);
  expect(pending).toEqual(item);
  const segmentsWhileWaiting = (await statusOf(handle)).segments - segments;
  const { approvalId, digest } = item;
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve' }],
  });
  await eventually(
    () => firstPending(handle),
    ({ type }) => type === 'question',
  );
  await handle.executeUpdate('answer', {
    args: [{ questionId: 'escalation', answer: 'Go on walking.' }],
  });
  const outcome = await outcomeOf(handle);
  return {
    outcome,
    status: await statusOf(handle),
    segmentsWhileWaiting,
    brokenPrefixes: brokenPrefixes(world.emulator.requests.slice(before)),
    said: world.emulator.requests
      .slice(before)
      .map(({ messagesCount, lastUserText, conversation }) => [
        messagesCount,
        lastUserText,
        conversation.turns.filter(({ role }) => role === 'user').map(({ text }) => text),
      ]),
  };
}

function comparable({ outcome, status }: Walk): object {
  const {
    elapsedMs: _elapsed,
    activeMs: _active,
    head: _head,
    storeId: _store,
    ...report
  } = outcome.report;
  const {
    segments: _segments,
    head: _statusHead,
    storeId: _statusStore,
    startedAtMs: _started,
    ...view
  } = status;
  const decisions = view.decisions?.map(({ what }) => what);
  return { ...outcome, report, view: { ...view, decisions } };
}

test('a run of many segments is the same, to the last counter, as a run of one', async () => {
  const [rolled, whole] = await Promise.all([walkThrough(rolling), walkThrough(steady)]);
  expect(whole.status.segments).toBe(1);
  expect(rolled.status.segments).toBeGreaterThan(5);
  expect(rolled.segmentsWhileWaiting).toBeGreaterThan(0);
  expect(rolled.outcome).toMatchObject({
    status: 'failed',
    reason: 'circuit_breaker',
    report: { iterations: script.length, failovers: 0 },
  });
  expect(comparable(rolled)).toEqual(comparable(whole));
  expect(rolled.said).toEqual(whole.said);
  // The vendor's cache holds the prompt over every roll-over.
  expect(rolled.brokenPrefixes).toEqual([]);
  const lastTexts = JSON.stringify(rolled.said.at(-1));
  for (const text of [...messages, 'Go on walking.']) expect(lastTexts.split(text)).toHaveLength(2);
});

const texts = Array.from({ length: 50 }, (_, index) => `<<note ${index}>>`);

async function sendAll(handle: RunHandle): Promise<void> {
  for (const text of texts) {
    // Spread over the run: each waits until the run has moved a little, so that many meet a roll-over.
    const seen = rolling.emulator.requests.length;
    await handle.signal('addMessage', { text });
    if (text.includes('5') || text.includes('0'))
      await rolling.emulator.waitFor(({ requests }) => requests.length > seen);
  }
}

test('every one of 50 messages around many roll-overs reaches the model, exactly once', async () => {
  let isSent = false;
  let n = 0;
  rolling.emulator.script(() => {
    if (isSent) return reply.text('done');
    n += 1;
    return call(n);
  });
  const handle = await rolling.start({ agent: 'walker', goal: 'Walk.' });
  await sendAll(handle);
  isSent = true;
  expect(await outcomeOf(handle)).toMatchObject({ status: 'completed', answer: 'done' });
  expect((await statusOf(handle)).segments).toBeGreaterThan(3);
  const last = rolling.emulator.requests.at(-1);
  const heard = last?.conversation.turns.map(({ text }) => text).join('\n') ?? '';
  for (const text of texts) expect(heard.split(text)).toHaveLength(2);
});

/** Some 900 tokens, of which nothing can be stripped. */
function ramble(n: number): ReplyStep {
  const thoughts = Array.from({ length: 100 }, (_each, line) => `thought ${n} of ${line} gold`);
  return reply.toolCalls([{ name: 'step', input: { n } }], { text: thoughts.join('\n') });
}

/** Rambles so many times and ends; what is asked for a summary holds the fact. Tells how often it had rambled before that. */
function rambling(from: number, count: number, end: string): { readonly beforeSummary: number[] } {
  let n = from;
  const beforeSummary: number[] = [];
  const summary = { progress: 'Rambled.', facts: ['Amber holds kestrel-4471.'], decisions: [] };
  rolling.emulator.clearScripts();
  rolling.emulator.script(({ systemText }): Step => {
    if (systemText.includes('You summarize the record of an agent')) {
      beforeSummary.push(n);
      return reply.text(JSON.stringify(summary));
    }
    n += 1;
    return n < from + count ? ramble(n) : reply.text(end);
  });
  return { beforeSummary };
}

test('a run that rolled over and compacted is forked where an earlier segment stood, forked again, and continued', async () => {
  const { client } = rolling;
  const lastRequest = (): string => JSON.stringify(rolling.emulator.requests.at(-1)?.body);
  const transcript = async (runId: string, at?: number): Promise<string> => {
    const { head } = await client.run(runId).transcriptHead(at);
    const messages = await rolling.stored.store.loadTranscript(head);
    return transcriptLines(messages)
      .map(({ text }) => text)
      .join('\n');
  };
  const { beforeSummary } = rambling(0, 13, 'the end');
  const first = await client.start({ agent: 'rambler', goal: 'Ramble on.' });
  expect(await first.result()).toMatchObject({ status: 'completed', answer: 'the end' });
  const { segments, context } = await first.status();
  expect(segments).toBeGreaterThan(3);
  expect(context?.compactions).toBeGreaterThan(0);
  expect(await transcript(first.runId)).not.toContain('thought 1 of');
  // What the next iteration compacted is whole where the one before ended.
  const [last = 0] = beforeSummary;
  const whole = await transcript(first.runId, last);
  for (const text of ['thought 1 of', `stepped ${last}`]) expect(whole).toContain(text);

  const third = await transcript(first.runId, 3);
  expect(third).toContain('stepped 3');
  expect(third).not.toContain('thought 4 of');
  rambling(100, 3, 'forked');
  const fork = await client.fork(first.runId, 3, { message: 'Other thoughts.' });
  expect(await fork.result()).toMatchObject({ status: 'completed', answer: 'forked' });
  expect(await transcript(fork.runId, 0)).toBe(`${third}\n\nuser       Other thoughts.`);

  rambling(200, 1, 'forked again');
  const again = await client.fork(fork.runId, 1, { message: 'And other ones.' });
  expect(await again.result()).toMatchObject({ status: 'completed', answer: 'forked again' });
  for (const text of [
    'thought 1 of',
    'stepped 3',
    'Other thoughts.',
    'thought 101 of',
    'stepped 101',
    'And other',
  ])
    expect(lastRequest()).toContain(text);
  for (const text of ['thought 4 of', 'thought 102 of']) expect(lastRequest()).not.toContain(text);

  rambling(300, 9, 'went on');
  const next = await client.start({ agent: 'rambler', goal: 'Go on.', continueFrom: first.runId });
  expect(await next.result()).toMatchObject({ status: 'completed', answer: 'went on' });
  expect((await next.status()).context?.compactions).toBeGreaterThan(0);
  for (const text of [
    'kestrel-4471',
    'Goal, word for word:\\nGo on.',
    'An earlier goal: Ramble on.',
  ])
    expect(lastRequest()).toContain(text);
  expect(rolling.emulator.refusals).toEqual([]);
});
