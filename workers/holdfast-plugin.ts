/** Adds Holdfast to a Temporal worker that a user has already. */
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { checkSdk } from '../client/sdk-check';
import type { Activities } from '../workflows/core/activities';
import { SetupError } from './setup-error';
import { holdfastWorkflowsPath, withUserWorkflows, workflowCodeLimit } from './workflow-bundle';

/**
 * A plugin for `Worker.create({ plugins: [new HoldfastPlugin({ activities })] })`, `Worker.runReplayHistory` and
 * `bundleWorkflowCode`.
 *
 * It adds Holdfast's activities to the worker's, and its workflows to the worker's `workflowsPath`; a worker without
 * workflows gets Holdfast's. A prebuilt `workflowBundle` is used unchanged: build it with this plugin, or export
 * `holdfast/workflow` from it. Start runs on that worker's task queue.
 *
 * Errors: `SetupError` if the worker has an activity of the same name, or another copy or version of Temporal's SDK.
 */
export class HoldfastPlugin extends SimplePlugin {
  /** `activities` are made by `createActivities`. */
  constructor({ activities: added }: { readonly activities: Activities }) {
    super({ name: 'holdfast', activities: (existing) => merged(existing, added) });
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    return super.configureWorker({ ...workflowCodeLimit, ...withWorkflows(options) });
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return super.configureReplayWorker(withWorkflows(options));
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    return withUserWorkflows(options, options.workflowsPath);
  }
}

/** Holdfast's workflows where there are none. */
function withWorkflows<T extends { workflowsPath?: string; workflowBundle?: unknown }>(
  options: T,
): T {
  checkSdk((message) => new SetupError(message));
  if (options.workflowBundle !== undefined || options.workflowsPath !== undefined) return options;
  return { ...options, workflowsPath: holdfastWorkflowsPath() };
}

function merged(existing: object = {}, added: Activities): object {
  const taken = Object.keys(added).filter((name) => name in existing);
  if (taken.length === 0) return { ...existing, ...added };
  throw new SetupError(
    `The worker has an activity named ${taken.join(', ')} already, which Holdfast needs. Rename it, or run ` +
      'Holdfast on a worker and task queue of its own.',
  );
}
