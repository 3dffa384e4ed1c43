/** Makes a Temporal worker that runs Holdfast's workflow and activities. */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { checkSdk } from '../client/sdk-check';
import { defaultTaskQueue } from '../workflows/contract';
import { defined } from '../workflows/core/json';
import { reasonOf, SetupError } from './setup-error';
import type { CreateWorkerOptions } from './worker-options';
import { checkWorkerOptions } from './worker-options';
import { bundleExtras, loadWorkflowBundle } from './workflow-bundle';
import { workflowThreads } from './workflow-threads';

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
 * Milliseconds between two heartbeats that are really sent. `answering`: a cancel reaches a call with the answer to its next
 * heartbeat. `pushing`: the server sends cancels by itself, and a heartbeat only says that the worker is alive (ADR 0059).
 */
const heartbeatIntervals = { answering: 1_500, pushing: 10_000 } as const;

/**
 * Makes a worker; `run()` starts it, and SIGTERM, SIGINT or `shutdown()` end it gracefully: no new tasks, activities
 * get the grace time, and `run()` resolves. A forced end rejects `run()` with `GracefulShutdownPeriodExpiredError`.
 *
 * Errors: `SetupError` for options that cannot work, before anything is polled; if the workflow code cannot be bundled or the
 * server refuses the worker.
 */
export async function createWorker(given: CreateWorkerOptions): Promise<Worker> {
  checkSdk((message) => new SetupError(message));
  checkWorkerOptions(given);
  const { encryption, ...others } = given;
  // A worker that cannot encrypt could not even say what went wrong.
  await encryption?.key(encryption.keyId).catch((thrown: unknown) => {
    throw new SetupError(`createWorker: encryption: ${reasonOf(thrown)}`, { cause: thrown });
  });
  const options = { ...others, ...defined({ dataConverter: encryption?.dataConverter }) };
  const { workflowsPath, cacheDirectory } = options;
  const { code } = await loadWorkflowBundle({
    extras: bundleExtras(options),
    ...defined({ workflowsPath, cacheDirectory }),
  });
  const workerOptions = workerOptionsFrom(options, code, await heartbeatIntervalMs(options));
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

/** As given; else by whether the server sends cancels. A server that does not say so does not. */
async function heartbeatIntervalMs({
  heartbeatIntervalMs: given,
  connection: { workflowService },
  namespace = 'default',
}: CreateWorkerOptions): Promise<number> {
  if (given !== undefined) return given;
  const described = await workflowService.describeNamespace({ namespace }).catch(() => undefined);
  const isPushing = described?.namespaceInfo?.capabilities?.workerCommands === true;
  return heartbeatIntervals[isPushing ? 'pushing' : 'answering'];
}

/** Process and machine, short: `412@web-7c9d8`. */
function workerIdentity(): string {
  const [host = ''] = hostname().split('.');
  return `${process.pid}@${host.slice(-hostChars)}`;
}

function buildIdOf(code: string): string {
  return createHash('sha256').update(code).digest('hex').slice(0, buildIdDigits);
}

function workerOptionsFrom(
  options: CreateWorkerOptions,
  code: string,
  heartbeatMs: number,
): WorkerOptions {
  const { tuner, dataConverter, sinks, interceptors } = options;
  const shutdownGraceMs = options.shutdownGraceMs ?? defaultShutdownGraceMs;
  // Modules for workflows are in the bundle.
  const { workflowModules: _bundled, ...otherInterceptors } = interceptors ?? {};
  return {
    connection: options.connection,
    namespace: options.namespace ?? 'default',
    taskQueue: options.taskQueue ?? defaultTaskQueue,
    identity: workerIdentity(),
    activities: options.activities,
    workflowBundle: { code },
    interceptors: otherInterceptors,
    ...defined({ dataConverter, sinks }),
    ...(tuner === undefined
      ? {
          maxConcurrentActivityTaskExecutions:
            options.maxConcurrentActivities ?? defaultMaxConcurrentActivities,
        }
      : { tuner }),
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + shutdownForceExtraMs,
    ...workflowThreads(options.workflowsPath === undefined ? 'own' : 'shared'),
    stickyQueueScheduleToStartTimeout: options.stickyTimeoutMs ?? defaultStickyTimeoutMs,
    maxHeartbeatThrottleInterval: heartbeatMs,
    defaultHeartbeatThrottleInterval: heartbeatMs,
    workerDeploymentOptions: options.workerDeploymentOptions ?? {
      version: { deploymentName: '', buildId: options.buildId ?? buildIdOf(code) },
      useWorkerVersioning: false,
    },
  };
}
