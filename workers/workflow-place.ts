/** Where Holdfast's workers run workflow code: their runs beside the worker itself, a user's workflows in the SDK's threads. */
import { SourceMap, type SourceMapPayload } from 'node:module';
import { Script, runInContext, type Context } from 'node:vm';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import type { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm';
import type { ThreadedVMWorkflowCreator } from '@temporalio/worker/lib/workflow/threaded-vm';

type ThreadCreator = Pick<typeof ThreadedVMWorkflowCreator, 'create'>;
type Options = Parameters<ThreadCreator['create']>[0];
type Bundle = Options['workflowBundle'];
type RunCreator = new (
  script: Script,
  bundle: Bundle,
  limitMs: number | undefined,
  activities: Options['registeredActivityNames'],
) => ReusableVMWorkflowCreator;

/** The SDK's class for runs that share a V8 context. */
type SharedContext = RunCreator & {
  readonly workflowByRunId: typeof ReusableVMWorkflowCreator.workflowByRunId;
  unhandledRejectionHandlerHasBeenSet: boolean;
};

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

/** Where the SDK starts its threads. */
function threadCreator(): ThreadCreator | undefined {
  const found = ofSdk(
    () =>
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- the object that the SDK itself uses
      require('@temporalio/worker/lib/workflow/threaded-vm') as {
        readonly ThreadedVMWorkflowCreator?: ThreadCreator;
      },
  );
  return found?.ThreadedVMWorkflowCreator;
}

/** What the SDK runs in such a thread; it also runs in the thread of the worker. */
function sharedContext(): SharedContext | undefined {
  const found = ofSdk(
    () =>
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- the SDK's file may be missing
      require('@temporalio/worker/lib/workflow/reusable-vm') as {
        readonly ReusableVMWorkflowCreator?: SharedContext;
      },
  );
  return found?.ReusableVMWorkflowCreator;
}

/** The V8 contexts in which runs of this process are, each with its own class of promises. */
const contexts = new Map<Context, PromiseConstructor>();

/** The run whose workflow code is the last that ran in the context of a promise. */
function runIdOf(promise: Promise<unknown>): string | undefined {
  const [context] = [...contexts].find(([, Own]) => promise instanceof Own) ?? [];
  const { __TEMPORAL_ACTIVATOR__: active } = (context ?? {}) as {
    readonly __TEMPORAL_ACTIVATOR__?: { readonly info: { readonly runId: string } };
  };
  return active?.info.runId;
}

/**
 * Fails the workflow task of a run whose promise was rejected without a handler. The SDK has a listener for that, which is made
 * for a thread: it takes each rejection of the process for one of workflow code, and ends the process, whatever other listeners
 * would do.
 */
function watchRejections(creator: SharedContext): void {
  if (creator.unhandledRejectionHandlerHasBeenSet) return;
  creator.unhandledRejectionHandlerHasBeenSet = true;
  process.on('unhandledRejection', (reason, promise) => {
    const run = creator.workflowByRunId.get(runIdOf(promise) ?? '');
    const failure = new Error(`Unhandled promise rejection: ${String(reason)}`, { cause: reason });
    if (run !== undefined) run.setUnhandledRejection(failure);
    // As Node does where nobody listens.
    else if (process.listenerCount('unhandledRejection') === 1)
      throw reason instanceof Error ? reason : failure;
  });
}

/** Has the stacks of errors in a context say where in the source they are. */
function mapStacks(context: Context, { filename, sourceMap }: Bundle): void {
  let map: SourceMap | undefined;
  const inSource = (line: number, column: number): string | undefined => {
    map ??= new SourceMap(sourceMap as unknown as SourceMapPayload);
    const origin = map.findOrigin(line, column);
    return 'lineNumber' in origin
      ? `${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}`
      : undefined;
  };
  const described = (site: NodeJS.CallSite): string => {
    const file = site.getFileName() ?? 'native';
    const [line, column] = [site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0];
    const mapped = file === filename ? inSource(line, column) : undefined;
    const shown = mapped ?? `${file}:${line}:${column}`;
    const name = site.getFunctionName();
    return name === null ? shown : `${name} (${shown})`;
  };
  const ofContext = runInContext('Error', context) as ErrorConstructor;
  ofContext.prepareStackTrace = (error, sites) =>
    [String(error), ...sites.map((site) => `    at ${described(site)}`)].join('\n');
}

/** Runs in the thread of the worker; undefined where this version of the SDK, or this worker, needs the SDK's threads. */
function inThisThread(options: Options): ReusableVMWorkflowCreator | undefined {
  const Shared = sharedContext();
  if (Shared === undefined || !options.reuseV8Context) return undefined;
  if (options.patchActivationCallback !== undefined) return undefined;
  const { workflowBundle: bundle, registeredActivityNames } = options;
  watchRejections(Shared);
  let context: Context | undefined;
  class Runs extends Shared {
    protected override injectGlobals(made: Context): void {
      super.injectGlobals(made);
      mapStacks(made, bundle);
      context = made;
      contexts.set(made, runInContext('Promise', made) as PromiseConstructor);
    }

    override async destroy(): Promise<void> {
      if (context !== undefined) contexts.delete(context);
      await super.destroy();
    }
  }
  const script = new Script(bundle.code, { filename: bundle.filename });
  return new Runs(script, bundle, undefined, registeredActivityNames);
}

let isWrapped = false;

/** Wraps the SDK's function that starts the threads; it has no options for what is left out here. */
function wrapCreator(): void {
  if (isWrapped) return;
  isWrapped = true;
  const creator = threadCreator();
  if (typeof creator?.create !== 'function') return;
  const create = creator.create.bind(creator) as (options: Options) => Promise<WorkflowCreator>;
  const placed = async (options: Options): Promise<WorkflowCreator> => {
    const { isolateExecutionTimeoutMs: limitMs, ...others } = options;
    if (limitMs !== limitsMs.own && limitMs !== limitsMs.shared) return create(options);
    const here = limitMs === limitsMs.own ? inThisThread(options) : undefined;
    // With any limit, Node starts a thread for each of the six calls into the sandbox that an iteration takes (ADR 0088).
    return here ?? create(others as Options);
  };
  creator.create = placed as ThreadCreator['create'];
}

/**
 * What of a worker's options places its workflow code: with only Holdfast's workflows (`own`) in the thread of the worker, where
 * the query `__stack_trace` is off (ADR 0095); with a user's beside them (`shared`) in the SDK's threads, without its limit.
 */
export function workflowPlace(code: Code): { readonly isolateExecutionTimeout: number } {
  wrapCreator();
  return { isolateExecutionTimeout: limitsMs[code] };
}
