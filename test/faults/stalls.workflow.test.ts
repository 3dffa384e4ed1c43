/**
 * Workers that stall and lose their calls, and runs that are cancelled in the middle of parallel calls: each effect happens
 * once, and all is told. Cases t2-fencing-01, t2-temporal-02 and t2-temporal-03, and inputs of the same kinds.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from '@temporalio/worker';
import type { AgentClient } from '../../client/agent-client';
import { connect } from '../../client/connect';
import type { RunHandle } from '../../client/run-handle';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { reply } from '../../testing/emulator/script';
import { eventually } from '../support/agent-world';
import { readLedger } from '../support/ledger-file';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName, workflowBundle } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { StallNote } from './fixtures/stall-worker';

interface Call {
  readonly name: string;
  readonly input: { readonly ms: number } | { readonly order: string };
}

let directory: string;
let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;
let client: AgentClient;
/** Serves the workflow tasks; those that a stalled process has polled would be lost for 10 s. */
let workflows: Worker;
let served: Promise<void>;
const taskQueue = uniqueName('stalls');
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'holdfast-stalls-'));
  [server, emulator, stored] = await Promise.all([
    startDevServer(),
    VendorEmulator.start(),
    temporaryStore(),
  ]);
  client = await connect({ address: server.address, taskQueue });
  const connection = server.nativeConnection;
  workflows = await Worker.create({
    connection,
    taskQueue,
    stickyQueueScheduleToStartTimeout: '1 second',
    workflowBundle: await workflowBundle(),
  });
  served = workflows.run();
  emulator.script(model);
  await startWorker();
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  workflows.shutdown();
  await served;
  await client.close();
  await server.close();
  await emulator.stop();
  await stored.dispose();
  await rm(directory, { recursive: true, force: true });
});

async function startWorker(): Promise<void> {
  const worker = await startWorkerProcess({
    script: path.join(__dirname, 'fixtures', 'stall-worker.ts'),
    env: {
      ADDRESS: server.address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      EMULATOR_URL: emulator.baseUrl('anthropic'),
      DIRECTORY: directory,
    },
  });
  workers.push(worker);
}

/** Makes the calls of its goal; after an unknown outcome it looks, and charges again only if there is no charge. */
function model(request: RecordedRequest): ReturnType<typeof reply.text> {
  const calls = JSON.parse(request.conversation.turns[0]?.text ?? '[]') as readonly Call[];
  if (request.messagesCount === 1) return reply.toolCalls(calls);
  const [call] = calls;
  const said = request.lastToolResults.map(({ content }) => content).join();
  if (call === undefined || !call.name.startsWith('charge')) return reply.text('done');
  if (said.includes('outcome_unknown')) return reply.toolCalls([{ ...call, name: 'check' }]);
  return said.includes('charges: 0') ? reply.toolCalls([call]) : reply.text('done');
}

function start(calls: readonly Call[], holds = ''): Promise<RunHandle> {
  const runId = `${holds}_${randomUUID()}`;
  return client.start({ agent: 'cashier', goal: JSON.stringify(calls), runId });
}

const notes = (): readonly StallNote[] =>
  readLedger(path.join(directory, 'ledger')) as readonly StallNote[];

const chargesOf = (order: string): number =>
  notes().filter(({ charged }) => charged === order).length;

/** The tools of a run that were started so far. */
function notedOf(run: RunHandle, field: 'ran'): readonly string[] {
  return notes().flatMap((note) => (note.run === run.runId ? (note[field] ?? []) : []));
}

/** Resolves to the note that a run has so many notes of a kind. */
async function noted(
  run: RunHandle,
  field: 'held' | 'told' | 'ran' | 'ended',
  count = 1,
): Promise<StallNote> {
  const found = await eventually(
    () => Promise.resolve(notes().filter((note) => note.run === run.runId && note[field])),
    (some) => some.length >= count,
  );
  const last = found[count - 1];
  if (last === undefined) throw new Error('not reached');
  return last;
}

/** Lets the held call of a run go on. */
function goOn(run: RunHandle, index: number): void {
  writeFileSync(path.join(directory, `${run.runId}.${index}`), '');
}

/** Names of the tools whose results the run's model read, in order, each with what it read. */
async function resultsOf({ report }: RunOutcome): Promise<readonly string[]> {
  if (report.head === undefined) return [];
  const messages = await stored.store.loadTranscript(report.head);
  return messages.flatMap((message) =>
    message.role === 'tool'
      ? message.results.map(({ name, content }) => `${name}: ${content}`)
      : [],
  );
}

const ms = 1_800;
const calls = (...names: readonly string[]): readonly Call[] =>
  names.map((name) => ({ name, input: { ms } }));

test('a process that tools block past its heartbeat runs each call once, and the model reads every result', async () => {
  const given = [calls('hog', 'calm'), calls('calm', 'hog')];
  const own = [
    calls('hog_keyed', 'calm'),
    calls('late_hog', 'hog'),
    calls('failing_hog', 'calm'),
    calls('probed_hog', 'calm'),
    [...calls('hog'), { name: 'heedful', input: { ms: 18_000 } }],
  ];
  const replies = [...given, ...own];
  const runs = await Promise.all(replies.map((reply) => start(reply)));
  const outcomes = await Promise.all(runs.map((run) => run.outcome()));
  expect(outcomes.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
  const names = replies.map((reply) => reply.map(({ name }) => name).sort());
  expect(runs.map((run) => [...notedOf(run, 'ran')].sort())).toEqual(names);
  const read = await Promise.all(outcomes.map(resultsOf));
  expect(
    read.map((results) => results.filter((result) => !/computed|waited/.test(result))),
  ).toEqual(runs.map(() => []));
  expect(read.map(({ length }) => length)).toEqual(replies.map(({ length }) => length));
});

const unknown = (name: string): string =>
  `${name}: stopped with the run; whether it took effect is not known`;

/** Cancels a run, and checks that nothing has begun since. */
async function cancelled(run: RunHandle, ran: readonly string[]): Promise<readonly string[]> {
  await run.cancel();
  const outcome = await run.outcome();
  expect(outcome.status).toBe('cancelled');
  expect([...notedOf(run, 'ran')].sort()).toEqual([...ran].sort());
  return [...outcome.report.didNotWork].sort();
}

describe('a cancel ends the run, starts nothing more, and tells what may have taken effect', () => {
  test.each([
    [['deaf', 'polite', 'calm']],
    [['calm', 'polite', 'deaf']],
    [['deaf', 'deaf', 'polite']],
  ])('in the middle of %j', async (names) => {
    const run = await start(calls(...names));
    await noted(run, 'ran', names.length);
    const open = names.filter((name) => name !== 'calm');
    expect(await cancelled(run, names)).toEqual(open.map(unknown).sort());
  });

  test('while one call is executing and one waits for an approval', async () => {
    const run = await start(calls('guarded', 'polite'));
    await noted(run, 'ran');
    await eventually(
      () => run.pending(),
      (items) => items.length === 1,
    );
    expect(await cancelled(run, ['polite'])).toEqual([unknown('polite')]);
  });

  test('while a slow store has a call between its intent and its start', async () => {
    const order = randomUUID();
    const charge = { name: 'charge_irreversible', input: { order } };
    const run = await start([charge, ...calls('polite')], 'wait:after-intent');
    await Promise.all([noted(run, 'held'), noted(run, 'ran')]);
    const lines = cancelled(run, ['polite']);
    await noted(run, 'told');
    goOn(run, 0);
    expect(await lines).toEqual([charge.name, 'polite'].map(unknown));
    expect(chargesOf(order)).toBe(0);
  });

  test('while a tool of another run blocks the event loop', async () => {
    const run = await start(calls('polite', 'deaf'));
    await noted(run, 'ran', 2);
    const hog = await start(calls('hog'), 'block:in-hog');
    await noted(hog, 'held');
    const lines = [cancelled(run, ['polite', 'deaf']), cancelled(hog, ['hog'])];
    // The server has given all three calls up, and ends both runs.
    const [, ofHog] = await Promise.all(lines);
    expect(await lines[0]).toEqual(['deaf', 'polite'].map(unknown));
    expect(ofHog).toEqual([unknown('hog')]);
    goOn(hog, 0);
    await Promise.all([noted(run, 'ended', 2), noted(hog, 'ended')]);
  });
});

describe('two workers', () => {
  /** The worker that serves; those before it are dead, since a stopped one keeps what it has polled. */
  async function onlyOne(): Promise<number> {
    await Promise.all(workers.splice(0, workers.length - 1).map((worker) => worker.kill()));
    const [only] = workers;
    if (only === undefined) throw new Error('no worker');
    return only.pid;
  }

  const effects = ['irreversible', 'keyed', 'reconcilable'];
  const charges = ['after-intent', 'executing'].flatMap((point) =>
    [...effects, ...effects].map((effect) => [effect, point] as const),
  );

  test.each(['stopped', 'blocked by a tool of another run'])(
    'a worker that is %s loses its calls to the other one, which charges each order once, and starts none when it wakes up',
    async (how) => {
      const first = await onlyOne();
      const orders = charges.map((): string => randomUUID());
      const runs = await Promise.all(
        charges.map(([effect, point], index) => {
          const input = { order: orders[index] ?? '' };
          return start([{ name: `charge_${effect}`, input }], `wait:${point}`);
        }),
      );
      await Promise.all(runs.map((run) => noted(run, 'held')));
      const hog = how === 'stopped' ? undefined : await start(calls('hog'), 'block:in-hog');
      if (hog === undefined) process.kill(first, 'SIGSTOP');
      else await noted(hog, 'held');
      await startWorker();
      for (const run of runs) goOn(run, 0);
      const outcomes = await Promise.all(runs.map((run) => run.outcome()));
      expect(outcomes.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
      if (hog === undefined) process.kill(first, 'SIGCONT');
      else goOn(hog, 0);
      const isEnded = (run: RunHandle, all: readonly StallNote[]): boolean =>
        all.some((note) => note.run === run.runId && note.ended && note.pid === first);
      await eventually(
        () => Promise.resolve(notes()),
        (all) => runs.every((run) => isEnded(run, all)),
      );
      const charged = notes().filter((note) => orders.includes(note.charged ?? ''));
      expect(charged.map(({ charged: order }) => order).sort()).toEqual([...orders].sort());
      expect(charged.filter(({ pid }) => pid === first)).toEqual([]);
      await hog?.outcome();
    },
  );

  test('a probe that stalls, and is overtaken, starts nothing when it ends', async () => {
    const order = randomUUID();
    const call = { name: 'charge_reconcilable', input: { order } };
    const run = await start([call], 'stop:executing.block:in-probe');
    const { pid } = await noted(run, 'held');
    process.kill(pid, 'SIGSTOP');
    const probing = await noted(run, 'held', 2);
    goOn(run, 0);
    process.kill(pid, 'SIGCONT');
    expect(await run.outcome()).toMatchObject({ status: 'completed' });
    expect(chargesOf(order)).toBe(1);
    goOn(run, 1);
    await eventually(
      () => Promise.resolve(notes()),
      (all) =>
        all.some(({ run: of, ended, pid: by }) => of === run.runId && ended && by === probing.pid),
    );
    expect(chargesOf(order)).toBe(1);
  });

  test('a cancel during a takeover: neither the worker that took over nor the one that wakes up charges', async () => {
    const order = randomUUID();
    const name = 'charge_reconcilable';
    const run = await start([{ name, input: { order } }], 'stop:executing.wait:in-probe');
    const { pid } = await noted(run, 'held');
    process.kill(pid, 'SIGSTOP');
    await noted(run, 'held', 2);
    const lines = cancelled(run, []);
    await noted(run, 'told');
    goOn(run, 1);
    expect(await lines).toEqual([unknown(name)]);
    goOn(run, 0);
    process.kill(pid, 'SIGCONT');
    await noted(run, 'ended', 2);
    expect(chargesOf(order)).toBe(0);
  });
});
