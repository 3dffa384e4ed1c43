/** Waiting for a run's end: with limits from a client, and from a workflow that runs the agent as its child. */
import path from 'node:path';
import { z } from 'zod';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { WaitOptions } from '../../client/run-result';
import type { DevServer } from '../support/temporal';
import { startDevServer } from '../support/temporal';
import type { Stage } from './scripted-run';
import { createStage, gate, refusal, until } from './scripted-run';

let server: DevServer;
let stage: Stage;
beforeAll(async () => {
  server = await startDevServer();
});
beforeEach(() => {
  stage = createStage(server);
});
afterAll(() => server.close());

describe('result with a limit', () => {
  it('rejects when the time is up or the signal aborts, and the run goes on', async () => {
    const asked = gate();
    const workers = [
      await stage.decide(),
      await stage.act({
        model: async () => {
          await asked.opened;
          return 'forty-two';
        },
      }),
    ];
    const run = await stage.client.start({ agent: 'scout', goal: 'x' });
    const later = new AbortController();
    const limits: readonly (readonly [WaitOptions, RegExp])[] = [
      [{ timeoutMs: 0 }, /had not ended when 0 ms/],
      [{ timeoutMs: 300 }, /had not ended when 300 ms \(timeoutMs\) passed\. It goes on/],
      [{ signal: AbortSignal.abort('no longer') }, /the signal aborted/],
      [{ signal: later.signal, timeoutMs: 60_000 }, /the signal aborted/],
    ];
    const waits = Promise.all(limits.map(([options]) => refusal(run.result(options))));
    setTimeout(() => {
      later.abort();
    }, 200);
    for (const [index, error] of (await waits).entries()) {
      expect(error.code).toBe('still-running');
      expect(error.message).toContain(run.runId);
      expect(error.message).toMatch(limits[index]?.[1] ?? /never/);
    }
    expect((await run.status()).status).toBe('running');
    asked.open();
    const schema = z.undefined();
    expect(await run.result(schema, { timeoutMs: 60_000 })).toMatchObject({ answer: 'forty-two' });
    expect(await run.outcome({ signal: new AbortController().signal })).toMatchObject({
      status: 'completed',
    });
    for (const worker of workers) await worker.stop();
  });

  it.each<[string, object, string]>([
    ['a negative time', { timeoutMs: -1 }, 'timeoutMs must not be negative'],
    ['a time that no timer can wait', { timeoutMs: 2 ** 31 }, 'timeoutMs must be at most'],
    ['half a millisecond', { timeoutMs: 0.5 }, 'whole number of milliseconds'],
    ['no signal', { signal: 'now' }, 'signal must be an AbortSignal'],
    ['an unknown option', { timeout: 5 }, 'timeout'],
  ])('refuses %s', async (_what, options, message) => {
    const error = await refusal(stage.client.run('any').result(options));
    expect(error.code).toBe('invalid-input');
    expect(error.message).toContain(message);
  });
});

describe('runAgent', () => {
  /** A parent whose child waits for its model, which answers once `asked` is open. */
  async function aFamily() {
    const asked = gate();
    const workers = [
      await stage.decide(path.join(__dirname, 'fixtures', 'asking-workflow.ts')),
      await stage.act({
        model: async () => {
          await asked.opened;
          return 'late';
        },
      }),
    ];
    const parent = await stage.temporal.workflow.start('asksAgent', {
      taskQueue: stage.taskQueue,
      workflowId: `${stage.taskQueue}-parent`,
      args: [],
    });
    const child = stage.client.run(`${parent.workflowId}-child`);
    await until(
      () =>
        child.status().then(
          ({ doing }) => doing.startsWith('waiting for'),
          () => false,
        ),
      'the model call',
    );
    return { parent, child, asked, workers };
  }

  it('gives the outcome of a child that somebody cancelled, and throws when its own scope was', async () => {
    const { parent, child, asked, workers } = await aFamily();
    await child.cancel();
    asked.open();
    const outcome = (await parent.result()) as RunOutcome;
    expect(outcome).toMatchObject({ status: 'cancelled', report: { modelCalls: 1 } });
    expect((await parent.describe()).status.name).toBe('COMPLETED');
    expect(await child.result({ timeoutMs: 60_000 })).toMatchObject({ status: 'cancelled' });
    for (const worker of workers) await worker.stop();
  });

  it('is cancelled with its parent', async () => {
    const { parent, child, asked, workers } = await aFamily();
    await parent.cancel();
    const childHandle = stage.temporal.workflow.getHandle(child.runId);
    const isAsked = async (): Promise<boolean> =>
      ((await childHandle.fetchHistory()).events ?? []).some(
        ({ workflowExecutionCancelRequestedEventAttributes: asks }) => asks != null,
      );
    await until(isAsked, 'the cancel to reach the child');
    asked.open();
    await expect(parent.result()).rejects.toThrow();
    expect((await parent.describe()).status.name).toBe('CANCELLED');
    expect(await child.outcome()).toMatchObject({ status: 'cancelled' });
    for (const worker of workers) await worker.stop();
  });
});
