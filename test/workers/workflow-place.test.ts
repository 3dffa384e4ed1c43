/** How the SDK's start of threads is wrapped; what workflow code then does is in the system and workflow tests beside this one. */
import type { workflowPlace as WorkflowPlace } from '../../workers/workflow-place';

const threads = '@temporalio/worker/lib/workflow/threaded-vm';
const sharedContext = '@temporalio/worker/lib/workflow/reusable-vm';

interface Options {
  readonly isolateExecutionTimeoutMs?: number;
  readonly reuseV8Context?: boolean;
  readonly patchActivationCallback?: () => void;
}

const missing = (): never => {
  throw new Error('Cannot find module');
};

/** The SDK's class for runs that share a context, without a context. */
class SharedContext {
  static readonly unhandledRejectionHandlerHasBeenSet = true;
  readonly given: readonly unknown[];

  constructor(...given: readonly unknown[]) {
    this.given = given.slice(1);
  }
}

/** The module as it is beside such files of the SDK. */
async function beside(
  ofThreads: () => object,
  ofSharedContext: () => object = () => ({ ReusableVMWorkflowCreator: SharedContext }),
): Promise<typeof WorkflowPlace> {
  jest.resetModules();
  jest.doMock(threads, ofThreads);
  jest.doMock(sharedContext, ofSharedContext);
  const { workflowPlace } = await import('../../workers/workflow-place.ts');
  return workflowPlace;
}

/** What becomes of a worker with these options: the options with which its threads start, or what runs without threads. */
async function placed(options: Options, ofSharedContext?: () => object): Promise<unknown> {
  const creator = { create: (given: Options): Promise<unknown> => Promise.resolve(given) };
  const workflowPlace = await beside(
    () => ({ ThreadedVMWorkflowCreator: creator }),
    ofSharedContext,
  );
  workflowPlace('own');
  workflowPlace('shared');
  return creator.create({ reuseV8Context: true, ...options });
}

const bundle = { code: '0', filename: 'bundle.js' };
const own = { isolateExecutionTimeoutMs: 600_001, workflowBundle: bundle };

afterEach(() => {
  jest.dontMock(threads);
  jest.dontMock(sharedContext);
});

it('leaves the limit at ten minutes where the SDK has no such file, or another one', async () => {
  const without = await beside(missing);
  expect(without('shared')).toEqual({ isolateExecutionTimeout: 600_000 });
  expect(without('own')).toEqual({ isolateExecutionTimeout: 600_001 });
  const other = await beside(() => ({}));
  expect(other('own')).toEqual({ isolateExecutionTimeout: 600_001 });
});

it("takes the limit away from threads of Holdfast's workers only", async () => {
  const reuse = { reuseV8Context: true };
  expect(await placed({ isolateExecutionTimeoutMs: 600_000 })).toEqual(reuse);
  const others = { ...reuse, isolateExecutionTimeoutMs: 5_000 };
  expect(await placed(others)).toEqual(others);
});

it("runs workers that have only Holdfast's workflows without threads, and without a limit", async () => {
  const names = new Set(['callModel']);
  const made = await placed({ ...own, ...{ registeredActivityNames: names } });
  expect(made).toBeInstanceOf(SharedContext);
  expect(made).toMatchObject({ given: [bundle, undefined, names] });
});

it.each<readonly [string, Options, (() => object) | undefined]>([
  ['gives each run a context of its own', { reuseV8Context: false }, undefined],
  ['is asked about patches', { patchActivationCallback: () => undefined }, undefined],
  ['has a version of the SDK without such a file', {}, missing],
  ['has a version of the SDK with another one', {}, () => ({})],
])('leaves a worker in threads that %s', async (_which, options, ofSharedContext) => {
  const { isolateExecutionTimeoutMs: _limit, ...rest } = own;
  const expected = { reuseV8Context: true, ...rest, ...options };
  expect(await placed({ ...own, ...options }, ofSharedContext)).toEqual(expected);
});
