/** Adds Holdfast to a Temporal worker that a user has already. */
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { encryptionProblem, type Encryption } from '../activities/encryption/encryption-shape';
import { checkSdk } from '../client/sdk-check';
import type { Activities } from '../workflows/core/activities';
import { defined } from '../workflows/core/json';
import { prebuiltBundlePath } from './prebuilt-bundle';
import { SetupError } from './setup-error';
import { isMadeActivities } from './worker-options';
import { holdfastWorkflowsPath, withSharedCode, withUserWorkflows } from './workflow-bundle';
import { workflowThreads } from './workflow-threads';

/**
 * A plugin for `Worker.create({ plugins: [new HoldfastPlugin({ activities })] })`, `Worker.runReplayHistory` and
 * `bundleWorkflowCode`.
 *
 * It adds Holdfast's activities to the worker's, and its workflows to the worker's `workflowsPath`; a worker without
 * workflows gets Holdfast's, as they ship in the package unless other plugins, interceptors or bundler options must be bundled
 * with them. A prebuilt `workflowBundle` is used unchanged: build it with this plugin, or export
 * `holdfast/workflow` from it. Start runs on that worker's task queue.
 *
 * Errors: `SetupError` if the worker has an activity of the same name, or another copy or version of Temporal's SDK.
 */
export class HoldfastPlugin extends SimplePlugin {
  readonly #given: ReturnType<typeof checkedOptions>;

  /** `activities` are made by `createActivities`; `encryption` is the one of their store, and that of the clients. */
  constructor(options: { readonly activities: Activities; readonly encryption?: Encryption }) {
    const given = checkedOptions(options);
    super({ name: 'holdfast', activities: (existing) => merged(existing, given.activities) });
    this.#given = given;
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const { workflowsPath, workflowBundle } = options;
    const threads = workflowThreads((workflowsPath ?? workflowBundle) ? 'shared' : 'own');
    const encrypted = this.withEncryption(options);
    return super.configureWorker({ ...threads, ...this.withWorkflows(encrypted) });
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return super.configureReplayWorker(this.withWorkflows(this.withEncryption(options)));
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    const { failureConverterPath } = this.#given.encryption?.dataConverter ?? {};
    const encrypted = { ...options, ...defined({ failureConverterPath }) };
    return withSharedCode(withUserWorkflows(encrypted, options.workflowsPath));
  }

  private withEncryption<T extends WorkerOptions | ReplayWorkerOptions>(options: T): T {
    const { activities, encryption } = this.#given;
    const { dataConverter } = options;
    const problem = encryptionProblem(activities, { encryption, dataConverter });
    if (problem !== undefined) throw new SetupError(`HoldfastPlugin: encryption: ${problem}.`);
    return encryption === undefined
      ? options
      : { ...options, dataConverter: encryption.dataConverter };
  }

  /** Holdfast's workflows where there are none: from the package, unless something else has a say in how they are bundled. */
  private withWorkflows<T extends WorkerOptions | ReplayWorkerOptions>(options: T): T {
    checkSdk((message) => new SetupError(message));
    if (options.workflowBundle !== undefined || options.workflowsPath !== undefined) return options;
    const isAlone = (options.plugins ?? []).every((plugin) => plugin === this);
    const codePath = isAlone && !shapesBundle(options) ? prebuiltBundlePath() : undefined;
    return codePath === undefined
      ? { ...options, workflowsPath: holdfastWorkflowsPath() }
      : { ...options, workflowBundle: { codePath } };
  }
}

/** Errors: `SetupError` for anything but `{ activities, encryption }`. */
function checkedOptions(options: ConstructorParameters<typeof HoldfastPlugin>[0]): typeof options {
  const given: Partial<typeof options> = { ...(options as object | undefined) };
  const unknown = Object.keys(given).find((key) => !['activities', 'encryption'].includes(key));
  if (unknown !== undefined)
    throw new SetupError(
      `HoldfastPlugin: unknown option "${unknown}"; it takes { activities, encryption }. Options of the worker belong to Worker.create.`,
    );
  const { activities, encryption } = given;
  if (isMadeActivities(activities)) return { activities, ...defined({ encryption }) };
  throw new SetupError('HoldfastPlugin: activities: give what createActivities() returns.');
}

/** Whether something of a worker's options is to be bundled with the workflows. */
function shapesBundle({
  bundlerOptions,
  interceptors,
  dataConverter,
}: WorkerOptions | ReplayWorkerOptions): boolean {
  const converters = [dataConverter?.payloadConverterPath, dataConverter?.failureConverterPath];
  return (
    bundlerOptions !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    converters.some((file) => file !== undefined)
  );
}

function merged(existing: object = {}, added: Activities): object {
  const taken = Object.keys(added).filter((name) => name in existing);
  if (taken.length === 0) return { ...existing, ...added };
  throw new SetupError(
    `The worker has an activity named ${taken.join(', ')} already, which Holdfast needs. Rename it, or run ` +
      'Holdfast on a worker and task queue of its own.',
  );
}
