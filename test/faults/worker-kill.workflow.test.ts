/** kill -9 of workers, then of the Temporal server and the worker together: the run completes, and nothing runs twice. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, WorkflowClient } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import type { EmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { Message } from '../../workflows/core/message';
import { eventually, outcomeOf } from '../support/agent-world';
import { readLedger } from '../support/ledger-file';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';

const kills = 20;
/** Iterations of the run: enough that it still goes on after the last kill; the rule below ends it then. */
const callsPerIteration = 2;

interface LedgerLine {
  readonly type: 'begun' | 'done';
  readonly key: string;
  readonly n: number;
  readonly attempt: number;
  readonly known?: string;
}

let directory: string;
let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'holdfast-kill-'));
  server = await startDevServer();
  emulator = await VendorEmulator.start();
  stored = await temporaryStore();
});

afterAll(async () => {
  await server.close();
  await emulator.stop();
  await stored.dispose();
  await rm(directory, { recursive: true, force: true });
});

/** A server that may be killed. */
function startMortalServer(): Promise<EmbeddedServer> {
  return startEmbeddedServer({
    stateFile: path.join(directory, 'temporal.db'),
    untilExitOf: process.pid,
  });
}

function startWorker(
  { address }: Pick<DevServer, 'address'>,
  taskQueue: string,
  ledger: string,
): Promise<WorkerProcess> {
  return startWorkerProcess({
    script: path.join(__dirname, 'fixtures', 'ledger-worker.ts'),
    env: {
      ADDRESS: address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      EMULATOR_URL: emulator.baseUrl('anthropic'),
      LEDGER_FILE: ledger,
    },
  });
}

/** What the fixture's tools noted. */
const linesOf = (ledger: string): readonly LedgerLine[] =>
  readLedger(ledger) as readonly LedgerLine[];

/** A model that asks for two numbers an iteration until it is told to finish. */
function recorder(
  isFinished: () => boolean,
): (request: RecordedRequest) => ReturnType<typeof reply.text> {
  return (request) => {
    const iteration = (request.messagesCount - 1) / 2;
    if (isFinished()) return reply.text(`finished after ${iteration} iterations`);
    const first = iteration * callsPerIteration;
    return reply.toolCalls(
      Array.from({ length: callsPerIteration }, (_, index) => ({
        name: 'record',
        input: { n: first + index },
      })),
    );
  };
}

/** Every call has its one result, in order, with the content that its tool gave. */
function expectIntact(messages: readonly Message[], iterations: number): void {
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.results : []));
  const calls = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.blocks.flatMap((block) => (block.type === 'tool-call' ? [block] : []))
      : [],
  );
  expect(calls.map((call) => call.input['n'])).toEqual(
    Array.from({ length: iterations * callsPerIteration }, (_, n) => n),
  );
  expect(results.map((result) => result.toolCallId)).toEqual(calls.map((call) => call.toolCallId));
  for (const [n, result] of results.entries()) expect(result.content).toContain(`recorded ${n}\n`);
}

function expectNothingTwice(ledger: readonly LedgerLine[], calls: number): void {
  const begun = ledger.filter((line) => line.type === 'begun');
  expect(begun.filter((line) => line.known === 'finished')).toEqual([]);
  expect(new Set(begun.map((line) => line.key)).size).toBe(calls);
  expect(new Set(ledger.filter((line) => line.type === 'done').map((line) => line.key)).size).toBe(
    calls,
  );
}

test('survives kill -9 of its worker at 20 random moments', async () => {
  const taskQueue = uniqueName('kill');
  const ledger = path.join(directory, 'worker-ledger.jsonl');
  let killed = 0;
  emulator.clearScripts();
  emulator.script(recorder(() => killed >= kills));
  let worker = await startWorker(server, taskQueue, ledger);
  let spare = startWorker(server, taskQueue, ledger);
  const handle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: 'recorder', goal: 'Record numbers.' } }],
  });
  for (; killed < kills; killed += 1) {
    const before = emulator.requests.length;
    // The run must have moved since the last kill, so that each kill meets it at work.
    await emulator.waitFor(({ requests }) => requests.length > before);
    await sleep(Math.random() * 120);
    const next = await spare;
    await worker.kill();
    worker = next;
    spare = startWorker(server, taskQueue, ledger);
  }
  const outcome = await outcomeOf(handle);
  await (await spare).kill();
  await worker.kill();
  expect(outcome.status).toBe('completed');
  expect(emulator.refusals).toEqual([]);
  const { iterations, head } = outcome.report;
  expectNothingTwice(linesOf(ledger), (iterations - 1) * callsPerIteration);
  expectIntact(await stored.store.loadTranscript(head ?? ''), iterations - 1);
  expect(outcome.report.healed).toEqual({});
});

test('survives kill -9 of the Temporal server and the worker together', async () => {
  const taskQueue = uniqueName('kill-all');
  const ledger = path.join(directory, 'server-ledger.jsonl');
  let isRestarted = false;
  emulator.clearScripts();
  emulator.script(recorder(() => isRestarted));
  const killed = await startMortalServer();
  let connection = await Connection.connect({
    address: killed.address,
    plugins: [closedConnection],
  });
  const workflowId = `run-${randomUUID()}`;
  const worker = await startWorker(killed, taskQueue, ledger);
  await new WorkflowClient({ connection }).start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId,
    args: [{ request: { agent: 'recorder', goal: 'Record numbers.' } }],
  });
  await eventually(
    () => Promise.resolve(linesOf(ledger)),
    (lines) => lines.length >= 6,
  );
  await Promise.all([killed.kill(), worker.kill()]);
  await connection.close();
  const restarted = await startMortalServer();
  isRestarted = true;
  const successor = await startWorker(restarted, taskQueue, ledger);
  connection = await Connection.connect({
    address: restarted.address,
    plugins: [closedConnection],
  });
  const handle = new WorkflowClient({ connection }).getHandle<typeof agentRun>(workflowId);
  const outcome = await outcomeOf(handle);
  await successor.kill();
  await connection.close();
  await restarted.stop();
  expect(outcome.status).toBe('completed');
  expect(emulator.refusals).toEqual([]);
  const { iterations, head } = outcome.report;
  expectNothingTwice(linesOf(ledger), (iterations - 1) * callsPerIteration);
  expectIntact(await stored.store.loadTranscript(head ?? ''), iterations - 1);
});
