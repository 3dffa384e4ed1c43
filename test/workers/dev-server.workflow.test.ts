/** The test support itself: the shared dev server, virtual time and the shared bundle work. */
import path from 'node:path';
import { Worker } from '@temporalio/worker';
import type { DevServer } from '../support/temporal';
import { startDevServer, startTimeSkipping, uniqueName, workflowBundle } from '../support/temporal';

const workflowsPath = path.join(__dirname, 'fixtures', 'workflows.ts');

describe('shared dev server', () => {
  let server: DevServer;
  beforeAll(async () => {
    server = await startDevServer();
  });
  afterAll(() => server.close());

  it('runs a workflow from the shared bundle', async () => {
    const taskQueue = uniqueName('queue');
    const worker = await Worker.create({
      connection: server.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(workflowsPath),
    });
    const result: unknown = await worker.runUntil(
      server.client.execute('echo', { taskQueue, workflowId: uniqueName('echo'), args: ['hi'] }),
    );
    expect(result).toBe('hi');
  });

  it('is the same server for a second caller', async () => {
    const second = await startDevServer();
    expect(second.address).toBe(server.address);
    await second.close();
  });
});

it('skips days in virtual time', async () => {
  const environment = await startTimeSkipping();
  try {
    const taskQueue = uniqueName('queue');
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(workflowsPath),
    });
    const startedAtMs = Date.now();
    const result: unknown = await worker.runUntil(
      environment.client.workflow.execute('sleeping', {
        taskQueue,
        workflowId: uniqueName('sleeping'),
        args: [5 * 24 * 3_600_000],
      }),
    );
    expect(result).toBe('awake');
    expect(Date.now() - startedAtMs).toBeLessThan(3_600_000);
  } finally {
    await environment.teardown();
  }
});
