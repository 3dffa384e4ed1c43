/** How long workflow code may run without a pause. */
import type { ThreadedVMWorkflowCreator } from '@temporalio/worker/lib/workflow/threaded-vm';

type Creator = Pick<typeof ThreadedVMWorkflowCreator, 'create'>;

/**
 * Milliseconds, for a version of the SDK in which the limit cannot be lifted: an option that the SDK accepts but does not
 * document. The SDK's 5 s also run out while a process is stopped (SIGSTOP, a frozen container); in a promise's continuation,
 * Node then ends the process with "async hook stack has become corrupted" (nodejs/node issue 38503). The number also tells
 * Holdfast's workers from others of the process.
 */
const limitMs = 600_000;

/** Where this version of the SDK starts the threads of workflows; undefined in one that has it elsewhere. */
function threadCreator(): Creator | undefined {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- a file within the SDK, which a later version may not have
    const found = require('@temporalio/worker/lib/workflow/threaded-vm') as {
      readonly ThreadedVMWorkflowCreator?: Creator;
    };
    return found.ThreadedVMWorkflowCreator;
  } catch {
    return undefined;
  }
}

let isLifted = false;

/**
 * Lets Holdfast's workers run workflow code without Node's watchdog: with any limit, Node starts a thread for each of the six
 * calls into the sandbox that an iteration takes, which is 7 % of its processor time (ADR 0088). The SDK has no option for none.
 */
function liftLimit(): void {
  if (isLifted) return;
  isLifted = true;
  const creator = threadCreator();
  if (typeof creator?.create !== 'function') return;
  const create = creator.create.bind(creator);
  creator.create = (options) => {
    if (options.isolateExecutionTimeoutMs !== limitMs) return create(options);
    const { isolateExecutionTimeoutMs: _lifted, ...others } = options;
    return create(others as typeof options);
  };
}

/** What of a worker's options gives workflow code the time that it takes. */
export function withoutCodeLimit(): { readonly isolateExecutionTimeout: number } {
  liftLimit();
  return { isolateExecutionTimeout: limitMs };
}
