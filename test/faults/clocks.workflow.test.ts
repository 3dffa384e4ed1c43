/**
 * Workers whose clocks are wrong: what they share is the store's time and the server's, so none decides for another. Case
 * t2-clock-01, and inputs of the same kind.
 *
 * Sources: bolshakov/stoplight#315, johanhaleby/occurrent#659 and mlflow/mlflow#25199 (a lease is judged by another clock than
 * the one that wrote it), constructorfabric/gears-rust#4036 (a holder whose clock is ahead holds too long),
 * NodeDB-Lab/nodedb#250 (one whose clock is behind looks expired), element-hq/matrix-authentication-service#3307 (dead workers by
 * the system's clock).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index';
import { AgentClient } from '../../client/agent-client';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { fault, reply } from '../../testing/emulator/script';
import { defaultLimits } from '../../workflows/core/limits';
import { emulatedProviders, eventually } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName, workflowBundle } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

interface Case {
  readonly id: string;
  readonly expect: { readonly checks: { readonly delay_ms_max: number } };
}

const file = path.join(__dirname, '..', 'fixtures', 'cases', 'measures-and-clocks.jsonl');
const cases = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);
const { checks } = (cases.find(({ id }) => id === 't2-clock-01') as Case).expect;

const hourMs = 3_600_000;
const yearMs = 8_766 * hourMs;
/** Milliseconds by which each worker's clock is ahead. */
const offsets = {
  right: 0,
  ahead: 2 * hourMs,
  behind: -hourMs,
  future: 10 * yearMs,
  past: -10 * yearMs,
};
type Clock = keyof typeof offsets;

/** Who meets the failure, and who runs then. */
const pairs: readonly (readonly [first: Clock, then: Clock])[] = [
  ['ahead', 'right'],
  ['future', 'right'],
  ['behind', 'right'],
  ['past', 'right'],
  ['right', 'past'],
  ['right', 'future'],
  ['past', 'future'],
];

/** The rest after a 429, of which the default is a minute. */
const restMs = 6_000;
const modelOf = (pair: readonly string[]): string => `claude-sonnet-5-${pair.join('-')}`;

function modelIn({ body }: RecordedRequest): string {
  const { model } = body;
  return typeof model === 'string' ? model : '';
}

let server: DevServer;
let emulator: VendorEmulator;
let stored: TemporaryStore;
const workers: { readonly worker: Worker; readonly running: Promise<void> }[] = [];
const clients = new Map<Clock, AgentClient>();
const sick = new Set<string>();

beforeAll(async () => {
  [server, emulator, stored] = await Promise.all([
    startDevServer(),
    VendorEmulator.start(),
    temporaryStore(),
  ]);
  const { connection, namespace, address } = server;
  for (const [name, offsetMs] of Object.entries(offsets) as [Clock, number][]) {
    const taskQueue = uniqueName(`clock-${name}`);
    const worker = await Worker.create({
      connection: server.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: {
        ...createActivities({
          store: stored.store,
          providers: emulatedProviders(emulator),
          clock: () => Date.now() + offsetMs,
          agents: pairs.map((pair) => ({
            name: pair.join('-'),
            instructions: 'You answer.',
            chain: [{ provider: 'anthropic', model: modelOf(pair), windowTokens: 200_000 }],
            tools: [],
            recovery: { mode: 'off' as const },
            limits: {
              streamRetries: 0,
              cooldownMs: { ...defaultLimits.cooldownMs, rate_limit: restMs },
            },
          })),
        }),
      },
    });
    workers.push({ worker, running: worker.run() });
    clients.set(
      name,
      new AgentClient(new Client({ connection, namespace }), { taskQueue, address }),
    );
  }
  emulator.script((request: RecordedRequest) =>
    sick.has(modelIn(request))
      ? fault.http(429, { headers: { 'retry-after': '5' } })
      : reply.text('done'),
  );
});
afterAll(async () => {
  for (const { worker } of workers) worker.shutdown();
  await Promise.all(workers.map(({ running }) => running));
  await emulator.stop();
  await stored.dispose();
  await server.close();
});

function clientOf(clock: Clock): AgentClient {
  const client = clients.get(clock);
  if (client === undefined) throw new Error(`no client for ${clock}`);
  return client;
}

test.concurrent.each(pairs)(
  't2-clock-01: a route that failed for a worker whose clock is %s rests for one whose clock is %s as long as it must',
  async (first, then) => {
    const pair = [first, then];
    const agent = pair.join('-');
    const model = modelOf(pair);
    const requests = (): readonly RecordedRequest[] =>
      emulator.requests.filter((request) => modelIn(request) === model);
    sick.add(model);
    const failing = await clientOf(first).start({ agent, goal: 'Answer.' });
    await eventually(
      () => Promise.resolve(requests().length),
      (count) => count > 0,
    );
    await eventually(
      () => stored.store.readHealth([`anthropic/${model}`]),
      ([health]) => health?.status === 'down',
    );
    await failing.stop('tester');
    sick.delete(model);
    const failedAtMs = requests()[0]?.atMs ?? 0;
    const run = await clientOf(then).start({ agent, goal: 'Answer.' });
    expect(await run.outcome()).toMatchObject({ status: 'completed', answer: 'done' });
    const delayMs = (requests()[1]?.atMs ?? Infinity) - failedAtMs;
    // Not before the vendor's wait is over, and far from hours.
    expect(delayMs).toBeGreaterThan(4_900);
    expect(delayMs).toBeLessThan(checks.delay_ms_max / 4);
    const [health] = await stored.store.readHealth([`anthropic/${model}`]);
    expect(health).toMatchObject({ status: 'healthy', cooldownUntilMs: 0 });
    expect(Math.abs((health?.lastSuccessAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
  },
);
