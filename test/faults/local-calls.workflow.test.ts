/** What may happen to a worker during a local call: the call is repeated as an ordinary activity, and not for ever. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { reply } from '../../testing/emulator/script';
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

let world: PhaseWorld;
let tests = -1;
beforeAll(async () => {
  world = await startPhaseWorld('local-calls');
});
afterAll(() => world.dispose());
beforeEach(async () => {
  tests += 1;
  world.emulator.clearScripts();
  await rm(world.fileOf('ledger'), { force: true });
  await rm(world.fileOf('gate'), { force: true });
});

function start(request: Partial<RunRequest> = {}): Promise<RunHandle> {
  const { server, taskQueue } = world;
  return server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: `reader-${tests}`, goal: 'Read.', ...request } }],
  });
}

const script = (name: string): void => {
  world.emulator.script([reply.toolCalls([{ name, input: {} }]), reply.text('done')]);
};

/** What the fixture's tools noted. */
const ledger = (): readonly LedgerLine[] =>
  readLedger(world.fileOf('ledger')) as readonly LedgerLine[];

/** Resolves when a tool has begun so many times. */
async function begun(times: number): Promise<void> {
  await eventually(
    () => Promise.resolve(ledger().filter(({ type }) => type === 'begun').length),
    (count) => count === times,
  );
}

/** How often the call was scheduled as an ordinary activity, and how often a local one ended. */
async function traces(handle: RunHandle): Promise<{ ordinary: number; local: number }> {
  const events = (await handle.fetchHistory()).events ?? [];
  return {
    ordinary: events.filter(
      ({ activityTaskScheduledEventAttributes: activity }) => activity?.activityId === 't1.0',
    ).length,
    local: events.filter((event) => event.markerRecordedEventAttributes != null).length,
  };
}

test('kill -9 in mid local call: the read is repeated, as an ordinary activity', async () => {
  script('wait_read');
  const handle = await start();
  await begun(1);
  await world.killAndReplace();
  writeFileSync(world.fileOf('gate'), '');
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  expect(ledger().map(({ type }) => type)).toEqual(['begun', 'begun', 'done']);
  // The second worker did not try it locally: it could not know whether the call had ended the first.
  expect(await traces(handle)).toEqual({ ordinary: 1, local: 1 });
  world.emulator.assertDrained();
});

test('a local call that ends each worker is tried locally once, then counted as any other', async () => {
  script('end_worker');
  const handle = await start({ limits: { maxLostWorkers: 2 } });
  for (const times of [1, 2, 3]) {
    await begun(times);
    await world.killAndReplace();
  }
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsFailed: 1, healed: {} },
  });
  expect(ledger().map(({ attempt }) => attempt)).toEqual([1, 1, 2]);
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain(
    '2 workers were lost',
  );
  world.emulator.assertDrained();
});

test('a local call that blocks its worker for longer than a workflow task is not repeated locally', async () => {
  script('block_worker');
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  const executions = ledger().filter(({ type }) => type === 'begun').length;
  // The rebuilt run may still get the result of the call that blocked; what runs again is an ordinary activity.
  expect(executions - (await traces(handle)).ordinary).toBeLessThanOrEqual(1);
  world.emulator.assertDrained();
});

test('SIGTERM in mid local call hands the call to another worker', async () => {
  script('wait_read');
  const handle = await start({ limits: { maxLostWorkers: 1 } });
  await begun(1);
  const leaving = await world.replace();
  expect(await leaving.terminate()).toBe(0);
  expect(leaving.output()).toContain('ended gracefully');
  writeFileSync(world.fileOf('gate'), '');
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 1, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  expect(ledger().at(-1)?.type).toBe('done');
  world.emulator.assertDrained();
});
