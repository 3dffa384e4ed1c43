/** Tools whose work is Temporal code that exists already: on a real server, with workers of another team on their own task queue. */
import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import * as nexus from 'nexus-rpc';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { RunHandle } from '../../client/run-handle';
import { HistoryReader } from '../../client/history/facts';
import { SegmentFold } from '../../client/history/fold';
import type { Step } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import { queryNames } from '../../workflows/contract';
import type { RunStatusView } from '../../workflows/core/view/status';
import { statusView } from '../../workflows/core/view/status';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { uniqueName, workflowBundle } from '../support/temporal';

/** What the other team's activities did, in order. */
let done: unknown[][] = [];
const taskQueue = uniqueName('orders');
const endpoint = uniqueName('billing');
const laterEndpoint = uniqueName('later');

const activities = {
  charge(order: string, cents: number, key: string): object {
    done.push(['charge', order, cents]);
    if (order.startsWith('refuse:'))
      throw ApplicationFailure.nonRetryable('the card is refused', order.slice(7));
    if (order === 'midway') throw ApplicationFailure.nonRetryable('read ECONNRESET');
    if (order === 'large') return { text: 'x'.repeat(140_000) };
    return { receipt: `R-${done.length}`, key, secret: 'internal' };
  },
  /** Hangs at its first attempt. */
  async settle(order: string): Promise<string> {
    const { attempt } = Context.current().info;
    done.push(['settle', order, attempt]);
    if (attempt === 1) await Context.current().cancelled;
    return `settled ${order} at attempt ${attempt}`;
  },
};

const billing = nexus.service('billing', {
  invoice: nexus.operation<{ order: string; key: string }, string>(),
});
const billingHandler = nexus.serviceHandler(billing, {
  invoice: (_context, { order, key }) => {
    done.push(['invoice', order]);
    if (order === 'none') throw new nexus.HandlerError('BAD_REQUEST', 'there is no such order');
    return Promise.resolve(`invoice of ${order} for ${key.length > 0 ? 'a key' : 'nobody'}`);
  },
});

const input = z.object({ order: z.string(), cents: z.number().default(100) });
const base = { description: 'Works on an order.', input, label: 'order' } as const;
const chargeCard = {
  activity: 'charge',
  taskQueue,
  args: (
    { order, cents }: z.output<typeof input>,
    { idempotencyKey }: { idempotencyKey: string },
  ) => [order, cents, idempotencyKey] as const,
  result: z.object({ receipt: z.string(), key: z.string() }),
} as const;
const settle = { activity: 'settle', taskQueue, args: ({ order }: { order: string }) => [order] };
const ship = {
  workflow: 'shipOrder',
  taskQueue,
  args: ({ order, cents }: { order: string; cents: number }) => [order, cents],
};
const tools = [
  defineTool({ ...base, name: 'charge', execute: chargeCard }),
  defineTool({ ...base, name: 'charge_approved', approval: 'always', execute: chargeCard }),
  defineTool({ ...base, name: 'settle', effect: 'keyed', timeoutMs: 1_500, execute: settle }),
  defineTool({ ...base, name: 'settle_once', timeoutMs: 1_500, execute: settle }),
  defineTool({
    ...base,
    name: 'nobody',
    execute: { activity: 'charge', taskQueue: uniqueName('empty'), scheduleToStartTimeoutMs: 500 },
  }),
  defineTool({ ...base, name: 'ship', execute: ship }),
  defineTool({
    ...base,
    name: 'ship_once',
    execute: { ...ship, workflowId: ({ order }: { order: string }) => `${taskQueue}-${order}` },
  }),
  defineTool({
    ...base,
    name: 'invoice',
    effect: 'keyed',
    execute: {
      nexusOperation: 'invoice',
      service: 'billing',
      endpoint,
      input: ({ order }, { idempotencyKey: key }) => ({ order, key }),
    },
  }),
  defineTool({
    ...base,
    name: 'later',
    effect: 'read',
    execute: {
      nexusOperation: 'invoice',
      service: 'billing',
      endpoint: laterEndpoint,
      input: ({ order }) => ({ order, key: 'none' }),
    },
  }),
];

let world: AgentWorld;
let stopOrders: () => Promise<void>;
beforeAll(async () => {
  const limits = { heartbeatTimeoutMs: 10_000 };
  const chain = [{ provider: 'anthropic', model: testModel }] as const;
  world = await startAgentWorld(
    [{ name: 'clerk', instructions: 'You work on orders.', chain, limits, tools }],
    // Each workflow task rebuilds the run from history, as after the death of its worker.
    { maxCachedWorkflows: 0 },
  );
  const { nativeConnection, connection, namespace } = world.server;
  const target = { worker: { namespace, taskQueue } };
  await connection.operatorService.createNexusEndpoint({ spec: { name: endpoint, target } });
  const worker = await Worker.create({
    connection: nativeConnection,
    taskQueue,
    activities,
    workflowBundle: await workflowBundle(require.resolve('./fixtures/order-workflows')),
    nexusServices: [billingHandler],
  });
  const running = worker.run();
  stopOrders = async () => {
    worker.shutdown();
    await running;
  };
});
afterAll(async () => {
  await stopOrders();
  await world.dispose();
});
beforeEach(() => {
  world.emulator.clearScripts();
  done = [];
});

const call = (name: string, order: string): Step => reply.toolCalls([{ name, input: { order } }]);

/** The run's history, which must replay, and whose fold must be the run. */
async function expectSound(run: RunHandle): Promise<void> {
  const handle = world.server.client.getHandle(run.runId);
  const history = await handle.fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history, run.runId);
  const reader = new HistoryReader(world.server.client.options, run.runId);
  const fold = new SegmentFold(run.runId);
  for (const event of history.events ?? []) {
    const fact = await reader.read(event);
    if (fact !== undefined) fold.take(fact);
  }
  fold.settle();
  const { state } = fold.folded();
  const asked = await handle.query<RunStatusView>(queryNames.status);
  expect(state && statusView(state)).toEqual(asked);
}

async function start(...steps: Step[]): Promise<RunHandle> {
  world.emulator.script([...steps, reply.text('done')]);
  return world.client.start({ agent: 'clerk', goal: 'Work.', runId: `run-${randomUUID()}` });
}

const lastRequest = (): string => JSON.stringify(world.emulator.requests.at(-1)?.body);

async function told(...steps: Step[]): Promise<string> {
  const run = await start(...steps);
  expect(await run.result()).toMatchObject({ status: 'completed' });
  await expectSound(run);
  return lastRequest();
}

describe('an activity', () => {
  test('gets its arguments and the key; the model reads what the schema leaves of its result', async () => {
    const run = await start(call('charge', 'A-1'));
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const request = lastRequest();
    expect(done).toEqual([['charge', 'A-1', 100]]);
    const { events = [] } = await world.server.client.getHandle(run.runId).fetchHistory();
    const ids = events?.flatMap(
      ({ activityTaskScheduledEventAttributes: each }) => each?.activityId ?? [],
    );
    expect(ids).toEqual(['prepare', 'm1', 't1.0', 't1.0.work', 't1.0.result', 'm2']);
    expect(request).toContain('R-1');
    expect(request).toMatch(/run-[\w-]+\/[\w-]+\/\w+/);
    expect(request).not.toContain('internal');
  });

  test('is not started before a person has approved the call', async () => {
    const run = await start(call('charge_approved', 'A-2'));
    const [item] = await eventually(
      () => run.pending(),
      (items) => items.length > 0,
    );
    expect(done).toEqual([]);
    if (item?.type !== 'approval') throw new Error('no approval');
    await run.approve(item.approvalId);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(done).toEqual([['charge', 'A-2', 100]]);
    await expectSound(run);
  });

  test.each([
    ['refuse:CardError', 'tool_execution_failed', 'CardError: the card is refused'],
    ['refuse:invalid_params', 'invalid_params', 'the card is refused'],
    ['midway', 'outcome_unknown', 'read ECONNRESET'],
    ['large', 'tool_execution_failed', 'is done and took effect, but its result has 140011'],
  ])('that fails with %s is told as %s', async (order, code, words) => {
    const request = await told(call('charge', order));
    expect(done).toHaveLength(1);
    expect(request).toContain(code);
    expect(request).toContain(words);
  });

  test('that says that only people can help ends the run', async () => {
    const run = await start(call('charge', 'refuse:tool_infrastructure'));
    const { status, reason, message } = { message: '', reason: '', ...(await run.result()) };
    expect({ status, reason }).toEqual({ status: 'failed', reason: 'infra' });
    expect(message).toContain('the card is refused');
    await expectSound(run);
  });

  test('that was lost is repeated by Temporal where its effect allows it, and else told as unknown', async () => {
    const request = await told(
      reply.toolCalls([
        { name: 'settle', input: { order: 'B-1' } },
        { name: 'settle_once', input: { order: 'B-2' } },
      ]),
    );
    expect(done.filter(([, order]) => order === 'B-1')).toHaveLength(2);
    expect(done.filter(([, order]) => order === 'B-2')).toHaveLength(1);
    expect(request).toContain('settled B-1 at attempt 2');
    expect(request).toContain('tool_timeout');
    expect(request).toContain('whether it took effect is not known');
  });

  test('that no worker takes is told as not started', async () => {
    expect(await told(call('nobody', 'C-1'))).toContain('was not started: no worker took it');
    expect(done).toEqual([]);
  });

  test('of an earlier run is not started by its fork', async () => {
    const run = await start(call('charge', 'D-1'));
    await run.result();
    world.emulator.script([call('charge', 'D-1'), reply.text('done')]);
    const fork = await world.client.fork(run.runId, 0);
    expect(await fork.result()).toMatchObject({ status: 'completed' });
    expect(done).toEqual([['charge', 'D-1', 100]]);
    expect(lastRequest()).toContain('not done again');
    await expectSound(fork);
  });
});

describe('a workflow', () => {
  test('runs as a child whose id is the key of the call', async () => {
    const run = await start(call('ship', 'E-1'));
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(lastRequest()).toContain('by');
    const { events } = await world.server.client.getHandle(run.runId).fetchHistory();
    const child = events?.flatMap(
      ({ startChildWorkflowExecutionInitiatedEventAttributes: started }) => started ?? [],
    );
    expect(child?.[0]?.workflowType?.name).toBe('shipOrder');
    expect(child?.[0]?.workflowId).toMatch(new RegExp(`^${run.runId}/[\\w-]+/`));
    await expectSound(run);
  });

  test('is started once under an id of its author', async () => {
    // The second call is asked about, as it repeats the first one (R-TOOL-14).
    const ship = call('ship_once', 'F-1');
    const request = await told(ship, ship, ship);
    expect(request).toContain('was not started again: its id');
    const found: unknown = await world.server.client.getHandle(`${taskQueue}-F-1`).result();
    expect(found).toEqual({ order: 'F-1', cents: 100, by: 'ship' });
  });

  test('that fails is told in its own words', async () => {
    expect(await told(call('ship', 'lost'))).toContain('ParcelLost: the parcel is lost');
  });

  test('is cancelled with the run, which then says that its effect is not known', async () => {
    const run = await start(call('ship', 'slow'));
    const handle = world.server.client.getHandle(run.runId);
    const childId = await eventually(
      async () =>
        (await handle.describe()).raw.pendingChildren?.find(({ workflowId }) => workflowId)
          ?.workflowId ?? '',
      (id) => id !== '',
    );
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    const { status } = await world.server.client.getHandle(childId).describe();
    expect(status.name).toBe('CANCELLED');
    await expectSound(run);
  });
});

test('a Nexus operation gets its input and the key, and its refusals are told', async () => {
  const request = await told(call('invoice', 'G-1'), call('invoice', 'none'));
  expect(done).toEqual([
    ['invoice', 'G-1'],
    ['invoice', 'none'],
  ]);
  expect(request).toContain('invoice of G-1 for a key');
  expect(request).toContain('invalid_params');
  expect(request).toContain('there is no such order');
});

test('a Nexus endpoint that is not there yet holds the run up, until it is', async () => {
  const run = await start(call('later', 'G-2'));
  const handle = world.server.client.getHandle(run.runId);
  await eventually(
    async () => (await handle.fetchHistory()).events ?? [],
    (events) =>
      events.some(({ workflowTaskFailedEventAttributes: failed }) =>
        failed?.failure?.message?.includes(laterEndpoint),
      ),
  );
  const target = { worker: { namespace: world.server.namespace, taskQueue } };
  const { operatorService } = world.server.connection;
  await operatorService.createNexusEndpoint({ spec: { name: laterEndpoint, target } });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  await expectSound(run);
});
