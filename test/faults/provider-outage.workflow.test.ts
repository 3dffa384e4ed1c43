/** Provider recovery in virtual time: retries and failover with their delays, and ten minutes without any vendor. */
import { Worker } from '@temporalio/worker';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/index';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import { emulatedProviders, otherModel, outcomeOf, testModel } from '../support/agent-world';
import { startTimeSkipping, uniqueName, workflowBundle } from '../support/temporal';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

interface Sent {
  readonly atMs: number;
  readonly wire: RecordedRequest['wire'];
}

/** A world in virtual time whose emulator notes the virtual time of each request. */
interface VirtualWorld {
  readonly sent: Sent[];
  readonly script: (answer: (request: RecordedRequest, atMs: number) => Step) => void;
  readonly run: () => Promise<RunOutcome>;
}

let environment: TestWorkflowEnvironment;
let emulator: VendorEmulator;
let stored: TemporaryStore;

beforeAll(async () => {
  environment = await startTimeSkipping();
});
afterAll(() => environment.teardown());
beforeEach(async () => {
  emulator = await VendorEmulator.start();
  stored = await temporaryStore();
});
afterEach(async () => {
  await emulator.stop();
  await stored.dispose();
});

/** Runs an agent with two routes on a server that skips time. One run at a time: the server's clock is one for all. */
async function withVirtualTime(work: (world: VirtualWorld) => Promise<void>): Promise<void> {
  const taskQueue = uniqueName('virtual');
  const sent: Sent[] = [];
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle: await workflowBundle(),
    activities: {
      ...createActivities({
        store: stored.store,
        providers: emulatedProviders(emulator),
        agents: [
          {
            name: 'worker',
            instructions: 'You answer.',
            chain: [
              { provider: 'anthropic', model: testModel },
              { provider: 'openai', model: otherModel },
            ],
            tools: [],
          },
        ],
      }),
    },
  });
  const start = (): Promise<RunOutcome> =>
    environment.client.workflow
      .start<typeof agentRun>(agentRunWorkflow, {
        taskQueue,
        workflowId: uniqueName('run'),
        args: [{ request: { agent: 'worker', goal: 'Answer.' } }],
      })
      .then(outcomeOf);
  await worker.runUntil(() =>
    work({
      sent,
      script: (answer) => {
        emulator.script(async (request) => {
          const atMs = await environment.currentTimeMs();
          sent.push({ atMs, wire: request.wire });
          return answer(request, atMs);
        });
      },
      run: start,
    }),
  );
}

/** Gaps between requests in seconds, rounded to what virtual time can be off. */
function gaps(sent: readonly Sent[]): readonly number[] {
  return sent.slice(1).map(({ atMs }, index) => (atMs - (sent[index]?.atMs ?? 0)) / 1000);
}

test('retries after 1.5 s and 3 s, then fails over, and cools the primary down', async () => {
  await withVirtualTime(async ({ sent, script, run }) => {
    script(({ wire }) => (wire === 'anthropic' ? fault.http(429) : reply.text('from the backup')));
    const outcome = await run();
    expect(outcome).toMatchObject({
      status: 'completed',
      answer: 'from the backup',
      report: { failovers: 1, healed: { rate_limit: 1 } },
    });
    expect(sent.map(({ wire }) => wire)).toEqual([
      'anthropic',
      'anthropic',
      'anthropic',
      'responses',
    ]);
    const [first = 0, second = 0, third = 60] = gaps(sent);
    expect(first).toBeGreaterThanOrEqual(1.5);
    expect(second).toBeGreaterThanOrEqual(3);
    // Nothing waits for the primary, which is probed after 30 s at the earliest; a busy machine takes seconds of its own.
    expect(Math.max(first, second, third)).toBeLessThan(30);
    const [health] = await stored.store.readHealth([`anthropic/${testModel}`]);
    expect(health).toMatchObject({ status: 'down', lastErrorReason: 'rate_limit', errorCount: 1 });
    const restMs = (health?.cooldownUntilMs ?? 0) - (health?.lastFailureAtMs ?? 0);
    expect(restMs).toBe(60_000);
  });
});

test('waits out ten minutes in which both vendors are down, with no calls but the probes', async () => {
  const outageMs = 600_000;
  await withVirtualTime(async ({ sent, script, run }) => {
    const beganAtMs = await environment.currentTimeMs();
    script((_request, atMs) =>
      atMs < beganAtMs + outageMs ? fault.http(529) : reply.text('back again'),
    );
    const outcome = await run();
    expect(outcome).toMatchObject({ status: 'completed', answer: 'back again' });
    // Three calls on each route at first; then, 30 s before the end of each cooldown of 2 min, one probe on each.
    const probes = sent.slice(6);
    for (const wire of ['anthropic', 'responses'] as const) {
      const between = gaps(probes.filter((probe) => probe.wire === wire));
      for (const gap of between) expect(gap).toBeGreaterThanOrEqual(90);
    }
    expect(probes.length).toBeGreaterThanOrEqual(12);
    expect(probes.length).toBeLessThanOrEqual(15);
  });
});
