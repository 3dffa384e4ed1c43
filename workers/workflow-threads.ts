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

/** A file within the SDK, which a later version may not have. */
function fileOfSdk(name: string): string | undefined {
  try {
    return require.resolve(`@temporalio/worker/lib/workflow/${name}`);
  } catch {
    return undefined;
  }
}

/** Where this version of the SDK starts the threads; undefined in one that has it elsewhere. */
function threadCreator(): Creator | undefined {
  const file = fileOfSdk('threaded-vm');
  if (file === undefined) return undefined;
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- not part of the SDK's API
  return (require(file) as { readonly ThreadedVMWorkflowCreator?: Creator })
    .ThreadedVMWorkflowCreator;
}

/** Runs `start`, whose threads, before they load their file, keep the SDK from recording where each promise was made (ADR 0089). */
function withoutCallStacks<Result>(start: () => Result): Result {
  const recorder = fileOfSdk('vm-shared');
  if (recorder === undefined) return start();
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the module's own object, whose property the SDK reads
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
