/** Adds Holdfast to a Temporal worker that a user has already. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type {
  BundleOptions,
  BundlerPlugin,
  ReplayWorkerOptions,
  WorkerOptions,
  WorkerPlugin,
} from '@temporalio/worker';
import type { Activities } from '../workflows/core/activities';
import { reasonOf, SetupError } from './setup-error';
import { holdfastWorkflowsPath } from './workflow-bundle';

/** What the plugin adds. */
export interface HoldfastPluginOptions {
  /** Made by `createActivities`. */
  readonly activities: Activities;
  /**
   * `add` (default) puts Holdfast's workflows beside those at the worker's `workflowsPath`; `own` leaves them alone,
   * for workers whose workflow file says `export * from 'holdfast/workflow'` itself.
   */
  readonly workflows?: 'add' | 'own';
}

/**
 * A plugin for `Worker.create({ plugins: [new HoldfastPlugin({ activities })] })`, `Worker.runReplayHistory` and
 * `bundleWorkflowCode`.
 *
 * It adds Holdfast's activities to the worker's, and its workflows to the worker's `workflowsPath`; a worker without
 * workflows gets Holdfast's. A prebuilt `workflowBundle` is taken as it is: build it with this plugin, or export
 * `holdfast/workflow` from it. Runs are then started on that worker's task queue.
 *
 * Errors: `SetupError` if the worker has an activity of the same name.
 */
export class HoldfastPlugin implements WorkerPlugin, BundlerPlugin {
  readonly name = 'holdfast';
  readonly #options: HoldfastPluginOptions;

  constructor(options: HoldfastPluginOptions) {
    this.#options = options;
  }

  configureWorker(options: WorkerOptions): WorkerOptions {
    return {
      ...withWorkflows(options),
      activities: mergeActivities(options.activities, this.#options.activities),
    };
  }

  configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return withWorkflows(options);
  }

  configureBundler(options: BundleOptions): BundleOptions {
    if (this.#options.workflows === 'own') return options;
    return { ...options, workflowsPath: combinedEntry(options.workflowsPath) };
  }
}

interface WorkflowSource {
  workflowsPath?: string;
  workflowBundle?: unknown;
}

function withWorkflows<T extends WorkflowSource>(options: T): T {
  if (options.workflowBundle !== undefined || options.workflowsPath !== undefined) return options;
  return { ...options, workflowsPath: holdfastWorkflowsPath() };
}

function mergeActivities(existing: object | undefined, added: Activities): object {
  const taken = Object.keys(added).filter((name) => existing !== undefined && name in existing);
  if (taken.length > 0) {
    throw new SetupError(
      `The worker has an activity named ${taken.join(', ')} already, which Holdfast needs. Rename it, or run ` +
        'Holdfast on a worker and task queue of its own.',
    );
  }
  return { ...existing, ...added };
}

/**
 * A file that exports the user's workflows and Holdfast's.
 *
 * It lies in the user's `node_modules/.cache`: the SDK resolves its own modules from where this file is.
 * Errors: `SetupError` where it cannot be written, or the SDK is not found from there.
 */
export function combinedEntry(workflowsPath: string): string {
  const own = holdfastWorkflowsPath();
  const users = path.resolve(workflowsPath);
  if (users === own) return own;
  const requires = [own, users].map((file) => `require(${JSON.stringify(file)})`);
  const text = `Object.assign(exports, ${requires.join(', ')});\n`;
  const directory = path.join(nodeModulesOf(users), '.cache', 'holdfast');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = path.join(directory, `workflows-${digest}.cjs`);
  try {
    mkdirSync(directory, { recursive: true });
    writeFileSync(file, text);
  } catch (thrown) {
    throw new SetupError(
      `HoldfastPlugin cannot write ${file}: ${reasonOf(thrown)}. Export 'holdfast/workflow' from ${users} and give ` +
        "the plugin `workflows: 'own'`.",
      { cause: thrown },
    );
  }
  return file;
}

/** Where modules that this file imports are found: the nearest `node_modules` with Temporal's workflow package. */
function nodeModulesOf(file: string): string {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'node_modules');
    if (existsSync(path.join(candidate, '@temporalio', 'workflow'))) return candidate;
    if (folder === path.dirname(folder)) {
      throw new SetupError(`No node_modules above ${file} holds @temporalio/workflow. Install it.`);
    }
  }
}
