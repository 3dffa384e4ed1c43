/** Each wrong option of a worker is refused before anything is bundled or polled, with the option, its value and the remedy. */
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../../workers/index';
import { SetupError } from '../../workers/setup-error';
import { checkWorkerOptions } from '../../workers/worker-options';
import type { CreateWorkerOptions } from '../../workers/worker-options';

// Options that are refused before they are used.
const right = {
  connection: {},
  activities: { callModel: () => 0 },
} as unknown as CreateWorkerOptions;
const version = { deploymentName: 'agents', buildId: 'v2' };
const codec = {
  encode: () => Promise.resolve([]),
  decode: () => Promise.resolve([]),
};

function refusal(wrong: object): string {
  try {
    checkWorkerOptions({ ...right, ...wrong });
  } catch (thrown) {
    if (thrown instanceof SetupError) return thrown.message;
    throw thrown;
  }
  return 'not refused';
}

test("takes a worker's connection, and none of a client", () => {
  // Both have most methods in common, so each is made from its own class.
  const madeOf = (kind: { readonly prototype: object }): object =>
    Object.create(kind.prototype) as object;
  expect(refusal({ connection: madeOf(NativeConnection) })).toBe('not refused');
  expect(refusal({ connection: madeOf(Connection) })).toContain('is one of @temporalio/client');
});

test.each<readonly [string, object, string]>([
  ['an unknown option', { maxCachedWorkflows: 3 }, 'maxCachedWorkflows: no such option'],
  ['an option of another spelling', { dataconverter: {} }, 'dataconverter: no such option'],
  [
    'no connection',
    { connection: undefined },
    'connection: is undefined: give what connectWorker()',
  ],
  ['no activities', { activities: null }, 'activities: is null: give what createActivities()'],
  ['an empty task queue', { taskQueue: ' ' }, 'taskQueue: is empty'],
  ['a namespace that is none', { namespace: 7 }, 'namespace: is 7: give a string'],
  [
    'no activity at once',
    { maxConcurrentActivities: 0 },
    'maxConcurrentActivities: is 0: give a whole number from 1',
  ],
  [
    'half a millisecond',
    { stickyTimeoutMs: 0.5 },
    'stickyTimeoutMs: is 0.5: give a whole number from 0',
  ],
  [
    'heartbeats without a pause',
    { heartbeatIntervalMs: 10 },
    'heartbeatIntervalMs: is 10: give a whole number from 100',
  ],
  [
    'a tuner and a maximum',
    { tuner: {}, maxConcurrentActivities: 5 },
    'maxConcurrentActivities: is 5 beside a tuner',
  ],
  ['a tuner that is none', { tuner: 'fast' }, "tuner: is 'fast': give a tuner"],
  ['sinks that are none', { sinks: true }, 'sinks: is true: give an object of sinks'],
  [
    'an unknown interceptor',
    { interceptors: { workflow: [] } },
    'interceptors: Unrecognized key: "workflow"',
  ],
  [
    'an interceptor that is no function',
    { interceptors: { activity: [{}] } },
    'interceptors.activity.0: is {}: give a function',
  ],
  [
    'a workflow module that is no path',
    { interceptors: { workflowModules: [1] } },
    "interceptors.workflowModules.0: is 1: give a module's path",
  ],
  [
    'a preloaded module that is no path',
    { bundlerOptions: { preloadModules: [{}] } },
    "bundlerOptions.preloadModules.0: is {}: give a module's path",
  ],
  [
    'another option of the bundler',
    { bundlerOptions: { ignoreModules: ['fs'] } },
    'bundlerOptions: Unrecognized key: "ignoreModules"',
  ],
  [
    'two build ids',
    { buildId: 'v1', workerDeploymentOptions: { version, useWorkerVersioning: false } },
    "buildId: is 'v1' beside workerDeploymentOptions.version.buildId",
  ],
  [
    'versioning without a behavior',
    { workerDeploymentOptions: { version, useWorkerVersioning: true } },
    "workerDeploymentOptions.defaultVersioningBehavior: is missing: give 'PINNED'",
  ],
  [
    'a behavior without versioning',
    {
      workerDeploymentOptions: {
        version,
        useWorkerVersioning: false,
        defaultVersioningBehavior: 'PINNED',
      },
    },
    "defaultVersioningBehavior: is 'PINNED' without versioning: set useWorkerVersioning: true",
  ],
  [
    'an unknown behavior',
    {
      workerDeploymentOptions: {
        version,
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'LATEST',
      },
    },
    "is 'LATEST': give 'PINNED' or 'AUTO_UPGRADE'",
  ],
  [
    'a deployment without a name',
    {
      workerDeploymentOptions: {
        version: { ...version, deploymentName: '' },
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'PINNED',
      },
    },
    "version.deploymentName: is '': give a name without dots and spaces",
  ],
  [
    'a version without a build id',
    {
      workerDeploymentOptions: {
        version: { deploymentName: 'agents' },
        useWorkerVersioning: false,
      },
    },
    'workerDeploymentOptions.version.buildId: is undefined: give a string',
  ],
  [
    'a data converter that is none',
    { dataConverter: 'aes' },
    'dataConverter: must be an object with payloadConverterPath',
  ],
  [
    'a misspelled codec',
    { dataConverter: { payloadCodec: [codec] } },
    'dataConverter: payloadCodec: no such option',
  ],
  [
    'a codec that cannot decode',
    { dataConverter: { payloadCodecs: [{ encode: codec.encode }] } },
    'payloadCodecs must be an array of objects with encode() and decode()',
  ],
  [
    'a converter whose file is missing',
    { dataConverter: { payloadConverterPath: '/no/such/file' } },
    "Could not find a file at the specified payloadConverterPath: '/no/such/file'",
  ],
  [
    'a converter whose file exports none',
    { dataConverter: { payloadConverterPath: path.resolve(__dirname, 'fixtures/workflows') } },
    'does not have a `payloadConverter` named export',
  ],
  [
    'external storage',
    { dataConverter: { externalStorage: { drivers: [] } } },
    'externalStorage is not supported: leave it out',
  ],
])('%s', (_name, wrong, message) => {
  expect(refusal(wrong)).toContain(`createWorker: `);
  expect(refusal(wrong)).toContain(message);
});

test('right options are taken', () => {
  const dataConverter = { payloadCodecs: [codec] };
  const interceptors = { activity: [() => ({})], workflowModules: ['./interceptors'] };
  const bundlerOptions = { preloadModules: ['./interceptors'] };
  expect(refusal({ dataConverter, interceptors, bundlerOptions, sinks: {}, tuner: {} })).toBe(
    'not refused',
  );
  expect(refusal({ buildId: 'v1', heartbeatIntervalMs: 100 })).toBe('not refused');
});

test('createWorker checks first', async () => {
  await expect(createWorker({ ...right, heartbeatIntervalMs: 10 })).rejects.toThrow(
    'createWorker: heartbeatIntervalMs',
  );
});

test('wrong types do not compile', () => {
  const compiled = (): readonly CreateWorkerOptions[] => [
    // @ts-expect-error an option of Worker.create that createWorker does not take
    { ...right, maxCachedWorkflows: 3 },
    // @ts-expect-error versioning needs a behavior
    { ...right, workerDeploymentOptions: { version, useWorkerVersioning: true } },
    // @ts-expect-error codecs are a list
    { ...right, dataConverter: { payloadCodecs: codec } },
  ];
  expect(typeof compiled).toBe('function');
});
