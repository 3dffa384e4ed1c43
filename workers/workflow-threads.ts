/** The threads in which Holdfast's workers run workflow code: those of Temporal's SDK, without what two of its safeguards cost. */
import type * as Threads from 'node:worker_threads';
import type { ThreadedVMWorkflowCreator } from '@temporalio/worker/lib/workflow/threaded-vm';

type Creator = Pick<typeof ThreadedVMWorkflowCreator, 'create'>;

/** What a worker runs: Holdfast's workflows, beside those of a user or not. */
type Code = 'own' | 'shared';

/**
 * Milliseconds, for a version of the SDK in which the limit cannot be lifted: an option that the SDK accepts but does not
 * document. The SDK's 5 s also run out while a process is stopped (SIGSTOP, a frozen container); in a promise's continuation,
 * Node then ends the process with "async hook stack has become corrupted" (nodejs/node issue 38503). The number also tells
 * Holdfast's workers from others of the process, and what they run.
 */
const limitsMs: Readonly<Record<Code, number>> = { shared: 600_000, own: 600_001 };

/** What a file within the SDK has, which is not part of its API; undefined in a version that lacks the file. */
function ofSdk<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

/** Where the SDK starts the threads. */
function threadCreator(): Creator | undefined {
  const found = ofSdk(
    () =>
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- the object that the SDK itself uses
      require('@temporalio/worker/lib/workflow/threaded-vm') as {
        readonly ThreadedVMWorkflowCreator?: Creator;
      },
  );
  return found?.ThreadedVMWorkflowCreator;
}

/** Runs `start` so that the threads that it starts never install the SDK's promise hook (ADR 0089). */
function withoutCallStacks<Result>(start: () => Result): Result {
  const recorder = ofSdk(() => require.resolve('@temporalio/worker/lib/workflow/vm-shared'));
  if (recorder === undefined) return start();
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the object whose property the SDK reads
  const threads = require('node:worker_threads') as { Worker: typeof Threads.Worker };
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file: string) {
      const code =
        `const { globalHandlers } = require(${JSON.stringify(recorder)});` +
        `if (globalHandlers) globalHandlers.setPromiseHook = () => undefined;` +
        `require(${JSON.stringify(file)});`;
      super(code, { eval: true });
    }
  };
  try {
    return start();
  } finally {
    threads.Worker = Worker;
  }
}

let isWrapped = false;

/** Wraps the SDK's function that starts the threads; it has no options for what is left out here. */
function wrapCreator(): void {
  if (isWrapped) return;
  isWrapped = true;
  const creator = threadCreator();
  if (typeof creator?.create !== 'function') return;
  const create = creator.create.bind(creator);
  creator.create = (options) => {
    const { isolateExecutionTimeoutMs, ...others } = options;
    const unlimited = others as typeof options;
    // With any limit, Node starts a thread for each of the six calls into the sandbox that an iteration takes (ADR 0088).
    if (isolateExecutionTimeoutMs === limitsMs.own)
      return withoutCallStacks(() => create(unlimited));
    return create(isolateExecutionTimeoutMs === limitsMs.shared ? unlimited : options);
  };
}

/**
 * What of a worker's options gives workflow code the time that it takes; with only Holdfast's workflows (`own`), the query
 * `__stack_trace` is off as well. A user's workflows (`shared`) keep it.
 */
export function workflowThreads(code: Code): { readonly isolateExecutionTimeout: number } {
  wrapCreator();
  return { isolateExecutionTimeout: limitsMs[code] };
}
