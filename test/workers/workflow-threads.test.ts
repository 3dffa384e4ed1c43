/** How the SDK's start of threads is wrapped; that the threads then do what they should is in `holdfast-plugin.workflow.test.ts`. */
import type { workflowThreads as WorkflowThreads } from '../../workers/workflow-threads';

const sdkFile = '@temporalio/worker/lib/workflow/threaded-vm';

interface Options {
  readonly isolateExecutionTimeoutMs?: number;
}

/** The module as it is beside such a file of the SDK. */
async function beside(makeFile: () => object): Promise<typeof WorkflowThreads> {
  jest.resetModules();
  jest.doMock(sdkFile, makeFile);
  const { workflowThreads } = await import('../../workers/workflow-threads.ts');
  return workflowThreads;
}

/** A file of the SDK whose function calls `seen`, and the function as it is after the wrapping. */
async function wrapped(seen: (options: Options) => void): Promise<(options: Options) => void> {
  const creator = { create: seen };
  const workflowThreads = await beside(() => ({ ThreadedVMWorkflowCreator: creator }));
  workflowThreads('own');
  workflowThreads('shared');
  return (options) => {
    creator.create(options);
  };
}

const workerClass = (): unknown =>
  jest.requireActual<{ readonly Worker: unknown }>('node:worker_threads').Worker;

afterEach(() => jest.dontMock(sdkFile));

it('leaves the limit at ten minutes where the SDK has no such file, or another one', async () => {
  const missing = await beside(() => {
    throw new Error('Cannot find module');
  });
  expect(missing('shared')).toEqual({ isolateExecutionTimeout: 600_000 });
  expect(missing('own')).toEqual({ isolateExecutionTimeout: 600_001 });
  const other = await beside(() => ({}));
  expect(other('own')).toEqual({ isolateExecutionTimeout: 600_001 });
});

it("takes the limit away from Holdfast's workers only", async () => {
  const seen: Options[] = [];
  const create = await wrapped((options) => seen.push(options));
  for (const isolateExecutionTimeoutMs of [600_000, 600_001, 5_000])
    create({ isolateExecutionTimeoutMs });
  expect(seen).toEqual([{}, {}, { isolateExecutionTimeoutMs: 5_000 }]);
});

it("gives threads of runs another start, and leaves Node's class as it was", async () => {
  const nodes = workerClass();
  const seen: boolean[] = [];
  const create = await wrapped(({ isolateExecutionTimeoutMs }) => {
    seen.push(workerClass() === nodes);
    if (isolateExecutionTimeoutMs === undefined && seen.length === 3) throw new Error('no thread');
  });
  create({ isolateExecutionTimeoutMs: 600_000 });
  create({ isolateExecutionTimeoutMs: 600_001 });
  expect(workerClass()).toBe(nodes);
  expect(() => {
    create({ isolateExecutionTimeoutMs: 600_001 });
  }).toThrow('no thread');
  expect(seen).toEqual([true, false, false]);
  expect(workerClass()).toBe(nodes);
});
