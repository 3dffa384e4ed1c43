/** Workers that stall and lose their calls, and runs that are cancelled (cases t2-fencing-01, t2-temporal-02, t2-temporal-03): each effect happens once, and all is told. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunHandle } from '../support/agent-world';
import { eventually, outcomeOf } from '../support/agent-world';
import { readLedger } from '../support/ledger-file';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';

interface LedgerLine {
  readonly charged?: string;
  readonly ran?: string;
  readonly pid: number;
}

let directory: string;
let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;
let taskQueue: string;
let workers: WorkerProcess[];

beforeAll(async () => {
  server = await startDevServer();
  emulator = await VendorEmulator.start();
});
afterAll(async () => {
  await server.close();
  await emulator.stop();
});
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'holdfast-stalls-'));
  stored = await temporaryStore();
  taskQueue = uniqueName('stalls');
  workers = [];
  emulator.clearScripts();
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await stored.dispose();
  await rm(directory, { recursive: true, force: true });
});

const ledger = (): readonly LedgerLine[] =>
  readLedger(path.join(directory, 'ledger')) as readonly LedgerLine[];
const chargesOf = (order: string): readonly LedgerLine[] =>
  ledger().filter(({ charged }) => charged === order);

async function startWorker(storeDelayMs: number): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({
    script: path.join(__dirname, 'fixtures', 'stall-worker.ts'),
    env: {
      ADDRESS: server.address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      EMULATOR_URL: emulator.baseUrl('anthropic'),
      LEDGER_FILE: path.join(directory, 'ledger'),
      STORE_DELAY_MS: String(storeDelayMs),
    },
  });
  workers.push(worker);
  return worker;
}

function start(goal: object): Promise<RunHandle> {
  return server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: 'cashier', goal: JSON.stringify(goal) } }],
  });
}

interface Goal {
  readonly tool: string;
  readonly order: string;
}

/** A model that charges its order, looks after an unknown outcome, and charges again only if there is no charge. */
function cashier(request: RecordedRequest): ReturnType<typeof reply.text> {
  const body = JSON.stringify(request.body);
  const { tool, order } = JSON.parse(
    /\{\\"tool.*?\}/.exec(body)?.[0].replaceAll('\\"', '"') ?? '{}',
  ) as Goal;
  const call = (name: string): ReturnType<typeof reply.text> =>
    reply.toolCalls([{ name, input: { order } }]);
  if (request.messagesCount === 1) return call(tool);
  const last = JSON.stringify((request.body as { messages: readonly unknown[] }).messages.at(-1));
  if (last.includes('outcome_unknown')) return call('check');
  return last.includes('charges: 0') ? call(tool) : reply.text('done');
}

test.each(['irreversible', 'keyed'])(
  'a %s call whose worker is stopped after the intent is run by the other worker, and not by the first when it wakes up',
  async (effect) => {
    emulator.script(cashier);
    const first = await startWorker(300);
    const tool = `charge_${effect}`;
    const handle = await start({ tool, order: 'A-1' });
    await first.printed(`intent ${tool}`);
    process.kill(first.pid, 'SIGSTOP');
    const second = await startWorker(0);
    const outcome = await outcomeOf(handle);
    process.kill(first.pid, 'SIGCONT');
    await first.printed(`ended ${tool}`);
    expect(outcome.status).toBe('completed');
    expect(chargesOf('A-1').map(({ pid }) => pid)).toEqual([second.pid]);
  },
);

test('runs whose worker is blocked by a tool of another run charge their orders once', async () => {
  const orders = Array.from({ length: 12 }, (_, index) => `B-${index}`);
  emulator.script((request) =>
    request.lastUserText === '"hog"' && request.messagesCount === 1
      ? reply.toolCalls([{ name: 'hog', input: { ms: 8_000 } }])
      : request.lastUserText === '"hog"'
        ? reply.text('done')
        : cashier(request),
  );
  const first = await startWorker(300);
  const handles = await Promise.all([
    start('hog' as unknown as object),
    ...orders.map((order) => start({ tool: 'charge_irreversible', order })),
  ]);
  await first.printed('hog begins');
  await startWorker(0);
  const outcomes = await Promise.all(handles.map(outcomeOf));
  await first.printed('ended hog');
  expect(outcomes.map(({ status }) => status)).toEqual(handles.map(() => 'completed'));
  expect(orders.map((order) => [order, chargesOf(order).length])).toEqual(
    orders.map((order) => [order, 1]),
  );
});

test.each([
  ['hog', 'calm'],
  ['calm', 'hog'],
])('one worker that is blocked past its heartbeat runs %s and %s once', async (...names) => {
  emulator.script((request) =>
    request.messagesCount === 1
      ? reply.toolCalls(
          names.map((name) => ({ name, input: { ms: name === 'hog' ? 4_000 : 1_000 } })),
        )
      : reply.text('done'),
  );
  await startWorker(0);
  const outcome = await outcomeOf(await start({ both: names }));
  expect(outcome.status).toBe('completed');
  const lastRequest = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(lastRequest).toContain('computed');
  expect(lastRequest).toContain('waited');
  expect(
    ledger()
      .map(({ ran }) => ran)
      .sort(),
  ).toEqual(['calm', 'hog']);
});

test.each([
  [['deaf', 'polite', 'calm']],
  [['calm', 'polite', 'deaf']],
  [['deaf', 'deaf', 'polite']],
])(
  'a cancel in the middle of %j ends the run, starts nothing more, and tells which may have taken effect',
  async (names) => {
    emulator.script([
      reply.toolCalls(names.map((name) => ({ name, input: name === 'calm' ? { ms: 1 } : {} }))),
    ]);
    await startWorker(0);
    const handle = await start({ cancel: names });
    await eventually(
      () => Promise.resolve(ledger()),
      (lines) => lines.length === names.length,
    );
    await handle.cancel();
    const thrown: unknown = await handle.result().catch((error: unknown) => error);
    const cause = thrown instanceof WorkflowFailedError ? thrown.cause : undefined;
    expect(cause).toBeInstanceOf(CancelledFailure);
    const report = JSON.stringify((cause as CancelledFailure).details);
    for (const name of names.filter((each) => each !== 'calm'))
      expect(report).toContain(
        `${name}: stopped with the run; whether it took effect is not known`,
      );
    expect(
      ledger()
        .map(({ ran }) => ran)
        .sort(),
    ).toEqual([...names].sort());
  },
);
