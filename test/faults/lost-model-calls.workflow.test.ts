/** A model call that costs workers, as a reply that ends its process would: bounded as a tool call is, with a readable end. */
import type { RunHandle } from '../../client/run-handle';
import type { AgentClient } from '../../client/agent-client';
import { connect } from '../../client/connect';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { fault, reply } from '../../testing/emulator/script';
import type { Limits } from '../../workflows/core/limits';
import type { PhaseWorld } from '../support/phase-world';
import { startPhaseWorld } from '../support/phase-world';

let world: PhaseWorld;
let client: AgentClient;
let before = 0;
beforeAll(async () => {
  world = await startPhaseWorld('lost-calls');
  client = await connect({ address: world.server.address, taskQueue: world.taskQueue });
});
afterAll(async () => {
  await client.close();
  await world.dispose();
});
beforeEach(() => {
  world.emulator.clearScripts();
  before = world.emulator.requests.length;
});

let used = 0;
function start(limits: Partial<Limits>): Promise<RunHandle> {
  used += 1;
  return client.start({ agent: `waiter-${used}`, goal: 'Go.', limits });
}

const sent = (): readonly RecordedRequest[] => world.emulator.requests.slice(before);

async function killInCall(count: number): Promise<void> {
  await world.emulator.waitFor(() => sent()[count - 1]?.progress.landed === true);
  await world.killAndReplace();
}

const stall = fault.stall({ afterText: 'I was about to' });

test('a model call whose worker is killed each time is sent until its limit, and the run ends with the cause', async () => {
  world.emulator.script([stall, stall, reply.text('never')]);
  const run = await start({ maxLostWorkers: 2 });
  await killInCall(1);
  await killInCall(2);
  const outcome = await run.outcome();
  expect(outcome).toMatchObject({ status: 'failed', reason: 'infra' });
  expect(outcome.status === 'failed' && outcome.message).toMatch(
    /model call on anthropic\/\S+ was given up: 2 workers died.*limits\.maxLostWorkers/,
  );
  expect(sent()).toHaveLength(2);
  // Both requests are on the ledger.
  expect(outcome.report.cost.mostUsd).toBeGreaterThan(0);
  expect(outcome.report.cost.usd).toBeGreaterThan(0);
});

test('below the limit the call goes on, and a failure in between costs nothing of it', async () => {
  world.emulator.script([stall, fault.http(529), stall, reply.text('done')]);
  const run = await start({ maxLostWorkers: 3, streamRetryBaseMs: 10 });
  await killInCall(1);
  await killInCall(3);
  expect(await run.outcome()).toMatchObject({ status: 'completed', answer: 'done' });
  expect(sent()).toHaveLength(4);
});
