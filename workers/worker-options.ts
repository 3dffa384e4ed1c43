/** The options of `createWorker`: checked before anything is bundled or polled. */
import { inspect } from 'node:util';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { z } from 'zod';
import { checkOptions } from '../activities/lifecycle/check-options';
import { encryptionProblem, type Encryption } from '../activities/encryption/encryption-shape';
import { UserError } from '../activities/lifecycle/user-error';
import type { Activities } from '../workflows/core/activities';
import { dataConverterProblem } from '../client/data-converter';
import { shortened } from '../workflows/core/shortened';
import { SetupError } from './setup-error';

/**
 * Options of a worker. `dataConverter` (without `externalStorage`), `interceptors`, `sinks`, `tuner` and
 * `workerDeploymentOptions` are those of Temporal's `Worker.create`; clients need the same data converter.
 */
export interface CreateWorkerOptions extends Readonly<
  Pick<
    WorkerOptions,
    'dataConverter' | 'interceptors' | 'sinks' | 'tuner' | 'workerDeploymentOptions'
  >
> {
  /** Modules that are bundled with the workflows and that all runs of this worker share, as in `Worker.create`. */
  readonly bundlerOptions?: Pick<NonNullable<WorkerOptions['bundlerOptions']>, 'preloadModules'>;
  /** From `createEncryption`, the one with which the store is open. It replaces `dataConverter`. */
  readonly encryption?: Encryption;
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
  /**
   * Keeps the bundle of what does not ship bundled: other workflows than Holdfast's own, and interceptors or converters in
   * workflows. Absent: it is built at each start (1-2 s).
   */
  readonly cacheDirectory?: string;
  /** Default 50. */
  readonly maxConcurrentActivities?: number;
  /** Default 10,000. */
  readonly shutdownGraceMs?: number;
  /** Default 5,000. */
  readonly stickyTimeoutMs?: number;
  /** Default 1,500, and 10,000 where the server sends cancels by itself. */
  readonly heartbeatIntervalMs?: number;
}

/** Milliseconds of the longest timer in JavaScript. */
const longestMs = 2 ** 31 - 1;

/** A value as an error shows it. */
const shown = (value: unknown): string => shortened(inspect(value, { depth: 0 }), 60);

const anObject = (what: string): z.ZodType =>
  z.custom((value) => typeof value === 'object' && value !== null, {
    error: ({ input }) => `is ${shown(input)}: give ${what}`,
  });
const anEncryption = z.custom<Encryption>(
  (value) => typeof (value as Partial<Encryption> | null)?.dataConverter === 'object',
  { error: ({ input }) => `is ${shown(input)}: give what createEncryption() returns` },
);

/** Whether it has Holdfast's activities. */
export function isMadeActivities(value: unknown): value is Activities {
  return typeof (value as Partial<Activities> | null | undefined)?.callModel === 'function';
}

const text = z
  .string({ error: ({ input }) => `is ${shown(input)}: give a string` })
  .regex(/\S/, { error: 'is empty' });
const listOf = (what: string, type: 'function' | 'string'): z.ZodType =>
  z.array(
    z.custom((value) => typeof value === type, {
      error: ({ input }) => `is ${shown(input)}: give ${what}`,
    }),
    { error: ({ input }) => `is ${shown(input)}: give an array` },
  );
const whole = (least: number): z.ZodType => {
  const error = ({ input }: { readonly input?: unknown }): string =>
    `is ${shown(input)}: give a whole number from ${least} to ${longestMs}`;
  return z.int({ error }).min(least, { error }).max(longestMs, { error });
};

const madeActivities = z.custom(isMadeActivities, {
  error: ({ input }) => `is ${shown(input)}: give what createActivities() returns`,
});

/** What is wrong with options that are right one by one: the option, and what to do. */
type Problem = readonly [option: string, message: string];

/** Adds what `find` finds to the problems of a schema. */
function withProblems<Value>(
  schema: z.ZodType<Value>,
  find: (value: Value) => readonly (Problem | false)[],
): z.ZodType<Value> {
  return schema.check(({ value, issues }) => {
    for (const problem of find(value))
      if (problem !== false)
        issues.push({
          code: 'custom',
          input: value,
          path: problem[0].split('.'),
          message: problem[1],
        });
  });
}

const deployment = withProblems(
  z.strictObject({
    version: z.strictObject({ deploymentName: z.string(), buildId: text }),
    useWorkerVersioning: z.boolean({
      error: ({ input }) => `is ${shown(input)}: give true or false`,
    }),
    defaultVersioningBehavior: z
      .enum(['PINNED', 'AUTO_UPGRADE'], {
        error: ({ input }) => `is ${shown(input)}: give 'PINNED' or 'AUTO_UPGRADE'`,
      })
      .optional(),
  }),
  ({ version: { deploymentName }, useWorkerVersioning, defaultVersioningBehavior: behavior }) => [
    useWorkerVersioning &&
      behavior === undefined && [
        'defaultVersioningBehavior',
        "is missing: give 'PINNED' (a run stays with its version until it rolls over) or 'AUTO_UPGRADE'",
      ],
    !useWorkerVersioning &&
      behavior !== undefined && [
        'defaultVersioningBehavior',
        `is ${shown(behavior)} without versioning: set useWorkerVersioning: true, or leave it out`,
      ],
    useWorkerVersioning &&
      !/^[^.\s]+$/.test(deploymentName) && [
        'version.deploymentName',
        `is ${shown(deploymentName)}: give a name without dots and spaces`,
      ],
  ],
);

const schema = withProblems(
  z.strictObject(
    {
      connection: anObject('what connectWorker() resolves to').refine(
        (value) => !('withApiKey' in (value as object)),
        { error: 'is one of @temporalio/client: give what connectWorker() resolves to' },
      ),
      activities: madeActivities,
      encryption: anEncryption.optional(),
      namespace: text.optional(),
      taskQueue: text.optional(),
      buildId: text.optional(),
      workflowsPath: text.optional(),
      cacheDirectory: text.optional(),
      maxConcurrentActivities: whole(1).optional(),
      shutdownGraceMs: whole(0).optional(),
      stickyTimeoutMs: whole(0).optional(),
      heartbeatIntervalMs: whole(100).optional(),
      dataConverter: z.unknown().optional(),
      interceptors: z
        .strictObject({
          client: anObject("the client's interceptors").optional(),
          activity: listOf('a function', 'function').optional(),
          activityInbound: listOf('a function', 'function').optional(),
          nexus: listOf('a function', 'function').optional(),
          workflowModules: listOf("a module's path", 'string').optional(),
        })
        .optional(),
      bundlerOptions: z
        .strictObject({ preloadModules: listOf("a module's path", 'string').optional() })
        .optional(),
      sinks: anObject('an object of sinks').optional(),
      tuner: anObject('a tuner').optional(),
      workerDeploymentOptions: deployment.optional(),
    },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `${issue.keys.join(', ')}: no such option; others of Worker.create are for a worker of your own, with plugins: [new HoldfastPlugin({ activities })]`
          : 'give { connection, activities }',
    },
  ),
  ({ activities, ...options }) => {
    const { tuner, maxConcurrentActivities: most, workerDeploymentOptions, buildId } = options;
    const converterProblem = dataConverterProblem(options.dataConverter);
    const mismatch = encryptionProblem(activities as object, options);
    return [
      mismatch !== undefined && ['encryption', mismatch],
      tuner !== undefined &&
        most !== undefined && [
          'maxConcurrentActivities',
          `is ${shown(most)} beside a tuner, which decides how many activities run at once: give one of the two`,
        ],
      workerDeploymentOptions !== undefined &&
        buildId !== undefined && [
          'buildId',
          `is ${shown(buildId)} beside workerDeploymentOptions.version.buildId: give one of the two`,
        ],
      converterProblem !== undefined && ['dataConverter', converterProblem],
    ];
  },
);

/** Checks what a worker is given. Errors: `SetupError` that names each option with its fault. */
export function checkWorkerOptions(options: CreateWorkerOptions): void {
  try {
    checkOptions('createWorker', '', schema, options);
  } catch (thrown) {
    throw thrown instanceof UserError ? new SetupError(thrown.message) : thrown;
  }
}
