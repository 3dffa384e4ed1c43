/** The client on a real server: clear refusals, typed results, people's requests, lists. */
import { z } from 'zod';
import { connect } from '../../client/connect';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { Stage } from './scripted-run';
import { createStage, infra, refusal, until } from './scripted-run';

let server: DevServer;
let stage: Stage;

beforeAll(async () => {
  server = await startDevServer();
});
beforeEach(() => {
  stage = createStage(server);
});
afterAll(() => server.close());

it.each([
  ['an empty goal', { agent: 'scout', goal: '  ' }, 'The goal is empty'],
  [
    'a goal that is too long',
    { agent: 'scout', goal: 'x'.repeat(64_001) },
    'The goal has 64001 characters; at most 64000',
  ],
  ['no agent', { agent: '', goal: 'x' }, 'The agent is empty'],
  ['an id with a blank', { agent: 'scout', goal: 'x', runId: 'a b' }, 'must not hold spaces'],
  [
    'a negative limit',
    { agent: 'scout', goal: 'x', limits: { maxIterations: -1 } },
    'limits.maxIterations: -1 is not a whole number from 1 to',
  ],
])('refuses %s before anything is sent', async (_what, options, message) => {
  const error = await refusal(stage.client.start(options));
  expect(error.code).toBe('invalid-input');
  expect(error.message).toContain(message);
});

it('says within the time limit that nobody answers', async () => {
  const startedAtMs = Date.now();
  const error = await refusal(connect({ address: '127.0.0.1:1', connectTimeoutMs: 1_500 }));
  expect(error.code).toBe('unreachable');
  expect(error.message).toContain('127.0.0.1:1');
  expect(Date.now() - startedAtMs).toBeLessThan(30_000);
});

it('names a namespace that does not exist', async () => {
  const error = await refusal(connect({ address: server.address, namespace: 'nowhere' }));
  expect(error.message).toContain('namespace "nowhere"');
});

it('refuses an id that is taken, or returns its run', async () => {
  const runId = uniqueName('taken');
  const options = { agent: 'scout', goal: 'x', runId };
  await stage.client.start(options);
  expect((await refusal(stage.client.start(options))).code).toBe('run-exists');
  const handle = await stage.client.start({ ...options, ifExists: 'use' });
  expect(handle.runId).toBe(runId);
});

it('tells status and pending from history while no worker lives', async () => {
  const { runId } = await stage.client.start({ agent: 'scout', goal: 'x' });
  const handle = stage.client.run(runId);
  await expect(handle.status()).resolves.toMatchObject({
    status: 'running',
    doing: 'waiting for a worker to take the run',
  });
  await expect(handle.pending()).resolves.toEqual([]);
});

it('gives a failed, a terminated and an unknown run their own words', async () => {
  const decider = await stage.decide();
  const actor = await stage.act({
    model: () => {
      throw infra('auth', 'no key');
    },
  });
  const failed = await stage.client.start({
    agent: 'scout',
    goal: 'x',
    limits: { maxProviderWaitMs: 0 },
  });
  await expect(failed.result()).resolves.toMatchObject({
    status: 'failed',
    reason: 'chain_exhausted',
  });
  const asked = [
    failed.stop('late'),
    failed.cancel(),
    failed.escalate('late'),
    failed.addMessage('x'),
  ];
  for (const late of asked) expect((await refusal(late)).code).toBe('run-ended');
  expect((await refusal(stage.client.run('nobody').cancel())).code).toBe('run-not-found');
  expect((await refusal(stage.client.run('nobody').status())).code).toBe('run-not-found');
  await Promise.all([decider.stop(), actor.stop()]);
  const ended = await stage.client.start({ agent: 'scout', goal: 'x' });
  await stage.temporal.workflow.getHandle(ended.runId).terminate('enough');
  await expect(ended.result()).resolves.toMatchObject({
    status: 'cancelled',
    reason: 'terminated: enough',
  });
  await expect(ended.status()).resolves.toMatchObject({ status: 'cancelled' });
});

it('refuses decisions that do not fit, and counts a double click once', async () => {
  const decider = await stage.decide();
  const actor = await stage.act({
    model: ({ iteration }) =>
      iteration === 1 ? [{ name: 'deploy', needsApproval: true }] : 'done',
  });
  const handle = await stage.client.start({ agent: 'scout', goal: 'x' });
  await until(async () => (await handle.pending()).length === 1, 'the approval');
  const [item] = await handle.pending();
  const id = item?.type === 'approval' ? item.approvalId : '';
  expect((await refusal(handle.approve('other'))).message).toContain(`Waiting: ${id}`);
  expect((await refusal(handle.approve(id, { digest: 'another action' }))).code).toBe('refused');
  expect((await refusal(handle.answer('nothing', 'x'))).message).toContain('No question "nothing"');
  const listed = async (): Promise<boolean> =>
    (await stage.client.list({ status: 'waiting', agent: 'scout' })).some(
      ({ runId }) => runId === handle.runId,
    );
  await until(listed, 'the run in the list of those that wait');
  await Promise.all([handle.approve(id), handle.approve(id)]);
  const result = await handle.result();
  expect(result).toMatchObject({
    status: 'completed',
    answer: 'done',
    report: { toolCallsSucceeded: 1 },
  });
  const mismatch = await refusal(handle.result(z.object({ file: z.string() })));
  expect(mismatch.code).toBe('output-mismatch');
  await Promise.all([decider.stop(), actor.stop()]);
});
