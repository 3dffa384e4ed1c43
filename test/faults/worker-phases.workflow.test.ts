/** A worker is killed, or told to stop, in a chosen phase: nobody's failure is counted twice or forgotten, and the run goes on. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunRequest } from '../../workflows/core/run-protocol';
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
}, 120_000);

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

function start(limits: RunRequest['limits'] = {}): Promise<RunHandle> {
  const { server, taskQueue } = world;
  return server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: `waiter-${tests}`, goal: 'Wait.', limits } }],
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
  const handle = await start({ streamRetryBaseMs: 2_000 });
  await landed(1);
  await backingOff(handle, 1);
  await world.killAndReplace();
  const outcome = await outcomeOf(handle);
  expect(outcome).toMatchObject({ status: 'failed', reason: 'chain_exhausted' });
  const requests = emulator.requests.slice(before);
  expect(requests).toHaveLength(3);
  // The backoff of the second failure is the doubled one: the first was remembered.
  expect((requests[2]?.atMs ?? 0) - (requests[1]?.atMs ?? 0)).toBeGreaterThanOrEqual(4_000);
  expect(requests[1]?.lastUserText).toContain('did not arrive whole (overloaded)');
  emulator.assertDrained();
}, 120_000);

test('kill -9 in mid model call costs no retry, and keeps what was counted before', async () => {
  emulator.script([
    fault.http(529),
    fault.stall({ afterText: 'I was about to' }),
    fault.http(529),
    reply.text('done'),
  ]);
  const handle = await start({ streamRetryBaseMs: 500 });
  await landed(2);
  await world.killAndReplace();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { healed: { overloaded: 2 }, modelCalls: 1 },
  });
  expect(emulator.requests.slice(before)).toHaveLength(4);
  emulator.assertDrained();
}, 120_000);

test('SIGTERM in mid model call hands the call to another worker, at no cost of a retry', async () => {
  emulator.script([fault.stall({ afterText: 'I was about to' }), reply.text('done')]);
  const handle = await start({ streamRetries: 0 });
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
  expect(JSON.stringify(requests[1]?.body)).not.toContain('did not arrive whole');
  emulator.assertDrained();
}, 120_000);

test('SIGTERM in mid tool hands a keyed call to another worker, and nobody calls it cancelled', async () => {
  emulator.script([reply.toolCalls([{ name: 'wait_keyed', input: {} }]), reply.text('done')]);
  const handle = await start();
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
}, 120_000);

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
    report: { toolCallsSucceeded: 0, toolCallsFailed: 1, healed: { outcome_unknown: 1 } },
  });
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'aborted']);
  expect(emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('outcome_unknown');
  emulator.assertDrained();
}, 120_000);
