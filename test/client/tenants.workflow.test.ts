/** Runs of tenants on a real server: found by tenant, page by page, with what they cost; and starts that are sent twice. */
import { agentRunWorkflow } from '../../workflows/contract';
import type { DevServer } from '../support/temporal';
import { startOwnServer, uniqueName } from '../support/temporal';
import type { Stage } from './scripted-run';
import { createStage, refusal, until } from './scripted-run';

let server: DevServer;
let stage: Stage;

beforeAll(async () => {
  server = await startOwnServer({ rollsOverAfter: 24 });
});
beforeEach(() => {
  stage = createStage(server);
});
afterAll(() => server.close());

it('lists each run of a tenant once over pages, and none of another tenant', async () => {
  const tenant = uniqueName('acme');
  const start = async (of: string): Promise<string> =>
    (await stage.client.start({ agent: 'scout', goal: 'x', tenant: of })).runId;
  const own = await Promise.all(Array.from({ length: 5 }, () => start(tenant)));
  const other = await start(uniqueName('other'));
  const pages = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await stage.client.page({ tenant, limit: 2, ...(cursor && { cursor }) });
      expect(page.runs.length).toBeLessThanOrEqual(2);
      found.push(...page.runs.map(({ runId }) => runId));
      for (const run of page.runs) expect(run.tenant).toBe(tenant);
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  };
  await until(async () => (await pages()).length === 5, 'all runs of the tenant in the list');
  expect([...(await pages())].sort()).toEqual([...own].sort());
  expect((await stage.client.list({ tenant })).map(({ runId }) => runId)).not.toContain(other);
  const forged = await refusal(stage.client.page({ cursor: 'no cursor' }));
  expect(forged.message).toContain('The cursor is none that a page gave');
});

it('knows the tenant and the cost of a run without visibility, also of a run that names no tenant', async () => {
  const decider = await stage.decide();
  const actor = await stage.act({ model: () => 'done' });
  const { runId } = await stage.client.start({ agent: 'scout', goal: 'x' });
  const handle = stage.client.run(runId);
  await handle.outcome();
  await expect(handle.summary()).resolves.toMatchObject({
    runId,
    agent: 'scout',
    tenant: 'default',
    status: 'completed',
    usd: expect.any(Number) as number,
  });
  await Promise.all([decider.stop(), actor.stop()]);
});

it('takes no other workflow for a run', async () => {
  const runId = uniqueName('foreign');
  const workflow = stage.temporal.workflow;
  await workflow.start('someOtherWorkflow', { workflowId: runId, taskQueue: 'nobody' });
  expect((await refusal(stage.client.run(runId).summary())).code).toBe('invalid-input');
  await workflow.getHandle(runId).terminate();
});

describe('a start with an idempotency key', () => {
  const start = { agent: 'scout', goal: 'Count the files.', budget: { usd: 1 } };

  it('begins one run, however often and at once it is sent', async () => {
    const idempotencyKey = uniqueName('key');
    const twice = await Promise.all(
      Array.from({ length: 4 }, () => stage.client.start({ ...start, idempotencyKey })),
    );
    expect(new Set(twice.map(({ runId }) => runId)).size).toBe(1);
    // The order of the fields says nothing.
    const { budget, goal, agent } = start;
    const again = await stage.client.start({ idempotencyKey, budget, goal, agent });
    expect(again.runId).toBe(twice[0]?.runId);
    const { type } = await stage.temporal.workflow.getHandle(again.runId).describe();
    expect(type).toBe(agentRunWorkflow);
  });

  it('is refused for another start, and begins another run for another tenant', async () => {
    const idempotencyKey = uniqueName('key');
    const { runId } = await stage.client.start({ ...start, idempotencyKey });
    const other = await refusal(
      stage.client.start({ ...start, goal: 'Delete the files.', idempotencyKey }),
    );
    expect(other.code).toBe('key-reused');
    expect(other.message).toContain(`has started run "${runId}" with another request`);
    const elsewhere = await stage.client.start({ ...start, tenant: 'acme', idempotencyKey });
    expect(elsewhere.runId).not.toBe(runId);
  });

  it('still knows the start after the run has begun new segments and ended', async () => {
    const decider = await stage.decide();
    const actor = await stage.act({
      model: ({ iteration }) => (iteration < 6 ? [{ name: 'look' }] : 'done'),
    });
    const idempotencyKey = uniqueName('key');
    const first = await stage.client.start({ ...start, idempotencyKey });
    await first.outcome();
    expect((await first.status()).segments).toBeGreaterThan(1);
    await expect(first.summary()).resolves.toMatchObject({ tenant: 'default' });
    const again = await stage.client.start({ ...start, idempotencyKey });
    expect(again.runId).toBe(first.runId);
    await Promise.all([decider.stop(), actor.stop()]);
  });

  it('takes no run id beside it', async () => {
    const error = await refusal(
      stage.client.start({ ...start, idempotencyKey: 'k', runId: 'chosen' }),
    );
    expect(error.message).toContain('An idempotencyKey decides the run id itself');
  });
});
