/** An attempt that no longer owns its call starts nothing, and what nobody started runs, whatever its effect. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { withHeartbeat } from '../../activities/lifecycle/activity-lifecycle';
import type { Store, ToolClaim } from '../../activities/stores/store';
import { inThisTurn, startingOwned } from '../../activities/tool-call/ownership';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool, ToolContext } from '../../activities/tools/tool';
import type { RunToolResult } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

type Changing = 'keyed' | 'reconcilable' | 'irreversible';
const changing: readonly Changing[] = ['keyed', 'reconcilable', 'irreversible'];

const key = 'run/call';
const intent = { key, tool: 'pay', inputDigest: 'x', startedAtMs: 0 };
/** Milliseconds. A test that blocks the loop blocks it for longer; a busy machine does not. */
const heartbeatTimeoutMs = 1_000;
/** The same where nothing is blocked. */
const patientMs = 60_000;

let stored: TemporaryStore;
let events: string[];
beforeEach(async () => {
  stored = await temporaryStore();
  events = [];
});
afterEach(() => stored.dispose());

function payTool(
  effect: Changing,
  execute: (context: ToolContext) => unknown = () => 'paid',
): Tool {
  return defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    effect,
    execute: (_input, context) => {
      events.push(`execute ${context.idempotencyKey}`);
      return execute(context);
    },
    ...(effect === 'reconcilable'
      ? {
          probe: (probed: string) => {
            events.push(`probe ${probed}`);
            return Promise.resolve({ type: 'not-applied' as const });
          },
        }
      : {}),
  });
}

/** The store, with these methods instead of its own. */
function storeWith(change: Partial<Pick<Store, 'beginTool' | 'moveTool'>>): Store {
  return new Proxy(stored.store, {
    get: (target, name) => {
      const own: unknown = Reflect.get(change, name) ?? Reflect.get(target, name, target);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}

/** The store; `around` surrounds what marks a call as executing: its intent where it is `keyed`. `marked` gets each phase that is set. */
function storeMarking(
  effect: Changing,
  around: <Result>(mark: () => Promise<Result>) => Promise<Result>,
  marked: string[] = [],
): Store {
  const { store } = stored;
  return storeWith({
    beginTool: (...begin) => {
      if (effect !== 'keyed') return store.beginTool(...begin);
      marked.push(String(begin[2]));
      return around(() => store.beginTool(...begin));
    },
    moveTool: (...move) => {
      marked.push(move[2]);
      return around(() => store.moveTool(...move));
    },
  });
}

/** Another attempt takes the call over; it was scheduled then. */
async function takeOver(scheduledAtMs = Date.now() + 60_000): Promise<ToolClaim> {
  return stored.store.beginTool(intent, scheduledAtMs);
}

/** An earlier attempt has begun the call, and started it. */
async function startedEarlier(): Promise<void> {
  const claim = await takeOver(1);
  if ('owner' in claim) await stored.store.moveTool(key, claim.owner, 'executing');
}

function environmentWith(timeoutMs: number): MockActivityEnvironment {
  return new MockActivityEnvironment({
    heartbeatTimeoutMs: timeoutMs,
    currentAttemptScheduledTimestampMs: Date.now(),
  });
}

async function runPay(
  tool: Tool,
  store = stored.store,
  environment = environmentWith(patientMs),
): Promise<RunToolResult> {
  const activities = workerActivities(store, [tool]);
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Work.' });
  return environment.run(() =>
    activities.runTool({
      storeId: store.id,
      definition: snapshot.definition,
      toolCallId: 'call',
      name: 'pay',
      input: {},
      idempotencyKey: key,
    }),
  );
}

function block(ms: number): void {
  const endsAtMs = performance.now() + ms;
  while (performance.now() < endsAtMs);
}

test.each(changing)('a %s call that was begun and never started runs', async (effect) => {
  await takeOver(1);
  expect(await runPay(payTool(effect))).toMatchObject({ preview: 'paid' });
  expect(events).toEqual([`execute ${key}`]);
});

describe.each(changing)('an attempt at a %s call starts nothing', (effect) => {
  test('after another attempt took the call over', async () => {
    const store = storeMarking(effect, async (mark) => {
      await takeOver();
      return mark();
    });
    await expect(runPay(payTool(effect), store)).rejects.toMatchObject({ type: 'worker_lost' });
    expect(events).toEqual([]);
    expect(await stored.store.getTool(key)).toMatchObject({ type: 'begun' });
  });

  test('and does not take it from a later attempt', async () => {
    await takeOver();
    await expect(runPay(payTool(effect))).rejects.toMatchObject({ type: 'worker_lost' });
    expect(events).toEqual([]);
  });

  test.each(['before', 'after'])(
    'if its event loop was blocked past its heartbeat %s the store marked the call, and takes the mark back',
    async (when) => {
      const marked: string[] = [];
      const around = async <Result>(mark: () => Promise<Result>): Promise<Result> => {
        if (when === 'before') block(heartbeatTimeoutMs + 50);
        const answer = await mark();
        if (when === 'after' && marked.length === 1) block(heartbeatTimeoutMs + 50);
        // Beats that come now are too late to count.
        await sleep(heartbeatTimeoutMs / 2);
        return answer;
      };
      const store = storeMarking(effect, around, marked);
      const environment = environmentWith(heartbeatTimeoutMs);
      const lost = runPay(payTool(effect), store, environment);
      await expect(lost).rejects.toMatchObject({ type: 'worker_lost' });
      expect(events).toEqual([]);
      expect(marked).toEqual(['executing', 'begun']);
      expect(await runPay(payTool(effect))).toMatchObject({ preview: 'paid' });
    },
  );

  test('if it is stopped while the store marks the call', async () => {
    const environment = environmentWith(patientMs);
    const store = storeMarking(effect, async (mark) => {
      const answer = await mark();
      environment.cancel('CANCELLED');
      return answer;
    });
    await expect(runPay(payTool(effect), store, environment)).rejects.toThrow('CANCELLED');
    expect(events).toEqual([]);
    expect(await stored.store.getTool(key)).toMatchObject({ type: 'begun' });
  });
});

test('a probe is not started by an attempt that was taken over', async () => {
  await startedEarlier();
  const store = storeWith({
    moveTool: async (...move) => {
      await takeOver();
      return stored.store.moveTool(...move);
    },
  });
  const lost = runPay(payTool('reconcilable'), store);
  await expect(lost).rejects.toMatchObject({ type: 'worker_lost' });
  expect(events).toEqual([]);
});

test('what its probe calls not applied is repeated under the same key, unless the call was taken over meanwhile', async () => {
  await startedEarlier();
  let moves = 0;
  const store = storeWith({
    moveTool: async (...move) => {
      if (++moves === 2) await takeOver();
      return stored.store.moveTool(...move);
    },
  });
  const lost = runPay(payTool('reconcilable'), store);
  await expect(lost).rejects.toMatchObject({ type: 'worker_lost' });
  expect(events).toEqual([`probe ${key}`]);
  expect(await stored.store.getTool(key)).toMatchObject({ type: 'executing' });
});

test('a keyed call that does not start in the turn in which the store has marked it asks the store again', async () => {
  const claim = await stored.store.beginTool(intent, 1, 'executing');
  if (!('owner' in claim)) throw new Error('not owned');
  expect(claim).toMatchObject({ type: 'begun' });
  const signs = {
    stopped: new AbortController().signal,
    isGivenUp: () => false,
    ownedWhile: () => undefined,
  };
  const run = (): Promise<string[]> =>
    environmentWith(patientMs).run(async () => {
      const starts = startingOwned(signs, stored.store, {
        ...claim,
        isFreshlyMarked: inThisTurn(),
      });
      await sleep(5);
      return starts(() => Promise.resolve(['started']));
    });
  expect(await run()).toEqual(['started']);
  await takeOver();
  await expect(run()).rejects.toMatchObject({ failure: { code: 'worker_lost' } });
});

test('a keyed call that failed midway is not repeated by an attempt that was taken over', async () => {
  const reset = async (): Promise<never> => {
    await takeOver();
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  };
  await expect(runPay(payTool('keyed', reset))).rejects.toMatchObject({ type: 'worker_lost' });
  expect(events).toEqual([`execute ${key}`]);
});

test('an attempt that was taken over after it started finishes, and its outcome is what the later one reports', async () => {
  let finish: (output: string) => void = () => undefined;
  const paid = new Promise<string>((resolve) => (finish = resolve));
  const earlier = runPay(payTool('irreversible', () => paid));
  while (events.length === 0) await sleep(5);
  const claim = await takeOver();
  expect(claim).toMatchObject({ type: 'executing' });
  finish('paid at last');
  const result = await earlier;
  const unknown = JSON.stringify({ error: 'outcome_unknown' });
  expect(await stored.store.finishTool(key, unknown)).toBe(JSON.stringify(result));
});

test('an outcome that comes after that of another attempt is dropped for it', async () => {
  const first = { result: 'r', preview: 'told first', bytes: 1 };
  const late = payTool('irreversible', async () => {
    await stored.store.finishTool(key, JSON.stringify(first));
    return 'paid';
  });
  expect(await runPay(late)).toEqual(first);
});

test('an attempt counts as given up from the first gap between its beats that is too long', async () => {
  const seen = await environmentWith(heartbeatTimeoutMs).run(() =>
    withHeartbeat(
      () => undefined,
      async (isGivenUp) => {
        await sleep(heartbeatTimeoutMs / 2);
        const before = isGivenUp();
        block(heartbeatTimeoutMs + 100);
        await sleep(heartbeatTimeoutMs / 2);
        return [before, isGivenUp()];
      },
    ),
  );
  expect(seen).toEqual([false, true]);
});

describe('an attempt that still runs when the server has given it up', () => {
  /** A tool that waits, and heeds its signal; what it waits for, and that signal. */
  function waiting(effect: Changing) {
    let end: (result: string) => void = () => undefined;
    let begin: (signal: AbortSignal) => void = () => undefined;
    const begun = new Promise<AbortSignal>((resolve) => (begin = resolve));
    const tool = payTool(effect, ({ signal }) => {
      begin(signal);
      return new Promise((resolve, reject) => {
        end = resolve;
        signal.addEventListener('abort', () => {
          reject(new Error('aborted'));
        });
      });
    });
    return {
      tool,
      begun,
      end: (result: string) => {
        end(result);
      },
    };
  }

  const notFound = new ActivityCancellationDetails({ notFound: true });

  /** Starts the tool in an attempt whose loop is blocked past its heartbeat, and which the server then does not know any more. */
  async function givenUp({ tool, begun }: ReturnType<typeof waiting>) {
    const environment = environmentWith(heartbeatTimeoutMs);
    const attempt = runPay(tool, stored.store, environment).catch((thrown: unknown) => thrown);
    const signal = await begun;
    block(heartbeatTimeoutMs + 50);
    environment.cancel('NOT_FOUND', notFound);
    return { attempt, signal };
  }

  test.each(changing)('gives its result to the next one in its process (%s)', async (effect) => {
    const slow = waiting(effect);
    const { attempt, signal } = await givenUp(slow);
    const next = runPay(slow.tool);
    await sleep(50);
    expect(signal.aborted).toBe(false);
    slow.end('paid once');
    expect(await next).toMatchObject({ preview: 'paid once' });
    expect(await attempt).toEqual(await next);
    expect(events).toEqual([`execute ${key}`]);
  });

  test('is stopped by what stops the next one', async () => {
    const slow = waiting('irreversible');
    const { signal } = await givenUp(slow);
    const environment = environmentWith(patientMs);
    const next = runPay(slow.tool, stored.store, environment);
    await sleep(50);
    const stopping = new ActivityCancellationDetails({ cancelRequested: true });
    environment.cancel('CANCELLED', stopping);
    expect(await next).toMatchObject({ isOutcomeUnknown: true });
    expect(signal.aborted).toBe(true);
    expect(events).toEqual([`execute ${key}`]);
  });

  test('is stopped when another worker has taken the call over', async () => {
    const slow = waiting('irreversible');
    const { attempt, signal } = await givenUp(slow);
    await takeOver();
    expect(await attempt).toBeInstanceOf(Error);
    expect(signal.aborted).toBe(true);
  });

  test('goes on though no heartbeat was late: a busy server may have lost one', async () => {
    const slow = waiting('irreversible');
    const environment = environmentWith(patientMs);
    const attempt = runPay(slow.tool, stored.store, environment);
    const signal = await slow.begun;
    environment.cancel('NOT_FOUND', notFound);
    const next = runPay(slow.tool);
    await sleep(50);
    expect(signal.aborted).toBe(false);
    slow.end('paid once');
    expect(await next).toEqual(await attempt);
    expect(events).toEqual([`execute ${key}`]);
  });

  test('is stopped if no other one follows: its run is gone', async () => {
    const slow = waiting('keyed');
    const environment = environmentWith(patientMs);
    const attempt = runPay(slow.tool, stored.store, environment);
    const signal = await slow.begun;
    environment.cancel('NOT_FOUND', notFound);
    await expect(attempt).rejects.toThrow('CANCELLED');
    expect(signal.aborted).toBe(true);
  }, 60_000);
});
