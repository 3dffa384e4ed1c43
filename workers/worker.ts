/** Makes a Temporal worker that runs Holdfast's workflow and activities. */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { checkSdk } from '../client/sdk-check';
import { defaultTaskQueue } from '../workflows/contract';
import type { Activities } from '../workflows/core/activities';
import { defined } from '../workflows/core/json';
import { reasonOf, SetupError } from './setup-error';
import { loadWorkflowBundle, workflowCodeLimit } from './workflow-bundle';

/** Options of a worker. */
export interface CreateWorkerOptions {
  /** From `connectWorker`. The caller closes it after `run()` has ended. */
  readonly connection: NativeConnection;
  /** Made by `createActivities`. */
  readonly activities: Activities;
  /** Default `default`. */
  readonly namespace?: string;
  /** Default `holdfast`. */
  readonly taskQueue?: string;
  /** Version of the deployed code, shown in the Web UI. Default: 8 characters of a hash of the workflow code. */
  readonly buildId?: string;
  /** File that exports the workflows; default: Holdfast's own. */
  readonly workflowsPath?: string;
  /** Keeps the bundle of other workflows than Holdfast's own, which ship bundled; absent: it is built at each start (1-2 s). */
  readonly cacheDirectory?: string;
  /** Default 50. */
  readonly maxConcurrentActivities?: number;
  /** Default 10,000. */
  readonly shutdownGraceMs?: number;
  /** Default 5,000. */
  readonly stickyTimeoutMs?: number;
  /** Default 10,000. */
  readonly heartbeatIntervalMs?: number;
}

/**
 * Model calls wait for the network and hardly use a core; 50 of them hold about 50 MB.
 *
 * Source: half of the SDK's default of 100, for tools that do use a core.
 */
const defaultMaxConcurrentActivities = 50;
/** Activities get this long to end by themselves after SIGTERM, then their cancellation signal. */
const defaultShutdownGraceMs = 10_000;
/** Half of a history's events contain the build id; the SDK's default is a hash of 64 digits (ADR 0052). */
const buildIdDigits = 8;
/** Characters of the host's name in the identity: ten events of each iteration contain it. The end of a pod's name tells it apart. */
const hostChars = 12;
/** After the grace: time for activities to clean up before `run()` rejects. */
const shutdownForceExtraMs = 10_000;
/**
 * How long a task waits for the worker that has the run cached before any worker may take it: the pause after a
 * worker was killed. Source: half of the SDK's default; a replay costs tens of milliseconds.
 */
const defaultStickyTimeoutMs = 5_000;
/**
 * Longest time between two heartbeats that are really sent, and so the longest time until a cancel reaches a tool.
 * Each one is billed on Temporal Cloud (R-RUN-8).
 */
const defaultHeartbeatIntervalMs = 10_000;

/**
 * Makes a worker; `run()` starts it, and SIGTERM, SIGINT or `shutdown()` end it gracefully: no new tasks, activities
 * get the grace time, and `run()` resolves. A forced end rejects `run()` with `GracefulShutdownPeriodExpiredError`.
 *
 * Errors: `SetupError` if the workflow code cannot be bundled or the server refuses the worker.
 */
export async function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  checkSdk((message) => new SetupError(message));
  const { workflowsPath, cacheDirectory } = options;
  const { code } = await loadWorkflowBundle(defined({ workflowsPath, cacheDirectory }));
  const workerOptions = workerOptionsFrom(options, code);
  try {
    return await Worker.create(workerOptions);
  } catch (thrown) {
    throw new SetupError(
      `The worker for task queue "${workerOptions.taskQueue}" in namespace "${workerOptions.namespace ?? 'default'}" ` +
        `could not be made: ${reasonOf(thrown)}`,
      { cause: thrown },
    );
  }
}

/** Process and machine, short: `412@web-7c9d8`. */
function workerIdentity(): string {
  const [host = ''] = hostname().split('.');
  return `${process.pid}@${host.slice(-hostChars)}`;
}

function buildIdOf(code: string): string {
  return createHash('sha256').update(code).digest('hex').slice(0, buildIdDigits);
}

function workerOptionsFrom(options: CreateWorkerOptions, code: string): WorkerOptions {
  const shutdownGraceMs = options.shutdownGraceMs ?? defaultShutdownGraceMs;
  const heartbeatIntervalMs = options.heartbeatIntervalMs ?? defaultHeartbeatIntervalMs;
  return {
    connection: options.connection,
    namespace: options.namespace ?? 'default',
    taskQueue: options.taskQueue ?? defaultTaskQueue,
    identity: workerIdentity(),
    activities: options.activities,
    workflowBundle: { code },
    maxConcurrentActivityTaskExecutions:
      options.maxConcurrentActivities ?? defaultMaxConcurrentActivities,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + shutdownForceExtraMs,
    ...workflowCodeLimit,
    stickyQueueScheduleToStartTimeout: options.stickyTimeoutMs ?? defaultStickyTimeoutMs,
    maxHeartbeatThrottleInterval: heartbeatIntervalMs,
    defaultHeartbeatThrottleInterval: heartbeatIntervalMs,
    workerDeploymentOptions: {
      version: { deploymentName: '', buildId: options.buildId ?? buildIdOf(code) },
      useWorkerVersioning: false,
    },
  };
}
