/** A worker that died in the middle of a call: what it consumed is charged, however the later attempts end. */
import {
  ActivityCancellationDetails,
  ActivityFailure,
  CancelledFailure,
  RetryState,
  TimeoutFailure,
} from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { readMemory } from '../../activities/model-call/attempt-memory';
import type { Activities } from '../../activities/index';
import { anthropicProvider, createActivities } from '../../activities/index';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import { costOf } from '../../workflows/core/budget/budget';
import type { RunCost } from '../../workflows/core/budget/spend';
import type { CallSpend } from '../../workflows/core/budget/spend';
import { boundOf } from '../../workflows/core/budget/spend';
import type { Message } from '../../workflows/core/message';
import type { InfraError } from '../../workflows/core/failure';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
import { failureFromActivity } from '../../workflows/failure-from-activity';
import type { UnstampedEvent } from '../support/builders';
import { aPreparedRun, aRoute, takeAll } from '../support/builders';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const words = 'It was a dark and stormy night. '.repeat(20);
const route = 'anthropic/claude-haiku-4-5';

let stored: TemporaryStore;
let emulator: VendorEmulator;
let activities: Activities;
let input: CallModelInput;

async function setUp(cutReplies: 'sent' | 'whole'): Promise<void> {
  stored = await temporaryStore();
  emulator = await VendorEmulator.start({ cutReplies });
  activities = createActivities({
    store: stored.store,
    providers: [anthropicProvider({ apiKey: 'k', baseUrl: emulator.url })],
    agents: [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'anthropic', model: 'claude-haiku-4-5', maxOutputTokens: 900 }],
        tools: [],
      },
    ],
  });
  const prepared = { flags: [], agent: 'worker', goal: 'Work.' };
  const { snapshot, head } = await activities.prepareRun(prepared);
  const { storeId, definition } = snapshot;
  input = { storeId, definition, head, routeIndex: 0, iteration: 1, idPrefix: 'run' };
}

afterEach(async () => {
  await emulator.stop();
  await stored.dispose();
});

/** Runs an attempt, of `callModel` by default; reads what it threw as the workflow does. */
async function attempt(
  environment: MockActivityEnvironment,
  run: () => Promise<unknown> = () => activities.callModel(input),
): Promise<unknown> {
  try {
    return await environment.run(run);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown : undefined;
    const failed = new ActivityFailure('', 'callModel', 'm1', RetryState.TIMEOUT, '', cause);
    return failureFromActivity(failed, 'timeout');
  }
}

/** The last heartbeat of an attempt whose worker dies after half of the words have arrived. */
async function dieInMidCall(run?: () => Promise<unknown>): Promise<unknown> {
  emulator.script([fault.stall({ during: reply.text(words), afterCharacters: words.length / 2 })]);
  const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 40 });
  const tokens = (): number => readMemory(last).open?.usage.outputTokens ?? 0;
  let last: unknown;
  environment.on('heartbeat', (details: unknown) => {
    last = JSON.parse(JSON.stringify(details));
  });
  void attempt(environment, run);
  await emulator.waitFor(({ requests }) => requests[0]?.progress.landed === true);
  while (tokens() < 80) await new Promise((resolve) => setTimeout(resolve, 5));
  const atDeath = last;
  environment.cancel('CANCELLED');
  await emulator.waitFor(({ requests }) => requests[0]?.progress.usage !== undefined);
  return atDeath;
}

async function restRoute(): Promise<void> {
  const atMs = Date.now();
  await stored.store.reportFailure({
    route,
    reason: 'overloaded',
    message: 'too busy',
    status: 'down',
    cooldownUntilMs: atMs + 60_000,
    probeFromMs: atMs + 30_000,
    atMs,
  });
}

function after(details: unknown): MockActivityEnvironment {
  return new MockActivityEnvironment({ attempt: 2, heartbeatDetails: details });
}

function known({ nanoUsd = 0, estimated }: CallSpend): number {
  return nanoUsd - (estimated?.nanoUsd ?? 0);
}

/** Compares a spend with the bill of the lost request. */
function expectNear(spend: CallSpend | undefined): void {
  if (spend === undefined) throw new Error('nothing is charged');
  const billNanoUsd = Math.round(emulator.bill.usd * 1e9);
  expect(known(spend)).toBeGreaterThan(0);
  expect(known(spend)).toBeLessThanOrEqual(billNanoUsd);
  expect(boundOf(spend).nanoUsd).toBeGreaterThanOrEqual(billNanoUsd);
  expect((spend.nanoUsd ?? 0) / billNanoUsd).toBeLessThanOrEqual(1.3);
}

describe.each(['sent', 'whole'] as const)('a call that the vendor bills as %s', (billed) => {
  beforeEach(() => setUp(billed));

  test('the route is cooling down at the next attempt', async () => {
    const details = await dieInMidCall();
    await restRoute();
    const failure = (await attempt(after(details))) as InfraError;
    expect(failure).toMatchObject({ code: 'overloaded', spared: true });
    expectNear(failure.spend);
    expect(emulator.requests).toHaveLength(1);
  });

  test('the next attempt is cancelled', async () => {
    const details = await dieInMidCall();
    emulator.script([fault.connection('stall')]);
    const environment = after(details);
    const ended = attempt(environment);
    await emulator.waitForRequest(1);
    environment.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true }));
    const { spend } = (await ended) as { spend: CallSpend };
    const billNanoUsd = Math.round(emulator.bill.usd * 1e9);
    expect(known(spend)).toBeGreaterThan(0);
    expect(known(spend)).toBeLessThanOrEqual(billNanoUsd);
    expect(boundOf(spend).nanoUsd).toBeGreaterThan(billNanoUsd);
  });

  test('the next attempt does not fit, and is held back', async () => {
    const details = await dieInMidCall();
    const bounds = { windowTokens: 10, reserveTokens: 1, warnTokens: 0, compactTokens: 1 };
    input = { ...input, bounds };
    const result = (await attempt(after(details))) as { heldBack?: unknown; spend?: CallSpend };
    expect(result.heldBack).toBeDefined();
    expectNear(result.spend);
    expect(emulator.requests).toHaveLength(1);
  });

  test('the next attempt answers', async () => {
    const details = await dieInMidCall();
    const before = emulator.bill.usd;
    emulator.script([reply.text('done')]);
    const { spend } = (await attempt(after(details))) as { spend: CallSpend };
    await emulator.waitFor(({ requests }) => requests[1]?.progress.usage !== undefined);
    const second = Math.round((emulator.bill.usd - before) * 1e9);
    expect(known(spend) - second).toBeGreaterThan(0);
    expect(known(spend)).toBeLessThanOrEqual(Math.round(emulator.bill.usd * 1e9));
    expect(boundOf(spend).nanoUsd).toBeGreaterThanOrEqual(Math.round(emulator.bill.usd * 1e9));
  });
});

describe.each([
  ['before its first byte', fault.connection('reset', 'before-headers', reply.text(words))],
  ['behind its head', fault.connection('fin', 'after-headers', reply.text(words))],
  ['at its last byte', fault.missingEnd(reply.text(words))],
])('a whole answer whose connection broke %s', (_where, step) => {
  test('is charged, with the bill between the known part and the bound', async () => {
    await setUp('whole');
    emulator.script([step]);
    const failure = (await attempt(new MockActivityEnvironment())) as InfraError;
    await emulator.waitFor(({ requests }) => requests[0]?.progress.usage !== undefined);
    const billNanoUsd = Math.round(emulator.bill.usd * 1e9);
    const { spend } = failure;
    if (spend === undefined) throw new Error('nothing is charged');
    expect(spend.nanoUsd).toBeGreaterThan(0);
    expect(known(spend)).toBeLessThanOrEqual(billNanoUsd);
    expect(boundOf(spend).nanoUsd).toBeGreaterThanOrEqual(billNanoUsd);
    expect((spend.nanoUsd ?? 0) / billNanoUsd).toBeLessThanOrEqual(1.3);
  });
});

describe.each(['sent', 'whole'] as const)(
  'a worker that died in a paid request other than a model call, billed as %s',
  (billed) => {
    beforeEach(() => setUp(billed));

    test('a summary, and its route is cooling down at the next attempt', async () => {
      const turns: Message[] = Array.from({ length: 8 }, (_each, turn) => [
        { role: 'user', blocks: [{ type: 'text', text: `Turn ${turn}. ${words}` }] } as const,
        {
          role: 'assistant',
          vendor: 'anthropic',
          model: 'm',
          blocks: [{ type: 'text', text: `Answer ${turn}. ${words}` }],
        } as const,
      ]).flat();
      const head = await stored.store.appendNode(input.head, turns);
      const { storeId, definition } = input;
      const compact = (): Promise<unknown> =>
        activities.compact({
          storeId,
          definition,
          head,
          routeIndex: 0,
          bounds: { windowTokens: 4_000, reserveTokens: 500, warnTokens: 0, compactTokens: 1_000 },
          tier: 2,
          isDue: true,
          summary: { routeIndex: 0, windowTokens: 20_000 },
          holder: 'run/1',
        });
      const details = await dieInMidCall(compact);
      await restRoute();
      const failure = (await attempt(after(details), compact)) as InfraError;
      expect(failure).toMatchObject({ code: 'overloaded', spared: true });
      expectNear(failure.spend);
      expect(emulator.requests).toHaveLength(1);
    });

    test('a plan, and its route is cooling down at the next attempt', async () => {
      const fallback = {
        strategy: 'escalate' as const,
        reasoning: 'r',
        action: { toolName: '' },
        expectedOutcome: '',
        confidence: 0.9,
      };
      const context = {
        goal: 'Work.',
        estimate: {
          progressPercent: 1,
          reasoning: 'r',
          nextMilestone: '',
          blockers: [],
          isStuck: true,
        },
        steps: 1,
        completedSteps: [],
        facts: [],
        failures: [],
        trouble: { tool: '', code: 'loop' as const, message: 'm' },
        tried: [],
        exhaustedTools: [],
      };
      const plan = (): Promise<unknown> =>
        activities.planRecovery({
          ...input,
          purpose: 'plan',
          context,
          fallback,
          callIdPrefix: 'run',
          thresholds: { actAt: 0.7, askAt: 0.4 },
        });
      const details = await dieInMidCall(plan);
      await restRoute();
      const result = (await attempt(after(details), plan)) as { source: string; spend: CallSpend };
      expect(result.source).toBe('heuristic');
      expectNear(result.spend);
      expect(emulator.requests).toHaveLength(1);
    });
  },
);

describe('a call that ends without another attempt', () => {
  const price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5 };
  const budget = { nanoUsd: 500_000_000 };
  const stopped = (cause: Error): RunCost => {
    const route = aRoute({ price, maxOutputTokens: 8_192 });
    const state = aPreparedRun({ budget, chain: [route], firstTokens: 2_000 });
    const failed = new ActivityFailure('', 'callModel', 'm1', RetryState.TIMEOUT, '', cause);
    const failure = failureFromActivity(failed, 'timeout');
    const ending: UnstampedEvent = { type: 'stop-requested', reason: 'enough' };
    const [after] = takeAll(state, ending, { type: 'model-call-failed', callId: 'm1', failure });
    expect(after.phase).toMatchObject({ type: 'ended', outcome: { status: 'stopped' } });
    return costOf(after);
  };

  test('is charged for what its last heartbeat reported', async () => {
    await setUp('sent');
    const lost = new TimeoutFailure('', await dieInMidCall(), 'HEARTBEAT');
    const { usd = 0, estimatedUsd = 0, mostUsd = 0 } = stopped(lost);
    expect(usd - estimatedUsd).toBeGreaterThan(0);
    expect(usd - estimatedUsd).toBeLessThanOrEqual(emulator.bill.usd);
    expect(mostUsd).toBeGreaterThanOrEqual(emulator.bill.usd);
    expect(usd / emulator.bill.usd).toBeLessThanOrEqual(1.3);
    expect(mostUsd).toBeLessThan(0.01);
  });

  test.each([
    ['between two attempts', new CancelledFailure('', ['ACTIVITY_ID_NOT_STARTED'])],
    ['before any heartbeat', new TimeoutFailure('', undefined, 'HEARTBEAT')],
  ])('costs its input, and at most all its requests, if that was %s', async (_when, cause) => {
    await setUp('sent');
    const { usd = 0, estimatedUsd, mostUsd } = stopped(cause);
    expect(usd).toBeCloseTo(2_000e-6, 9);
    expect(estimatedUsd).toBe(usd);
    // Three requests (streamRetries is 2) of twice the tokens and 64, with 8,192 tokens of reply.
    expect(mostUsd).toBeCloseTo(3 * (4_064 * 1.25e-6 + 8_192 * 5e-6), 9);
  });

  test('costs nothing if it was never scheduled', async () => {
    await setUp('sent');
    expect(stopped(new CancelledFailure('cancelled'))).toEqual({ usd: 0, budgetUsd: 0.5 });
  });
});

test('nobody is charged for a request that no vendor has seen', async () => {
  await setUp('sent');
  await emulator.stop();
  const failure = (await attempt(new MockActivityEnvironment())) as InfraError;
  expect(failure).toMatchObject({ code: 'network' });
  expect(failure.spend).toBeUndefined();
  emulator = await VendorEmulator.start();
});

describe('a call that has lost as many workers as it may', () => {
  beforeEach(() => setUp('sent'));

  const lostAfter = (attempts: number, ended: number): MockActivityEnvironment =>
    new MockActivityEnvironment({
      attempt: attempts + 1,
      heartbeatDetails: { endedAttempts: ended, settledAttempts: attempts },
    });

  test.each([
    ['25 lost', 25, 0],
    ['25 lost among 90 that other workers gave back', 90, 65],
  ])('is not sent again: %s', async (_what, attempts, ended) => {
    const failure = await attempt(lostAfter(attempts, ended));
    expect(failure).toMatchObject({ code: 'worker_lost', route });
    expect((failure as InfraError).message).toContain('25 workers died');
    expect(emulator.requests).toHaveLength(0);
  });

  test.each([
    ['24 lost', 24, 0],
    ['90 that other workers gave back', 90, 90],
    ['24 lost among them', 90, 66],
  ])('is sent below the limit: %s', async (_what, attempts, ended) => {
    emulator.script([reply.text('done')]);
    expect(await attempt(lostAfter(attempts, ended))).toMatchObject({ answer: 'done' });
  });

  test('asks no model for a summary any more, and says why', async () => {
    const { store } = stored;
    const said = (index: number): Message => ({
      role: 'user',
      blocks: [{ type: 'text', text: `${index} ${words}` }],
    });
    const head = await store.appendNode(
      input.head,
      Array.from({ length: 12 }, (_, at) => said(at)),
    );
    const bounds = {
      windowTokens: 8_000,
      reserveTokens: 900,
      warnTokens: 1_000,
      compactTokens: 1_000,
    };
    const { storeId, definition } = input;
    const summary = { routeIndex: 0, windowTokens: 8_000 };
    const compact = {
      storeId,
      definition,
      head,
      routeIndex: 0,
      bounds,
      tier: 2,
      isDue: true,
    } as const;
    const result = await attempt(lostAfter(25, 0), () =>
      activities.compact({ ...compact, summary, holder: 'run/1' }),
    );
    expect(result).toMatchObject({ head, failure: { code: 'worker_lost', route } });
    expect(emulator.requests).toHaveLength(0);
  });
});
