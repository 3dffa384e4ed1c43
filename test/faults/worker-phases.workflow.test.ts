/** A worker is killed, or told to stop, in a chosen phase: nobody's failure is counted twice or forgotten, and the run goes on. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunRequest } from '../../workflows/core/run/ports';
import type { RunHandle } from '../support/agent-world';
import { eventually, outcomeOf } from '../support/agent-world';
import { readLedger } from '../support/ledger-file';
import type { PhaseWorld } from '../support/phase-world';
import { startPhaseWorld } from '../support/phase-world';

interface LedgerLine {
  readonly type: 'begun' | 'done' | 'aborted';
  readonly attempt: number;
}

/** Each test leaves the worker that serves to the next one, since a start takes seconds. */
let world: PhaseWorld;
let emulator: VendorEmulator;
let before: number;

beforeAll(async () => {
  world = await startPhaseWorld('phases');
  emulator = world.emulator;
});

afterAll(() => world.dispose());

let tests = -1;
beforeEach(async () => {
  tests += 1;
  emulator.clearScripts();
  before = emulator.requests.length;
  await rm(world.fileOf('ledger'), { force: true });
  await rm(world.fileOf('gate'), { force: true });
});

/** Starts another worker, and tells the one that serves to stop. */
async function stopAndReplace(): Promise<void> {
  const leaving = await world.replace();
  expect(await leaving.terminate()).toBe(0);
  expect(leaving.output()).toContain('ended gracefully');
}

function start(request: Partial<RunRequest> = {}): Promise<RunHandle> {
  const { server, taskQueue } = world;
  return server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: `waiter-${tests}`, goal: 'Wait.', ...request } }],
  });
}

/** What the fixture's tools noted. */
const ledger = (): readonly LedgerLine[] =>
  readLedger(world.fileOf('ledger')) as readonly LedgerLine[];

/** Resolves when the answer to the `count`th request of this test is out. */
async function landed(count: number): Promise<void> {
  await emulator.waitFor(({ requests }) => requests[before + count - 1]?.progress.landed === true);
}

/** Resolves when the activity of the model call waits for its retry, as the server sees it. */
async function backingOff(handle: RunHandle, failures: number): Promise<void> {
  await eventually(
    async () => (await handle.describe()).raw.pendingActivities ?? [],
    ([activity]) =>
      activity?.attempt === failures + 1 && activity.lastFailure?.message !== undefined,
  );
}

test('kill -9 in the wait for a retry neither forgets the failures before nor adds one', async () => {
  emulator.script([fault.http(529), fault.http(529), fault.http(529)]);
  // Long enough for a busy machine to see the wait while it lasts.
  const handle = await start({ limits: { streamRetryBaseMs: 5_000 } });
  await landed(1);
  await backingOff(handle, 1);
  await world.killAndReplace();
  const outcome = await outcomeOf(handle);
  expect(outcome).toMatchObject({ status: 'failed', reason: 'chain_exhausted' });
  const requests = emulator.requests.slice(before);
  expect(requests).toHaveLength(3);
  // The backoff of the second failure is the doubled one: the first was remembered.
  expect((requests[2]?.atMs ?? 0) - (requests[1]?.atMs ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect(requests[1]?.lastUserText).toContain('got no complete reply (overloaded)');
  emulator.assertDrained();
});

test('kill -9 in mid model call costs no retry, and keeps what was counted before', async () => {
  emulator.script([
    fault.http(529),
    fault.stall({ afterText: 'I was about to' }),
    fault.http(529),
    reply.text('done'),
  ]);
  const handle = await start({ limits: { streamRetryBaseMs: 500 } });
  await landed(2);
  await world.killAndReplace();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { healed: { overloaded: 2 }, modelCalls: 1 },
  });
  expect(emulator.requests.slice(before)).toHaveLength(4);
  emulator.assertDrained();
});

const isSummary = ({ systemText }: RecordedRequest): boolean =>
  systemText.includes('You summarize the record of an agent');

/** A turn of some 1,000 tokens, none of which can be stripped. */
const rambles = (turn: number): Step =>
  reply.toolCalls([{ name: 'dig', input: { place: turn } }], {
    text: Array.from({ length: 110 }, (_each, line) => `thought ${turn} of ${line} gold`).join(
      '\n',
    ),
  });

const aSummary = (fact: string): Step =>
  reply.text(JSON.stringify({ progress: 'Thought on.', facts: [fact], decisions: [] }));

test('kill -9 in mid summary: the parts that were kept are not paid for again, and none is forgotten', async () => {
  const billedUsd = emulator.bill.usd;
  const summaries = [
    aSummary('The first part holds kestrel-4471.'),
    fault.stall({ afterText: '{"progress": "Thou' }),
    aSummary('The second part holds osprey-8830.'),
  ];
  let turn = 0;
  emulator.script((request) => {
    if (isSummary(request)) return summaries.shift() ?? aSummary('one summary too many');
    turn += 1;
    return JSON.stringify(request.body).includes('osprey-8830')
      ? reply.text('done')
      : rambles(turn);
  });
  const sent = (): readonly RecordedRequest[] => emulator.requests.slice(before);
  const handle = await start({ agent: 'rambler', goal: 'Think of gold.', budget: { usd: 5 } });
  await emulator.waitFor(() => sent().filter(isSummary)[1]?.progress.landed === true);
  await world.killAndReplace();
  const outcome = await outcomeOf(handle);
  expect(emulator.refusals).toEqual([]);
  expect(outcome).toMatchObject({ status: 'completed', report: { compactions: 1, healed: {} } });
  const [first, killed, again, ...more] = sent()
    .filter(isSummary)
    .map(({ lastUserText }) => lastUserText);
  expect(first).toContain('Part 1 of 2');
  expect(again).toContain('Part 2 of 2');
  expect(again).toBe(killed);
  expect(more).toEqual([]);
  const { events } = await handle.fetchHistory();
  const compactions = (events ?? []).filter(({ activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled?.activityId?.startsWith('c'),
  );
  expect(compactions).toHaveLength(1);
  const last = JSON.stringify(sent().at(-1)?.body);
  expect(last.split('kestrel-4471')).toHaveLength(2);
  expect(last).toContain('Think of gold.');
  // What the dead worker had paid for is on the bill, and on ours: its last request as an estimate.
  const { usd = 0, estimatedUsd = 0, mostUsd = 0 } = outcome.report.cost;
  const bill = emulator.bill.usd - billedUsd;
  expect(mostUsd).toBeGreaterThanOrEqual(bill);
  expect(usd).toBeCloseTo(bill, 2);
  expect(usd - estimatedUsd).toBeLessThanOrEqual(bill);
});

test('SIGTERM in mid model call hands the call to another worker, at no cost of a retry', async () => {
  emulator.script([fault.stall({ afterText: 'I was about to' }), reply.text('done')]);
  const handle = await start({ limits: { streamRetries: 0, maxLostWorkers: 1 } });
  await landed(1);
  await stopAndReplace();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    answer: 'done',
    report: { healed: {}, modelCalls: 1, didNotWork: [] },
  });
  const requests = emulator.requests.slice(before);
  expect(requests).toHaveLength(2);
  await emulator.waitFor(() => requests[0]?.progress.finished === true);
  expect(JSON.stringify(requests[1]?.body)).not.toMatch(
    /did not arrive whole|got no complete reply/,
  );
  emulator.assertDrained();
});

test('SIGTERM in mid tool hands a keyed call to another worker, and nobody calls it cancelled', async () => {
  emulator.script([reply.toolCalls([{ name: 'wait_keyed', input: {} }]), reply.text('done')]);
  const handle = await start({ limits: { maxLostWorkers: 1 } });
  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 1,
  );
  await stopAndReplace();
  writeFileSync(world.fileOf('gate'), '');
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'aborted', 'begun', 'done']);
  emulator.assertDrained();
});

test('SIGTERM in mid tool never repeats an irreversible call, and says that its outcome is unknown', async () => {
  emulator.script([
    reply.toolCalls([{ name: 'wait_irreversible', input: {} }]),
    reply.text('I will look.'),
  ]);
  const handle = await start();
  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 1,
  );
  await stopAndReplace();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 0, toolCallsFailed: 1, healed: {}, corrections: { rate: 0 } },
  });
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'aborted']);
  expect(emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('outcome_unknown');
  emulator.assertDrained();
});

type HistoryEvent = NonNullable<Awaited<ReturnType<RunHandle['fetchHistory']>>['events']>[number];

async function eventsOf(handle: Pick<RunHandle, 'fetchHistory'>): Promise<readonly HistoryEvent[]> {
  return (await handle.fetchHistory()).events ?? [];
}

/** Ids of the activities that a history scheduled, in order. */
const scheduled = (events: readonly HistoryEvent[]): readonly string[] =>
  events.flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
    activity?.activityId == null ? [] : [activity.activityId],
  );

test('a call that ends each worker is run until its limit, the model hears why, and the run goes on', async () => {
  emulator.script([reply.toolCalls([{ name: 'end_worker', input: {} }]), reply.text('I see.')]);
  const handle = await start({ limits: { maxLostWorkers: 2 } });
  for (const times of [1, 2]) {
    await eventually(
      () => Promise.resolve(ledger().length),
      (begun) => begun === times,
    );
    await world.killAndReplace();
  }
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsFailed: 1, healed: {} },
  });
  expect(ledger().map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('2 workers were lost');
  emulator.assertDrained();
});

test('kill -9 while a subagent works and the run above waits: nothing runs twice, the money counts once', async () => {
  emulator.script(({ systemText, lastToolResults }) => {
    if (lastToolResults.length > 0) return reply.text('done');
    return systemText.startsWith('You help')
      ? reply.toolCalls([{ name: 'wait_keyed', input: {} }])
      : reply.toolCalls([{ name: 'delegate', input: { task: 'Wait.' } }]);
  });
  const billed = emulator.bill.usd;
  const handle = await start({ agent: 'leader', goal: 'Lead.', budget: { usd: 1 } });
  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 1,
  );
  await world.killAndReplace();
  writeFileSync(world.fileOf('gate'), '');
  const outcome = await outcomeOf(handle);
  const child = world.server.client.getHandle(`${handle.workflowId}/t1.0`);
  expect(outcome).toMatchObject({
    status: 'completed',
    report: {
      modelCalls: 2,
      toolCallsSucceeded: 1,
      toolCallsFailed: 0,
      subagents: [{ runId: child.workflowId, status: 'completed' }],
    },
  });
  // The keyed call was in its worker's hands: it alone began again, and ended once.
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'begun', 'done']);
  expect(emulator.requests.slice(before)).toHaveLength(4);
  expect(outcome.report.cost.usd).toBeCloseTo(emulator.bill.usd - billed, 8);
  expect(outcome.report.cost).not.toHaveProperty('estimatedUsd');
  const above = await eventsOf(handle);
  expect(scheduled(above)).toEqual(['prepare', 'm1', 't1.0', 'm2']);
  expect(
    above.filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null),
  ).toHaveLength(1);
  expect(scheduled(await eventsOf(child))).toEqual(['prepare', 'm1', 't1.0', 'm2']);
});

test("a time limit that passes while no worker lives ends no run: an outage is not the run's time", async () => {
  emulator.script([reply.toolCalls([{ name: 'wait_keyed', input: {} }]), reply.text('done')]);
  const handle = await start({ limits: { maxActiveMs: 20_000 } });
  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 1,
  );
  await world.killAndReplace(async () => {
    await eventually(
      () => eventsOf(handle),
      (events) => events.some((event) => event.timerFiredEventAttributes != null),
    );
    const reachedMs = Date.now();
    // Longer than a heartbeat's timeout, so that no slow worker can be meant.
    await eventually(
      () => Promise.resolve(Date.now()),
      (nowMs) => nowMs > reachedMs + 7_000,
    );
  });
  writeFileSync(world.fileOf('gate'), '');
  const outcome = await outcomeOf(handle);
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, didNotWork: [] },
  });
  expect(outcome.report.activeMs).toBeLessThan(20_000);
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'begun', 'done']);
});
