/** Holdfast joins a worker that a user has already, by one line. */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import type { WorkerOptions } from '@temporalio/worker';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { HoldfastPlugin } from '../../workers/holdfast-plugin';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import { idleActivities } from './fixtures/idle-activities';

const workflowsPath = path.join(__dirname, 'fixtures', 'workflows.ts');
const plugin = new HoldfastPlugin({ activities: idleActivities });

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());
afterEach(() => jest.restoreAllMocks());

it("adds its activities and workflow to the user's", async () => {
  const taskQueue = uniqueName('queue');
  const worker = await Worker.create({
    connection: server.nativeConnection,
    taskQueue,
    workflowsPath,
    activities: { greet: (name: string) => Promise.resolve(`hello ${name}`) },
    plugins: [plugin],
  });
  expect([...worker.options.activities.keys()].sort()).toEqual([
    'agentNames',
    'callModel',
    'checkEdit',
    'checkGuardrails',
    'compact',
    'extractPatterns',
    'greet',
    'notify',
    'planRecovery',
    'prepareRun',
    'recordObservations',
    'runTool',
  ]);
  // A stopped process must not end when it resumes in workflow code.
  expect(worker.options.isolateExecutionTimeoutMs).toBe(600_000);
  const result: unknown = await worker.runUntil(
    server.client.execute('greeting', {
      taskQueue,
      workflowId: uniqueName('greeting'),
      args: ['Ada'],
    }),
  );
  expect(result).toBe('hello Ada');
});

it('runs workflow code without a limit of time, and leaves that of other workers', async () => {
  const sent = jest.spyOn(Thread.prototype, 'postMessage');
  const limits = (): readonly unknown[] =>
    sent.mock.calls
      .map(([message]) => (message as { readonly input?: Record<string, unknown> }).input)
      .filter((input) => input?.['type'] === 'init')
      .map((input) => input?.['isolateExecutionTimeoutMs']);
  const common = { connection: server.nativeConnection, taskQueue: uniqueName('queue') };
  const ours = await Worker.create({ ...common, plugins: [plugin] });
  await ours.runUntil(Promise.resolve());
  expect(new Set(limits())).toEqual(new Set([undefined]));
  sent.mockClear();
  const other = await Worker.create({ ...common, workflowsPath });
  await other.runUntil(Promise.resolve());
  expect(new Set(limits())).toEqual(new Set([5_000]));
});

it("records where promises were made if the worker runs a user's workflows too, and else not", async () => {
  const stackIn = async (workflows: Partial<WorkerOptions>, type: string): Promise<string> => {
    const common = { connection: server.nativeConnection, taskQueue: uniqueName('queue') };
    const worker = await Worker.create({ ...common, ...workflows, plugins: [plugin] });
    // The first activity of a run is tried again and again.
    const args = [{ request: { agent: 'any', goal: 'Wait.' } }];
    const { taskQueue } = common;
    return worker.runUntil(async () => {
      const start = { taskQueue, workflowId: uniqueName(type), args };
      const handle = await server.client.start(type, start);
      try {
        return await handle.query<string>('__stack_trace');
      } finally {
        await handle.terminate();
      }
    });
  };
  expect(await stackIn({ workflowsPath }, 'waiting')).toMatch(/ at waiting \(.*workflows\.ts:\d/);
  await expect(stackIn({}, 'agentRun')).rejects.toThrow('stack traces are not enabled');
});

it("puts the agent's workflow into a bundle that is built with it, and only then", async () => {
  const quiet = { workflowsPath, logger: worker().logger };
  const { code: without } = await bundleWorkflowCode(quiet);
  const { code } = await bundleWorkflowCode({ ...quiet, plugins: [plugin] });
  expect(code).toContain('agentRun');
  expect(code).toContain('greeting');
  expect(without).not.toContain('agentRun');
});

it("writes nothing beside the user's workflows, nor into their node_modules", async () => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'holdfast-plugin-')));
  try {
    await writeFile(path.join(folder, 'workflows.ts'), 'export async function alone() {}');
    await mkdir(path.join(folder, 'node_modules'));
    const sdk = path.resolve('node_modules', '@temporalio');
    await symlink(sdk, path.join(folder, 'node_modules', '@temporalio'));
    const before = await readdir(folder, { recursive: true });
    const { code } = await bundleWorkflowCode({
      workflowsPath: path.join(folder, 'workflows.ts'),
      logger: worker().logger,
      plugins: [plugin],
    });
    expect(code).toContain('agentRun');
    expect(code).toContain('alone');
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('refuses a worker that has an activity of the same name', async () => {
  const creating = Worker.create({
    connection: server.nativeConnection,
    taskQueue: uniqueName('queue'),
    activities: { runTool: () => Promise.resolve() },
    plugins: [plugin],
  });
  await expect(creating).rejects.toThrow('has an activity named runTool already');
});

function worker(): { logger: NonNullable<Parameters<typeof bundleWorkflowCode>[0]['logger']> } {
  const ignore = (): void => undefined;
  return {
    logger: {
      log: ignore,
      trace: ignore,
      debug: ignore,
      info: ignore,
      warn: ignore,
      error: ignore,
    },
  };
}
